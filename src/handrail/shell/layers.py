"""What makes a client's agent listen: hooks that the client asks, a block in the guide it reads, a skill.

Which client has what are rows of layers.yaml; nothing here knows one by its name.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import msgspec

import handrail
from handrail.documents import jsonc
from handrail.documents.jsontree import Problem
from handrail.documents.marked import with_block, without_block
from handrail.shell.clients import Scope
from handrail.shell.live_runs import WORDS, installed_text
from handrail.shell.settings_files import Change, Edit, SettingsFile, below, of_user, planned, undone
from handrail.workflows.outline import read_outline
from handrail.workflows.render import render

_COMMON: Final = "AGENTS.md"
_INCLUDED: Final = f"@{_COMMON}"
_EMPTY: Final = ("", "{}")
_OURS: Final = "<!-- Written by handrail "
_HERE: Final = Path(__file__).parent


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A hook as the client calls it, and the tools that it is asked for."""

    name: str
    matcher: str = ""


class Hooks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a client keeps its hooks, and what it calls them; see layers.yaml."""

    project: str
    user: tuple[str, str, str]
    timeout: int
    events: dict[str, Asked]


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of layers.yaml; see there."""

    hooks: Hooks | None = None
    guide: str = ""
    skill: str = ""
    then: str = ""


@dataclass(frozen=True, slots=True)
class Layer:
    """One file that makes an agent listen, how it is made to, and how that is taken back."""

    kind: str
    file: SettingsFile
    put: Edit
    taken: Edit

    def adding(self) -> Change:
        """What puts it in. Raises `Unreadable` where the file has a problem."""
        return planned(self.file, self.put)

    def removing(self) -> Change:
        """What takes it out again, with the file if nothing else is in it.

        Raises `Unreadable` where the file has a problem.
        """
        change = undone(self.file, self.put, self.taken)
        empty = change.needed and change.after is not None and change.after.strip() in _EMPTY
        return replace(change, after=None) if empty and not change.backup else change

    @property
    def there(self) -> bool:
        """True if it is as this program would put it."""
        return not self.adding().needed


@cache
def rows() -> Mapping[str, Row]:
    """Every client that has something of this, by the word it is called by."""
    return msgspec.yaml.decode((_HERE / "layers.yaml").read_bytes(), type=dict[str, Row])


def layers(
    client: str, scope: Scope, project: Path, program: tuple[str, ...], face: str = ""
) -> tuple[Layer, ...]:
    """The layers of a client: of a project all it has, of the user only hooks.

    `program` starts Handrail; `face` is the one that is served, every one if it is not known.
    """
    row = rows().get(client, Row())
    found = (
        [_hooked(client, row.hooks, _file(row.hooks, scope, project), (program, face))] if row.hooks else []
    )
    if scope is Scope.PROJECT:
        found += [_guided(row.guide, project, face)] if row.guide else []
        found += [_skilled(row.skill, project, face)] if row.skill else []
    return tuple(found)


def _file(hooks: Hooks, scope: Scope, project: Path) -> SettingsFile:
    if scope is Scope.PROJECT:
        return below(project, hooks.project)
    variable, usual, rest = hooks.user
    return of_user(Path(os.environ.get(variable) or Path.home() / usual) / rest)


def _hooked(client: str, hooks: Hooks, file: SettingsFile, started: tuple[tuple[str, ...], str]) -> Layer:
    program, face = started
    named = ["--client", client, *(["--face", face] if face else [])]
    entries: dict[str, dict[str, object]] = {}
    for event, asked in hooks.events.items():
        command = shlex.join([*program, "hook", event, *named])
        matcher = {"matcher": asked.matcher} if asked.matcher else {}
        hook = {"type": "command", "command": command, "timeout": hooks.timeout}
        entries[event] = {**matcher, "hooks": [hook]}
    return Layer("hooks", file, partial(_put_hooks, hooks, entries), partial(_taken_hooks, hooks))


def _put_hooks(hooks: Hooks, entries: Mapping[str, dict[str, object]], text: str) -> str | Problem:
    made: str | Problem = text
    for event, asked in hooks.events.items():
        path, entry = ("hooks", asked.name), entries[event]
        stale = partial(_is_stale, event, entry)
        made = jsonc.without_items(made, path, stale) if isinstance(made, str) else made
        made = jsonc.with_item(made, path, entry) if isinstance(made, str) else made
    return made


def _taken_hooks(hooks: Hooks, text: str) -> str | Problem:
    made: str | Problem = text
    for event, asked in hooks.events.items():
        stale = partial(_is_stale, event, {})
        made = jsonc.without_items(made, ("hooks", asked.name), stale) if isinstance(made, str) else made
    return made


def _is_stale(event: str, wanted: Mapping[str, object], item: object) -> bool:
    """True if an entry is one of ours, and not the one that is wanted."""
    return item != wanted and any(f"hook {event} --client" in command for command in commands(item))


def commands(item: object) -> list[str]:
    """The commands that an entry of a client's hooks starts."""
    hooks: Any = item.get("hooks") if isinstance(item, dict) else None
    found = hooks if isinstance(hooks, list) else []
    return [str(one["command"]) for one in found if isinstance(one, dict) and "command" in one]


def _guided(guide: str, project: Path, face: str) -> Layer:
    """The block in the guide, or in the common one where the guide only leads there."""
    own = below(project, guide)
    lines = [line.strip() for line in (own.text() or "").splitlines()]
    file = below(project, _COMMON) if _INCLUDED in lines else own
    inside = _filled("layers_guide.md", _values(face))
    return Layer("guide", file, lambda text: with_block(text, handrail.__version__, inside), without_block)


def _skilled(path: str, project: Path, face: str) -> Layer:
    return Layer("skill", below(project, path), partial(_put_skill, skill(face)), _taken_skill)


def skill(face: str) -> str:
    """The text of the skill for agents that are served by this face."""
    return _filled("layers_skill.md", _values(face))


def _put_skill(made: str, text: str) -> str | Problem:
    if text and _OURS not in text:
        return Problem(1, 1, "this skill is somebody else's", "move it away, or give it another name")
    return made


def _taken_skill(text: str) -> str:
    return "" if _OURS in text else text


def _values(face: str) -> Mapping[str, Any]:
    spells = list(read_outline(installed_text(WORDS)).words) if face in {"", WORDS} else []
    return {"spells": spells, "words": [*spells, "next"], "version": handrail.__version__}


def _filled(name: str, told: Mapping[str, Any]) -> str:
    """A text beside this file; without the lines about words, if there are none to be typed."""
    lines = (_HERE / name).read_text("utf-8").splitlines(keepends=True)
    return render("".join(line for line in lines if told["spells"] or "{{spells}}" not in line), told)
