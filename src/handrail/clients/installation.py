"""Plan the installation of Handrail in a client: its server entry and its integrations.

This module also finds the command that a client must run to start Handrail. Start with `InstallPlan`.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handrail.app.faces import FACES
from handrail.clients.formats import ClientSettings, ServerSpec, find_entry, plan_install, plan_removal
from handrail.clients.integrations import list_integrations
from handrail.clients.settings_files import FileChange

# The command that fetches Handrail and starts it.
FETCH_COMMAND: Final = ("uvx", "handrail")
_PROGRAM_NAME: Final = "handrail"

# Folders in which uv and pipx keep programs that they fetched for one start.
_TEMPORARY_INSTALL: Final = re.compile(
    r"/(?:(?:archive|environments|builds)-v[0-9]+|pipx/\.cache|\.cache/pipx)/"
)


@dataclass(frozen=True, slots=True)
class StartCommand:
    """The command that starts Handrail. `is_temporary`: the program may soon be deleted from that place."""

    words: tuple[str, ...]
    is_temporary: bool


def find_start_command() -> StartCommand:
    """Return the command that started this program: its script, or `python -m handrail`."""
    script = Path(sys.argv[0]).absolute()
    ours = script.name == _PROGRAM_NAME and script.is_file()
    words = (str(script),) if ours else (sys.executable, "-m", _PROGRAM_NAME)
    return StartCommand(words, is_temporary_install(Path(words[0])))


def is_temporary_install(program: Path) -> bool:
    """True if the program was fetched for one start only."""
    return _TEMPORARY_INSTALL.search(program.as_posix()) is not None


def find_server_face(server: ServerSpec) -> str:
    """Return the face of a server that the client starts; empty for a server given by URL."""
    words = server.words
    return words[words.index("--face") + 1] if "--face" in words[:-1] else FACES[-1] if words else ""


def get_entry_command(entry: Mapping[str, object]) -> tuple[str, ...]:
    """Return the command in a client's entry; empty if the entry has a URL instead."""
    command, args = entry.get("command"), entry.get("args")
    more = [str(arg) for arg in args] if isinstance(args, list) else []
    return (command, *more) if isinstance(command, str) and command else ()


def find_handrail_command(server: ServerSpec) -> tuple[str, ...]:
    """Return the part of the server command that starts Handrail.

    Without a `serve` command, return the command that started this program.
    """
    words = server.words
    return words[: words.index("serve")] if "serve" in words else find_start_command().words


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """The changes to a client's files: the server entry, and the integrations if `listen` is set.

    Each change is computed after the one before it is applied, because both may be in one file.
    """

    server: ServerSpec
    face: str
    uninstall: bool
    listen: bool

    def __call__(self, name: str, place: ClientSettings) -> Iterator[tuple[str, FileChange]]:
        """Yield each change with its kind; for an uninstall, in reverse order."""
        server = ServerSpec(get_entry_command(find_entry(place) or {})) if self.uninstall else self.server
        face, command = self.face or find_server_face(server), find_handrail_command(server)
        listed = list_integrations(name, place.scope, place.project, command, face) if self.listen else ()
        parts = [part for part in listed if part.kind != "hooks" or not self.server.url]
        if self.uninstall:
            yield from ((part.kind, part.plan_removal()) for part in reversed(parts))
            yield "server", plan_removal(place)
        else:
            yield "server", plan_install(place, self.server)
            yield from ((part.kind, part.plan_addition()) for part in parts)
