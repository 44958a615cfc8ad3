"""Read and plan changes to the MCP server entry in the settings of an AI client.

The clients are rows of clients.yaml; no client name appears in this module. Start with `plan_install`.
Nothing here writes a file: `settings_files.apply_change` does.
"""

import os
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Final

import msgspec

from handrail.clients.settings_files import (
    FileChange,
    SettingsFile,
    locate_project_file,
    locate_user_file,
    plan_change,
    plan_undo,
)
from handrail.documents.settings_text import (
    SettingsProblem,
    read_json,
    read_toml,
    remove_json_member,
    remove_toml_member,
    set_json_members,
    set_toml_members,
)
from handrail.runtime.errors import Missing
from handrail.runtime.system import resolve_path

# The name of the server entry in every client.
SERVER_NAME: Final = "handrail"
_PROJECT_OPTION: Final = ("--project", "PROJECT")
_CLIENTS_FILE: Final = Path(__file__).with_name("clients.yaml")


@dataclass(frozen=True, slots=True)
class SettingsFormat:
    """How to read and edit one file format."""

    read: Callable[[str], object]
    set_members: Callable[[str, Sequence[str], Mapping[str, object]], str | SettingsProblem]
    remove_member: Callable[[str, Sequence[str]], str | SettingsProblem]


_FORMATS: Final = {
    "json": SettingsFormat(read_json, set_json_members, remove_json_member),
    "toml": SettingsFormat(read_toml, set_toml_members, remove_toml_member),
}


class SettingsScope(StrEnum):
    """Where settings apply: in one project, or for the user in all projects."""

    PROJECT = "project"
    USER = "user"


class ClientSigns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files and programs that show that a client is in use."""

    project: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    program: str = ""


class Client(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of clients.yaml, which documents the fields."""

    title: str
    format: str
    at: tuple[str, ...]
    stdio: dict[str, str]
    signs: ClientSigns
    then: str
    project: str = ""
    user: tuple[str, str, str] | None = None
    mac: tuple[str, str, str] | None = None
    http: dict[str, str] | None = None
    there: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def file_format(self) -> SettingsFormat:
        """The format of the settings file."""
        return _FORMATS[self.format]

    @property
    def path(self) -> tuple[str, ...]:
        """The keys that lead to Handrail's entry in the settings file."""
        return (*self.at, SERVER_NAME)

    @property
    def scopes(self) -> tuple[SettingsScope, ...]:
        """The scopes the client has, the narrower first."""
        has = {SettingsScope.PROJECT: self.project, SettingsScope.USER: self.user}
        return tuple(scope for scope, place in has.items() if place)


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How a client reaches the server: the command that starts it, or its URL."""

    words: tuple[str, ...] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """A client's settings in one scope. User settings name the project only if `pinned`."""

    client: Client
    scope: SettingsScope
    project: Path
    pinned: bool = False

    def file(self) -> SettingsFile:
        """Locate the settings file. Raises `Missing` if the client has no user settings."""
        if self.scope is SettingsScope.PROJECT:
            return locate_project_file(self.project, self.client.project)
        user = (self.client.mac if sys.platform == "darwin" else None) or self.client.user
        if user is None:
            raise Missing(f"{self.client.title} has no settings of the user", "say --scope project")
        variable, usual, rest = user
        return locate_user_file(Path((variable and os.environ.get(variable)) or Path.home() / usual) / rest)

    def entry(self, server: ServerSpec) -> dict[str, object]:
        """Build the entry in this client's form. Raises `Missing` for a URL if the client takes none."""
        if server.url and self.client.http is None:
            raise Missing(f"{self.client.title} knows only servers that it starts itself", "leave --http out")
        more = self.client.there
        if self.scope is SettingsScope.USER:
            more = _PROJECT_OPTION if self.pinned else ()
        root = str(resolve_path(self.project))
        command, *args = (*server.words, *(word.replace("PROJECT", root) for word in more)) or ("",)
        values: dict[str, object] = {"COMMAND": command, "ARGS": args, "URL": server.url}
        row = self.client.http if server.url and self.client.http else self.client.stdio
        return {key: values.get(value, value) for key, value in row.items()}


@cache
def load_clients() -> Mapping[str, Client]:
    """Load all known clients, by the name used on the command line."""
    return msgspec.yaml.decode(_CLIENTS_FILE.read_bytes(), type=dict[str, Client])


def plan_install(place: ClientSettings, server: ServerSpec) -> FileChange:
    """Plan adding the server entry. Members that a person added to the entry are kept."""
    client, entry = place.client, place.entry(server)
    ours = {*client.stdio, *(client.http or ())}
    return plan_change(place.file(), partial(_put_entry, client, entry, ours - set(entry)))


def plan_removal(place: ClientSettings) -> FileChange:
    """Plan removing the whole entry."""
    client = place.client
    put = partial(_put_entry, client, find_entry(place) or {}, ())
    return plan_undo(place.file(), put, lambda text: client.file_format.remove_member(text, client.path))


def find_entry(place: ClientSettings) -> dict[str, object] | None:
    """Return the installed entry; None if there is none or the file cannot be parsed."""
    value = place.client.file_format.read(place.file().text() or "")
    for key in place.client.path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def is_client_used(client: Client, project: Path) -> bool:
    """True if the project or this machine shows a sign that the client is in use."""
    signs = client.signs
    return (
        any((project / sign).exists() for sign in signs.project)
        or any((Path.home() / sign).exists() for sign in signs.home)
        or bool(signs.program and shutil.which(signs.program))
    )


def render_entry(client: Client, entry: Mapping[str, object]) -> str:
    """Render a settings file that holds only this entry."""
    return str(_put_entry(client, entry, (), ""))


def _put_entry(
    client: Client, entry: Mapping[str, object], stale: Collection[str], text: str
) -> str | SettingsProblem:
    """Put the entry into a text and remove the stale members of an older one."""
    result = client.file_format.set_members(text, client.path, entry)
    for key in sorted(stale):
        if isinstance(result, str):
            result = client.file_format.remove_member(result, (*client.path, key))
    return result
