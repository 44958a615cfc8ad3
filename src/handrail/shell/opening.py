"""Opening a store: where it is, and what a face has of it."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote

from handrail.shell.faults import Unreadable
from handrail.shell.keeping import Keeper
from handrail.shell.view import Records

_SQLITE: Final = "sqlite://"


@dataclass(frozen=True, slots=True)
class Store:
    """A store that is open. `pulse` gives another number whenever another connection has committed."""

    path: Path
    records: Records
    keeper: Keeper
    pulse: Callable[[], int]


Opener: TypeAlias = Callable[[Path], AbstractContextManager[Store]]
"""Opens the store in a file until the block ends."""


def located(address: str) -> Path:
    """The file of a store, by its path or `sqlite:///path`; by nothing, the one in the user's data folder.

    Raises `Unreadable` for the address of something else.
    """
    if address.startswith(_SQLITE):
        path = unquote(address.removeprefix(_SQLITE))
        if not path.startswith("/"):
            raise Unreadable(f"`{address}` names no file", "write sqlite:// and a path that begins with /")
        return Path("/" + path.lstrip("/"))
    if "://" in address:
        kind = address.partition("://")[0]
        repair = "name a file, or sqlite:// and its path, with --store or HANDRAIL_STORE"
        raise Unreadable(f"this Handrail keeps no runs in {kind}", repair)
    if address:
        return Path(address)
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "handrail" / "handrail.db"
