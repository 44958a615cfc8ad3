"""Install what connects a client's agent to Handrail: hooks, a block in its guide file, a skill.

Rows of layers.yaml say which client has which; no client name appears in this module. Start with
`list_integrations`.
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
from handrail.app.live_runs import SPELLS_WORKFLOW, read_installed_workflow
from handrail.clients.formats import SettingsScope
from handrail.clients.settings_files import (
    FileChange,
    SettingsFile,
    TextEdit,
    locate_project_file,
    locate_user_file,
    plan_change,
    plan_undo,
)
from handrail.documents import settings_text
from handrail.documents.settings_text import SettingsProblem, put_block, remove_block
from handrail.workflows.outline import read_outline
from handrail.workflows.templates import render_template

_COMMON_GUIDE: Final = "AGENTS.md"
_GUIDE_INCLUDE: Final = f"@{_COMMON_GUIDE}"
_EMPTY_TEXTS: Final = ("", "{}")
_SKILL_MARK: Final = "<!-- Written by handrail "
_TEMPLATE_FOLDER: Final = Path(__file__).parent


class HookEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The client's name for a hook event, and a pattern for the tools that trigger it."""

    name: str
    matcher: str = ""


class HookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a client keeps its hooks, and their names there. layers.yaml documents the fields."""

    project: str
    user: tuple[str, str, str]
    timeout: int
    events: dict[str, HookEvent]


class IntegrationRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of layers.yaml, which documents the fields."""

    hooks: HookSettings | None = None
    guide: str = ""
    skill: str = ""
    then: str = ""


@dataclass(frozen=True, slots=True)
class Integration:
    """One file of an integration, with the edit that adds it and the edit that removes it."""

    kind: str
    file: SettingsFile
    put: TextEdit
    undo: TextEdit

    def plan_addition(self) -> FileChange:
        """Plan adding it. Raises `Unreadable` if the file has a problem."""
        return plan_change(self.file, self.put)

    def plan_removal(self) -> FileChange:
        """Plan removing it, and delete the file if nothing else is in it.

        Raises `Unreadable` if the file has a problem.
        """
        change = plan_undo(self.file, self.put, self.undo)
        empty = change.needed and change.after is not None and change.after.strip() in _EMPTY_TEXTS
        return replace(change, after=None) if empty and not change.backup else change

    @property
    def is_installed(self) -> bool:
        """True if the file already has what this version would add."""
        return not self.plan_addition().needed


@cache
def load_integrations() -> Mapping[str, IntegrationRow]:
    """Load the clients that have integrations, by the name used on the command line."""
    text = (_TEMPLATE_FOLDER / "layers.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=dict[str, IntegrationRow])


def list_integrations(
    client: str, scope: SettingsScope, project: Path, program: tuple[str, ...], face: str = ""
) -> tuple[Integration, ...]:
    """List the integrations of a client: all of them in a project, only hooks for the user.

    `program` is the command that starts Handrail. `face` is the served face; empty means any.
    """
    row = load_integrations().get(client, IntegrationRow())
    found: list[Integration] = []
    if hooks := row.hooks:
        variable, usual, rest = hooks.user
        file = (
            locate_project_file(project, hooks.project)
            if scope is SettingsScope.PROJECT
            else locate_user_file(Path(os.environ.get(variable) or Path.home() / usual) / rest)
        )
        options = ["--client", client, *(["--face", face] if face else [])]
        entries: dict[str, dict[str, object]] = {}
        for event, client_event in hooks.events.items():
            command = shlex.join([*program, "hook", event, *options])
            matcher = {"matcher": client_event.matcher} if client_event.matcher else {}
            hook = {"type": "command", "command": command, "timeout": hooks.timeout}
            entries[event] = {**matcher, "hooks": [hook]}
        put, undo = partial(_put_hooks, hooks, entries), partial(_put_hooks, hooks, {})
        found.append(Integration("hooks", file, put, undo))
    if scope is SettingsScope.PROJECT and row.guide:
        file = locate_project_file(project, row.guide)
        if _GUIDE_INCLUDE in map(str.strip, (file.text() or "").splitlines()):
            file = locate_project_file(project, _COMMON_GUIDE)
        put = partial(put_block, version=handrail.__version__, inside=_fill_template("layers_guide.md", face))
        found.append(Integration("guide", file, put, remove_block))
    if scope is SettingsScope.PROJECT and row.skill:
        file, put = locate_project_file(project, row.skill), partial(_put_skill, render_skill(face))
        found.append(Integration("skill", file, put, lambda text: "" if _SKILL_MARK in text else text))
    return tuple(found)


def _put_hooks(
    hooks: HookSettings, entries: Mapping[str, dict[str, object]], text: str
) -> str | SettingsProblem:
    """Put these entries in place of ours; without entries, remove ours."""
    result: str | SettingsProblem = text
    for event, client_event in hooks.events.items():
        path, entry = ("hooks", client_event.name), entries.get(event, {})
        if isinstance(result, str):
            result = settings_text.remove_json_items(result, path, partial(_is_stale, event, entry))
        if isinstance(result, str) and entry:
            result = settings_text.add_json_item(result, path, entry)
    return result


def _is_stale(event: str, wanted: Mapping[str, object], item: object) -> bool:
    """True if an entry is one of ours but not the wanted one."""
    return item != wanted and any(f"hook {event} --client" in command for command in list_hook_commands(item))


def list_hook_commands(item: object) -> list[str]:
    """List the commands in one hook entry of a client."""
    hooks: Any = item.get("hooks") if isinstance(item, dict) else None
    entries = hooks if isinstance(hooks, list) else []
    return [str(entry["command"]) for entry in entries if isinstance(entry, dict) and "command" in entry]


def render_skill(face: str) -> str:
    """Render the skill text for agents that use this face."""
    return _fill_template("layers_skill.md", face)


def _put_skill(skill: str, text: str) -> str | SettingsProblem:
    if text and _SKILL_MARK not in text:
        return SettingsProblem(1, 1, "this skill is somebody else's", "move it away, or give it another name")
    return skill


def _fill_template(name: str, face: str) -> str:
    """Fill a template of this folder. Drop the lines about spells if the face has none."""
    has_spells = face in {"", SPELLS_WORKFLOW}
    spells = read_outline(read_installed_workflow(SPELLS_WORKFLOW)).words if has_spells else ()
    values: dict[str, Any] = {
        "spells": [*spells],
        "words": [*spells, "next"],
        "version": handrail.__version__,
    }
    lines = (_TEMPLATE_FOLDER / name).read_text("utf-8").splitlines(keepends=True)
    return render_template("".join(line for line in lines if spells or "{{spells}}" not in line), values)
