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
    return msgspec.yaml.decode(
        (_TEMPLATE_FOLDER / "layers.yaml").read_bytes(), type=dict[str, IntegrationRow]
    )


def list_integrations(
    client: str, scope: SettingsScope, project: Path, program: tuple[str, ...], face: str = ""
) -> tuple[Integration, ...]:
    """List the integrations of a client: all of them in a project, only hooks for the user.

    `program` is the command that starts Handrail. `face` is the served face; empty means any.
    """
    row = load_integrations().get(client, IntegrationRow())
    integrations = (
        [_hooks_integration(client, row.hooks, _hooks_file(row.hooks, scope, project), (program, face))]
        if row.hooks
        else []
    )
    if scope is SettingsScope.PROJECT:
        integrations += [_guide_integration(row.guide, project, face)] if row.guide else []
        integrations += [_skill_integration(row.skill, project, face)] if row.skill else []
    return tuple(integrations)


def _hooks_file(hooks: HookSettings, scope: SettingsScope, project: Path) -> SettingsFile:
    if scope is SettingsScope.PROJECT:
        return locate_project_file(project, hooks.project)
    variable, usual, rest = hooks.user
    return locate_user_file(Path(os.environ.get(variable) or Path.home() / usual) / rest)


def _hooks_integration(
    client: str, hooks: HookSettings, file: SettingsFile, started: tuple[tuple[str, ...], str]
) -> Integration:
    program, face = started
    options = ["--client", client, *(["--face", face] if face else [])]
    entries: dict[str, dict[str, object]] = {}
    for event, client_event in hooks.events.items():
        command = shlex.join([*program, "hook", event, *options])
        matcher = {"matcher": client_event.matcher} if client_event.matcher else {}
        hook = {"type": "command", "command": command, "timeout": hooks.timeout}
        entries[event] = {**matcher, "hooks": [hook]}
    return Integration("hooks", file, partial(_put_hooks, hooks, entries), partial(_remove_hooks, hooks))


def _put_hooks(
    hooks: HookSettings, entries: Mapping[str, dict[str, object]], text: str
) -> str | SettingsProblem:
    result: str | SettingsProblem = text
    for event, client_event in hooks.events.items():
        path, entry = ("hooks", client_event.name), entries[event]
        stale = partial(_is_stale, event, entry)
        result = settings_text.remove_json_items(result, path, stale) if isinstance(result, str) else result
        result = settings_text.add_json_item(result, path, entry) if isinstance(result, str) else result
    return result


def _remove_hooks(hooks: HookSettings, text: str) -> str | SettingsProblem:
    result: str | SettingsProblem = text
    for event, client_event in hooks.events.items():
        stale = partial(_is_stale, event, {})
        result = (
            settings_text.remove_json_items(result, ("hooks", client_event.name), stale)
            if isinstance(result, str)
            else result
        )
    return result


def _is_stale(event: str, wanted: Mapping[str, object], item: object) -> bool:
    """True if an entry is one of ours but not the wanted one."""
    return item != wanted and any(f"hook {event} --client" in command for command in list_hook_commands(item))


def list_hook_commands(item: object) -> list[str]:
    """List the commands in one hook entry of a client."""
    hooks: Any = item.get("hooks") if isinstance(item, dict) else None
    entries = hooks if isinstance(hooks, list) else []
    return [str(entry["command"]) for entry in entries if isinstance(entry, dict) and "command" in entry]


def _guide_integration(guide: str, project: Path, face: str) -> Integration:
    """Build the guide block. If the guide includes AGENTS.md, put the block there."""
    own = locate_project_file(project, guide)
    lines = [line.strip() for line in (own.text() or "").splitlines()]
    file = locate_project_file(project, _COMMON_GUIDE) if _GUIDE_INCLUDE in lines else own
    inside = _fill_template("layers_guide.md", _template_values(face))
    return Integration(
        "guide", file, lambda text: put_block(text, handrail.__version__, inside), remove_block
    )


def _skill_integration(path: str, project: Path, face: str) -> Integration:
    return Integration(
        "skill", locate_project_file(project, path), partial(_put_skill, render_skill(face)), _remove_skill
    )


def render_skill(face: str) -> str:
    """Render the skill text for agents that use this face."""
    return _fill_template("layers_skill.md", _template_values(face))


def _put_skill(skill: str, text: str) -> str | SettingsProblem:
    if text and _SKILL_MARK not in text:
        return SettingsProblem(1, 1, "this skill is somebody else's", "move it away, or give it another name")
    return skill


def _remove_skill(text: str) -> str:
    return "" if _SKILL_MARK in text else text


def _template_values(face: str) -> Mapping[str, Any]:
    spells = (
        list(read_outline(read_installed_workflow(SPELLS_WORKFLOW)).words)
        if face in {"", SPELLS_WORKFLOW}
        else []
    )
    return {"spells": spells, "words": [*spells, "next"], "version": handrail.__version__}


def _fill_template(name: str, values: Mapping[str, Any]) -> str:
    """Fill a template of this folder. Drop the lines about spells if there are none."""
    lines = (_TEMPLATE_FOLDER / name).read_text("utf-8").splitlines(keepends=True)
    return render_template(
        "".join(line for line in lines if values["spells"] or "{{spells}}" not in line), values
    )
