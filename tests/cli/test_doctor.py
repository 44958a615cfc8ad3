"""`handrail doctor`: what is well, what is not, and that every failure ends with what repairs it."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from handrail.app.settings import settings_path
from handrail.cli.doctor import CHECKS
from handrail.runtime.system import default_store_path
from helpers.hooks import HookProject, backdate_last_call
from helpers.program import CommandResult, run_command

US = [sys.executable, "-m", "handrail"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def examined(project: Path, *words: str) -> CommandResult:
    said = run_command("doctor", *words, cwd=project)
    assert "Traceback" not in said.err
    for line, below in zip(said.out.splitlines(), [*said.out.splitlines()[1:], ""], strict=True):
        assert not line.startswith("✘") or below.startswith("           "), f"no repair: {line}"
    return said


def found(project: Path, check: str, *words: str) -> list[tuple[str, str, str]]:
    """The status, the message and the repair of everything that a check found."""
    answer = examined(project, "--only", check, "--json", *words).data["checks"]
    assert {one["check"] for one in answer} <= {check}
    return [(one["status"], one["message"], one["repair"]) for one in answer]


def configure(project: Path, entry: dict[str, object]) -> Path:
    file = project / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"handrail": entry}}))
    return file


def test_every_check_can_be_asked_for() -> None:
    assert list(CHECKS) == [
        *("versions", "settings", "store", "clients", "handshake", "listening", "vcs", "runs", "port")
    ]


def test_in_a_new_project_all_is_well(project: Path) -> None:
    said = examined(project)

    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "✔ ok     versions",
        "✔ ok     settings",
        "✔ ok     store",
        "✔ ok     handshake",
        *["✔ ok     vcs"] * (len(lines) - 5),
        "✔ ok     runs",
    ]
    assert lines[-2] == f"✔ ok     vcs: {project} has no version control"
    assert " answers after " in lines[3]
    assert " s with workflow_next_step" in lines[3]


def test_after_install_everything_that_was_written_is_found_again(project: Path) -> None:
    run_command("install", "claude", "codex", cwd=project)

    assert [status for status, _, _ in found(project, "clients")] == ["ok", "ok"]
    assert [status for status, _, _ in found(project, "listening")] == ["ok"] * 6


def test_a_store_that_others_may_read_is_repaired(project: Path) -> None:
    HookProject(project).start()
    default_store_path().chmod(0o644)
    default_store_path().parent.chmod(0o770)

    said = examined(project, "--only", "store", "--json")
    failed = [one for one in said.data["checks"] if one["status"] == "failed"]

    assert (said.status, said.data["ok"]) == (1, False)
    assert [(one["message"], one["repair"]) for one in failed] == [
        (f"others may read {default_store_path()}", f"chmod 600 {default_store_path()}"),
        (f"others may replace {default_store_path().parent}", f"chmod 700 {default_store_path().parent}"),
    ]
    assert said.err == "2 failed: type what stands below each, then handrail doctor again\n"
    assert examined(project, "--only", "store", "--fix").out.count("✔ fixed ") == 2
    assert stat.S_IMODE(default_store_path().stat().st_mode) == 0o600
    assert examined(project, "--only", "store").status == 0


def test_a_journal_that_is_not_wal_is_told(project: Path) -> None:
    import sqlite3  # noqa: PLC0415 - only here is the store changed behind its back

    HookProject(project).start()
    with sqlite3.connect(default_store_path()) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()

    notes = [message for status, message, _ in found(project, "store") if status == "note"]
    assert notes == ["journal delete, not wal: the next server changes that"]


@pytest.mark.parametrize(
    ("spoil", "message", "repair"),
    [
        (
            "PRAGMA user_version = 99",
            "schema 99, journal wal: this program knows schema 1 only",
            "pip install",
        ),
        ("PRAGMA application_id = 1", "is no store of Handrail", "name another with HANDRAIL_STORE"),
    ],
)
def test_a_store_that_is_not_ours_to_use_is_told(
    project: Path, spoil: str, message: str, repair: str
) -> None:
    import sqlite3  # noqa: PLC0415 - only here is the store changed behind its back

    HookProject(project).start()
    with sqlite3.connect(default_store_path()) as connection:
        connection.execute(spoil)
    connection.close()

    answer = [one for one in found(project, "store") if one[0] == "failed"]
    assert message in answer[0][1]
    assert answer[0][2].startswith(repair)


def test_a_file_that_is_no_database_is_told(project: Path) -> None:
    default_store_path().parent.mkdir(parents=True)
    default_store_path().write_text("no database at all, but long enough to be looked at" * 50)

    ((status, message, repair),) = found(project, "store")
    assert (status, repair) == (
        "failed",
        "restore a backup of it, or name another with HANDRAIL_STORE",
    )
    assert "file is not a database" in message


def test_an_entry_that_starts_what_is_gone_is_told_and_repaired(project: Path) -> None:
    run_command("install", "claude", "--face", "spells", cwd=project)
    file = project / ".mcp.json"
    for path in (file, project / ".claude" / "settings.json"):
        path.write_text(path.read_text().replace(sys.executable, "/gone/python"))

    answer = [one for one in found(project, "clients") if one[0] == "failed"]
    assert answer[0][1] == f"Claude Code: {file} starts /gone/python, which is not there"
    assert answer[0][2] == "handrail install claude --scope project"

    both = ("--only", "clients", "--only", "listening")
    assert examined(project, "--fix", *both).status == 0
    entry = json.loads(file.read_text())["mcpServers"]["handrail"]
    assert [entry["command"], *entry["args"]] == [*US, "serve", "--face", "spells"]
    assert examined(project, *both).out.count("✘") == 0


def test_hooks_of_another_program_are_told_and_put_in_anew(project: Path) -> None:
    run_command("install", "claude", cwd=project)
    hooks = project / ".claude" / "settings.json"
    hooks.write_text(hooks.read_text().replace(sys.executable, "/gone/python"))

    answer = [one for one in found(project, "listening") if one[0] == "failed"]
    assert answer == [
        (
            "failed",
            f"Claude Code: hooks in {hooks}: what is there is of another Handrail",
            "handrail install claude --scope project",
        )
    ]
    examined(project, "--fix", "--only", "listening")
    assert "/gone" not in hooks.read_text()


def test_a_server_that_came_with_the_project_is_not_started(project: Path) -> None:
    evil = project / "handrail"
    evil.write_text("#!/bin/sh\ntouch evil\n")
    evil.chmod(0o755)
    for words in ([str(evil), "serve"], ["/bin/sh", "-c", "touch evil"]):
        configure(project, {"command": words[0], "args": words[1:]})

        ((status, message, _),) = found(project, "handshake")

        assert (status, (project / "evil").exists()) == ("note", False)
        assert "was not started: it is not plainly Handrail" in message


def test_a_server_that_does_not_answer_is_told(project: Path, tmp_path: Path) -> None:
    fake = tmp_path / "handrail"
    fake.write_text("#!/bin/sh\necho no store >&2\n")
    fake.chmod(0o755)
    configure(project, {"command": str(fake), "args": ["serve"]})

    ((status, message, repair),) = found(project, "handshake")

    assert (status, repair) == ("failed", "start it in a terminal, and read what it says")
    assert message == f"`{fake} serve` does not serve: it ended: no store"


def test_only_servers_of_this_machine_are_asked_whether_they_are_ready(project: Path) -> None:
    url = "https://plans.example.org/mcp/steps"
    configure(project, {"type": "http", "url": url})
    assert found(project, "port") == [
        (
            "note",
            "the server at https://plans.example.org/mcp/steps is on another machine, and was not asked",
            "",
        )
    ]

    configure(project, {"type": "http", "url": "http://127.0.0.1:9/mcp/steps"})
    ((status, message, repair),) = found(project, "port")
    assert (status, repair) == ("failed", "start it: handrail serve --http 127.0.0.1:9")
    assert message.startswith("no server answers at 127.0.0.1:9: ")


def test_settings_that_cannot_be_read_and_permits_without_a_hook_are_told(project: Path) -> None:
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text("spells: {permit: required}\n")
    assert found(project, "listening") == [
        (
            "failed",
            "spells.permit is required, and no client here has the hook that leaves permits",
            "handrail install claude|codex|gemini",
        )
    ]

    settings_path().write_text("spells: 5\n")
    ((status, message, _),) = found(project, "settings")
    assert (status, str(settings_path()) in message) == ("failed", True)


def test_a_run_that_nobody_calls_any_more_is_told(project: Path) -> None:
    run = HookProject(project).start()
    assert found(project, "runs")[0][0] == "ok"
    backdate_last_call(run, 2 * 86400)

    ((status, message, repair),) = found(project, "runs")
    assert status == "note"
    assert message == f"run {run} of refactor is running in survey, and nobody has called it for a day"
    assert repair == f"handrail runs abandon {run} --reason stale"


@pytest.mark.parametrize(("version", "status"), [("jj 0.37.0", "failed"), ("jj 0.38.0-abc", "ok")])
def test_a_jj_that_is_too_old_is_told(
    project: Path, tmp_path: Path, version: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".jj").mkdir()
    fake = tmp_path / "bin" / "jj"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho {version}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")

    assert found(project, "vcs")[0][0] == status


def test_version_control_whose_program_is_not_there_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".git").mkdir()
    monkeypatch.setenv("PATH", "/nowhere")

    assert found(project, "vcs") == [
        ("failed", f"{project} is kept by git, and it is not there", "install git")
    ]


def test_a_client_that_is_used_and_does_not_know_the_server_is_told(project: Path) -> None:
    (project / ".cursor").mkdir()

    assert ("note", "Cursor is used here and does not know the server", "handrail install cursor") in found(
        project, "clients"
    )
