"""How this very program was started, so that a client can start it again."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FROM_INDEX: Final = ("uvx", "handrail")
"""The words that fetch the program when it is started."""

_NAME: Final = "handrail"
_FETCHED: Final = re.compile(r"/(?:(?:archive|environments|builds)-v[0-9]+|pipx/\.cache|\.cache/pipx)/")
"""Folders, of uv and of pipx, of programs that were fetched for one start."""


@dataclass(frozen=True, slots=True)
class Started:
    """The words that start the program; `passing` if they lead to where it may soon be gone."""

    words: tuple[str, ...]
    passing: bool


def started() -> Started:
    """How this program was started: by its name, or as a module of Python."""
    script = Path(sys.argv[0]).absolute()
    words = (str(script),) if script.name == _NAME and script.is_file() else (sys.executable, "-m", _NAME)
    return Started(words, passing(Path(words[0])))


def passing(program: Path) -> bool:
    """True if the program is one that was fetched for one start."""
    return _FETCHED.search(program.as_posix()) is not None
