"""`handrail install` also makes the agent listen, unless somebody says otherwise; all of it can go again."""

from pathlib import Path

import pytest

from helpers.installations import read_files
from helpers.program import run_command

MINE = "# Mine, without an end of line"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def test_everything_is_put_in_once_and_taken_out_again(project: Path) -> None:
    (project / "CLAUDE.md").write_text(MINE)

    first = run_command("install", "claude", "codex", "gemini", "--face", "spells", cwd=project)
    after = read_files(project)
    again = run_command("install", "claude", "codex", "gemini", "--face", "spells", cwd=project)

    assert (first.status, again.status) == (0, 0)
    assert read_files(project) == after
    assert again.err.count("nothing to do: ") == 11
    assert "the hooks now\n  next: type /hooks in codex once, look at the four of Handrail" in first.err

    gone = run_command("install", "claude", "codex", "gemini", "--uninstall", cwd=project)
    assert gone.status == 0
    assert read_files(project) == {f"{project}/CLAUDE.md": MINE}
    assert f"the hooks are taken out of {project}/.codex/hooks.json" in gone.err


def test_a_server_that_runs_elsewhere_has_no_store_that_hooks_could_ask(project: Path) -> None:
    run_command("install", "claude", "--http", "https://plans.example.org", cwd=project)

    assert sorted(path.removeprefix(f"{project}/") for path in read_files(project)) == [
        ".claude/skills/handrail/SKILL.md",
        ".mcp.json",
        "CLAUDE.md",
    ]


def test_a_file_that_cannot_be_read_stops_it_before_anything_is_written(project: Path) -> None:
    hooks = project / ".claude" / "settings.json"
    hooks.parent.mkdir()
    hooks.write_text("{")

    said = run_command("install", "claude", cwd=project)

    assert (said.status, read_files(project)) == (1, {str(hooks): "{"})
    assert f"{hooks}, line 1, column" in said.err


def test_as_json_each_part_is_a_row(project: Path) -> None:
    said = run_command("install", "claude", "--json", cwd=project)

    assert [(row["part"], row["status"]) for row in said.data["clients"]] == [
        ("server", "written"),
        ("hooks", "written"),
        ("guide", "written"),
        ("skill", "written"),
    ]
