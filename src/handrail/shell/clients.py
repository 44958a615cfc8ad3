"""The clients of agents: where each keeps its servers, and the entry by which it knows Handrail.

The clients are rows of clients.yaml; nothing here knows one by its name.
"""

import os
import shutil
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Final

import msgspec

from handrail.documents import jsonc, toml
from handrail.documents.jsontree import Problem
from handrail.shell.faults import Missing
from handrail.shell.reading import whole
from handrail.shell.settings_files import Change, SettingsFile, below, of_user, planned, undone

NAME: Final = "handrail"
"""What the server is called in every client."""

_PINNED: Final = ("--project", "PROJECT")
_FORMATS: Final[Mapping[str, ModuleType]] = {"json": jsonc, "toml": toml}
_ROWS: Final = Path(__file__).with_name("clients.yaml")


class Scope(StrEnum):
    """Whose settings: those of one project, or those of the user for all projects."""

    PROJECT = "project"
    USER = "user"


class Signs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What shows that somebody uses a client."""

    project: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    program: str = ""


class Client(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of clients.yaml; see there."""

    title: str
    format: str
    at: tuple[str, ...]
    stdio: dict[str, str]
    signs: Signs
    then: str
    project: str = ""
    user: tuple[str, str, str] | None = None
    mac: tuple[str, str, str] | None = None
    http: dict[str, str] | None = None
    there: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """Where Handrail's entry is in its file."""
        return (*self.at, NAME)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Whose settings it has, the narrower first."""
        return (*((Scope.PROJECT,) if self.project else ()), *((Scope.USER,) if self.user else ()))


@dataclass(frozen=True, slots=True)
class Server:
    """What a client shall know: the words that start the server, or its URL instead."""

    words: tuple[str, ...] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A client's settings in one scope; the user's name the project only if it is `pinned`."""

    client: Client
    scope: Scope
    project: Path
    pinned: bool = False

    def file(self) -> SettingsFile:
        """Its file there."""
        if self.scope is Scope.PROJECT:
            return below(self.project, self.client.project)
        user = (self.client.mac if sys.platform == "darwin" else None) or self.client.user
        if user is None:
            raise Missing(f"{self.client.title} has no settings of the user", "say --scope project")
        variable, usual, rest = user
        return of_user(Path((variable and os.environ.get(variable)) or Path.home() / usual) / rest)

    def entry(self, server: Server) -> dict[str, object]:
        """The server as this client writes it. Raises `Missing` if it cannot be written."""
        if server.url and self.client.http is None:
            raise Missing(f"{self.client.title} knows only servers that it starts itself", "leave --http out")
        pinned = _PINNED if self.pinned else ()
        more = self.client.there if self.scope is Scope.PROJECT else pinned
        words = [*server.words, *(word.replace("PROJECT", str(whole(self.project))) for word in more)]
        values: dict[str, object] = {
            "COMMAND": words[0] if words else "",
            "ARGS": words[1:],
            "URL": server.url,
        }
        row = self.client.http if server.url and self.client.http else self.client.stdio
        return {key: values.get(value, value) for key, value in row.items()}


@cache
def clients() -> Mapping[str, Client]:
    """Every client that is known, by the word it is called by."""
    return msgspec.yaml.decode(_ROWS.read_bytes(), type=dict[str, Client])


def installing(place: Place, server: Server) -> Change:
    """What makes the server known there. What a person has added to the entry stays."""
    client, entry = place.client, place.entry(server)
    ours = {*client.stdio, *(client.http or ())}
    return planned(place.file(), partial(_put, client, entry, ours - set(entry)))


def removing(place: Place) -> Change:
    """What takes the entry out again, with all that is in it."""
    client, file = place.client, place.file()
    entry = found(place) or {}
    put = partial(_put, client, entry, ())
    return undone(file, put, lambda text: _format(client).without_member(text, client.path))


def found(place: Place) -> dict[str, object] | None:
    """The entry that is there; None if there is none, or the file cannot be read."""
    here = _format(place.client).read(place.file().text() or "")
    for key in place.client.path:
        here = here.get(key) if isinstance(here, dict) else None
    return here if isinstance(here, dict) else None


def present(client: Client, project: Path) -> bool:
    """True if there is a sign that somebody uses the client, in the project or on this machine."""
    signs = client.signs
    return (
        any((project / sign).exists() for sign in signs.project)
        or any((Path.home() / sign).exists() for sign in signs.home)
        or bool(signs.program and shutil.which(signs.program))
    )


def shown(client: Client, entry: Mapping[str, object]) -> str:
    """A file that has nothing but the entry."""
    return str(_put(client, entry, (), ""))


def _put(client: Client, entry: Mapping[str, object], stale: Collection[str], text: str) -> str | Problem:
    """The text with this entry, without the stale members of an older one."""
    form = _format(client)
    made: str | Problem = form.with_members(text, client.path, entry)
    for key in sorted(stale):
        made = form.without_member(made, (*client.path, key)) if isinstance(made, str) else made
    return made


def _format(client: Client) -> ModuleType:
    return _FORMATS[client.format]
