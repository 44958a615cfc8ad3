"""`handrail init`: from nothing to an agent that is led; said twice, nothing more is done."""

import json
import os
import pty
from contextlib import suppress
from pathlib import Path

import pytest

from handrail.app.settings import settings_path
from helpers.forks import ForkedProcess
from helpers.program import SECONDS, run_command


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".claude").mkdir(parents=True)
    return folder


def files(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}


def typed(project: Path, *answers: str) -> tuple[int, str]:
    """How the program ends for a person who answers so, and what is on their terminal."""
    ours, theirs = pty.openpty()
    asked = ForkedProcess(["init"], os.environ, project, [theirs] * 3)
    os.close(theirs)
    os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
    shown = b""
    with suppress(OSError):
        while chunk := os.read(ours, 65536):
            shown += chunk
    status = asked.wait(SECONDS)
    os.close(ours)
    return status, shown.decode()


def test_the_clients_that_are_used_know_the_server_and_one_thing_is_left_to_do(project: Path) -> None:
    said = run_command("init", "--yes", cwd=project)

    assert (said.status, sorted(files(project))) == (
        0,
        [".claude/settings.json", ".claude/skills/handrail/SKILL.md", ".mcp.json", "CLAUDE.md"],
    )
    assert said.out == (
        f"{project} is set up: claude, face steps, version control none\n"
        "next: start `claude` in the project; it asks once whether to use the server\n"
    )
    assert "next:" not in said.err

    before = files(project)
    again = run_command("init", "--yes", cwd=project)
    assert (again.status, files(project)) == (0, before)
    assert again.err.count("nothing to do") == 4


def test_a_person_is_asked_three_questions(project: Path) -> None:
    status, shown = typed(project, "gemini", "spells", "y")

    assert status == 0
    assert shown.count("?") == 3
    assert "is set up: gemini, face spells, version control none" in shown
    assert settings_path().read_text() == "spells: {permit: required}\n"
    assert sorted(files(project)) == [
        ".gemini/settings.json",
        ".gemini/settings.json.handrail-backup",
        "GEMINI.md",
    ]


def test_what_is_usual_is_a_key_away_and_nobody_is_asked_in_vain(project: Path) -> None:
    status, shown = typed(project, "", "")

    assert (status, shown.count("?")) == (0, 2)
    assert "is set up: claude, face steps" in shown


def test_a_client_that_there_is_not_is_told(project: Path) -> None:
    status, shown = typed(project, "emacs")

    assert status == 1
    assert "no client is called `emacs`" in shown
    assert "handrail init --client claude, or another of: claude, codex" in shown


def test_where_nobody_can_be_asked_the_words_must_say_it(project: Path, tmp_path: Path) -> None:
    said = run_command("init", cwd=project)
    assert (said.status, said.err) == (
        1,
        "handrail: nobody can be asked which clients are meant\n  say --yes, or --client NAME\n",
    )

    (tmp_path / "empty").mkdir()
    none = run_command("init", "--yes", cwd=tmp_path / "empty")
    assert none.status == 1
    assert "no sign of a client was found, neither in the project nor in your home" in none.err
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_home_is_no_project(home: Path) -> None:
    said = run_command("init", "--yes", cwd=home)

    assert said.status == 1
    assert "is no project\n  go to the folder of a project, or name it with --project" in said.err


def test_as_json_it_tells_what_was_found_and_done(project: Path) -> None:
    (project / ".git").mkdir()

    said = run_command("init", "--client", "codex", "--face", "spells", "--permit", "--json", cwd=project)

    answer = said.data
    assert {name: answer[name] for name in ("project", "vcs", "face", "permit", "next")} == {
        "project": str(project),
        "vcs": {"kind": "git", "root": str(project)},
        "face": "spells",
        "permit": True,
        "next": "start `codex` in the project; it reads a project's file once you trust the project",
    }
    assert [(one["part"], one["status"]) for one in answer["clients"]] == [
        ("server", "written"),
        ("hooks", "written"),
        ("guide", "written"),
        ("skill", "written"),
    ]
    assert json.loads((project / ".codex/hooks.json").read_text())["hooks"]["Stop"]
