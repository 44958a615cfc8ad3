"""What makes a client's agent listen: put in, put in anew by another Handrail, and taken out to the byte."""

import json
from pathlib import Path

import pytest

import handrail
from handrail.clients.formats import SettingsScope, load_clients
from handrail.clients.integrations import (
    Integration,
    list_hook_commands,
    list_integrations,
    load_integrations,
)
from handrail.clients.settings_files import apply_change
from handrail.runtime.errors import Unreadable

US = ("/opt/my tools/handrail",)
KINDS = {
    "claude": ["hooks", "guide", "skill"],
    "codex": ["hooks", "guide", "skill"],
    "gemini": ["hooks", "guide"],
    "cursor": ["guide"],
    "vscode": ["guide"],
    "windsurf": ["guide"],
    "zed": ["guide"],
    "jetbrains": ["guide"],
    "mcp": [],
}


def put(
    client: str, project: Path, program: tuple[str, ...] = US, face: str = "spells"
) -> tuple[Integration, ...]:
    """Put in all that a client has."""
    found = list_integrations(client, SettingsScope.PROJECT, project, program, face)
    for layer in found:
        apply_change(layer.plan_addition())
        assert layer.is_installed
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_every_client_has_a_row() -> None:
    assert set(load_integrations()) == set(load_clients())


@pytest.mark.parametrize("client", KINDS)
def test_what_is_put_in_is_taken_out_and_nothing_is_left(client: str, tmp_path: Path) -> None:
    found = put(client, tmp_path)
    assert [layer.kind for layer in found] == KINDS[client]

    for layer in reversed(found):
        apply_change(layer.plan_removal())

    assert files(tmp_path) == {}


@pytest.mark.parametrize("client", KINDS)
def test_what_another_handrail_put_in_is_put_in_anew_and_taken_out(client: str, tmp_path: Path) -> None:
    put(client, tmp_path)

    for layer in reversed(put(client, tmp_path, ("/opt/newer/handrail",))):
        apply_change(layer.plan_removal())

    assert [name for name in files(tmp_path) if not name.endswith(".handrail-backup")] == []


def test_what_stood_there_before_stands_there_again(tmp_path: Path) -> None:
    before = {
        "CLAUDE.md": b"# Mine, without an end of line",
        ".claude/settings.json": b'{\n  // mine\n  "hooks": {"Stop": [{"hooks": [{"command": "mine"}]}]}}\n',
    }
    for name, data in before.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)

    found = put("claude", tmp_path)
    assert b'"command": "mine"' in (tmp_path / ".claude/settings.json").read_bytes()
    for layer in reversed(found):
        apply_change(layer.plan_removal())

    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("client", "path", "event", "wanted"),
    [
        ("claude", ".claude/settings.json", "UserPromptSubmit", {"timeout": 5, "event": "prompt"}),
        ("claude", ".claude/settings.json", "SessionStart", {"timeout": 5, "event": "session"}),
        ("codex", ".codex/hooks.json", "Stop", {"timeout": 5, "event": "stop"}),
        ("gemini", ".gemini/settings.json", "BeforeAgent", {"timeout": 5000, "event": "prompt"}),
        ("gemini", ".gemini/settings.json", "AfterAgent", {"timeout": 5000, "event": "stop"}),
    ],
)
def test_hooks_are_written_as_the_client_reads_them(
    client: str, path: str, event: str, wanted: dict[str, object], tmp_path: Path
) -> None:
    put(client, tmp_path)

    (entry,) = json.loads((tmp_path / path).read_text())["hooks"][event]

    command = f"'/opt/my tools/handrail' hook {wanted['event']} --client {client} --face spells"
    assert entry == {"hooks": [{"type": "command", "command": command, "timeout": wanted["timeout"]}]}


@pytest.mark.parametrize(
    ("client", "path", "event", "matcher"),
    [
        ("claude", ".claude/settings.json", "PreToolUse", "Edit|Write|MultiEdit|NotebookEdit"),
        ("codex", ".codex/hooks.json", "PreToolUse", "apply_patch|Edit|Write"),
        ("gemini", ".gemini/settings.json", "BeforeTool", "write_file|replace"),
    ],
)
def test_edits_are_asked_for_the_tools_that_edit(
    client: str, path: str, event: str, matcher: str, tmp_path: Path
) -> None:
    put(client, tmp_path)

    (entry,) = json.loads((tmp_path / path).read_text())["hooks"][event]
    assert entry["matcher"] == matcher


def test_a_guide_that_only_leads_to_the_common_one_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("@AGENTS.md\n")

    put("claude", tmp_path)

    assert (tmp_path / "CLAUDE.md").read_text() == "@AGENTS.md\n"
    assert f"<!-- HANDRAIL START v{handrail.__version__} -->" in (tmp_path / "AGENTS.md").read_text()


def test_words_are_told_only_where_they_are_served(tmp_path: Path) -> None:
    put("codex", tmp_path, face="steps")

    guide, skill = (
        (tmp_path / "AGENTS.md").read_text(),
        (tmp_path / ".codex/skills/handrail/SKILL.md").read_text(),
    )
    assert "Accio" not in guide + skill
    assert "description: Use when the whole message of the user is one of next; when" in skill

    put("codex", tmp_path)
    assert (
        "is one of Accio, Expecto, Reparo, Reverto, Finite, Lumos, in any case"
        in (tmp_path / "AGENTS.md").read_text()
    )


def test_a_skill_of_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / ".claude/skills/handrail/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine\n")
    skill = list_integrations("claude", SettingsScope.PROJECT, tmp_path, US)[-1]

    with pytest.raises(Unreadable, match="this skill is somebody else's"):
        skill.plan_addition()
    assert not skill.plan_removal().needed


def test_hooks_that_cannot_be_read_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text('{"hooks": 5}')

    with pytest.raises(Unreadable, match=r"settings.json, line 1, column"):
        list_integrations("claude", SettingsScope.PROJECT, tmp_path, US)[0].plan_addition()


def test_of_the_users_settings_only_the_hooks_are_changed(tmp_path: Path, home: Path) -> None:
    (layer,) = list_integrations("codex", SettingsScope.USER, tmp_path, US)

    assert (layer.kind, layer.file.path) == ("hooks", home / ".codex" / "hooks.json")
    assert list_hook_commands({"hooks": [{"command": "x"}, 5]}) == ["x"]
    assert list_hook_commands({"hooks": 5}) == list_hook_commands(5) == []
