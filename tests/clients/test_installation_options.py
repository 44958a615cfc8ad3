"""`handrail install`: what can be said wrongly, and where it finds what it is told."""

import os
import sys
from pathlib import Path

import pytest

from handrail.clients.formats import ClientSettings, SettingsScope, load_clients
from handrail.clients.installation import is_temporary_install
from handrail.runtime.errors import Missing
from helpers.installations import read_files, read_settings, run_install
from helpers.program import PROGRAM, run_handrail, run_on_terminal


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def test_a_client_with_one_kind_of_settings_is_not_asked_for_the_other(project: Path) -> None:
    for client, scope, other in (("windsurf", "project", "user"), ("mcp", "user", "project")):
        said = run_install(project, client, "--scope", scope)
        assert said.status == 1
        assert f"has no settings of the {scope}\n  say --scope {other}, or leave --scope out" in said.err


def test_a_home_is_no_project(home: Path) -> None:
    said = run_install(home, "claude")

    assert (said.status, read_files(home)) == (1, {})
    assert f"{home} is no project\n  go to the folder of a project, name it with --project" in said.err
    assert run_install(home, "claude", "--scope", "user").status == 0


def test_no_link_of_a_project_is_followed(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project / ".cursor").symlink_to(tmp_path / "elsewhere")

    said = run_install(project, "cursor")

    assert (said.status, read_files(tmp_path)) == (1, {})
    assert "leads through a link" in said.err


def test_a_link_of_the_users_is_written_through(project: Path, home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "claude.json").write_text('{"numStartups": 3}')
    (home / ".claude.json").symlink_to("dotfiles/claude.json")

    assert run_install(project, "claude", "--scope", "user").status == 0
    assert (home / ".claude.json").is_symlink()
    assert sorted(read_settings(home / "dotfiles" / "claude.json")) == ["mcpServers", "numStartups"]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("claude", "--all"),
        ("emacs",),
        ("claude", "--print", "--dry-run"),
        ("claude", "--uninstall", "--print"),
        ("claude", "--uninstall", "--face", "steps"),
        ("claude", "--http", "http://a", "--from-index"),
        ("claude", "--scope", "machine"),
    ],
)
def test_what_has_no_meaning_is_a_wrong_use(words: tuple[str, ...], project: Path) -> None:
    assert (run_install(project, *words).status, read_files(project)) == (2, {})


@pytest.mark.parametrize(
    "url", ["localhost:8765", "ftp://a", "http://", "http://a:0", "http://a:x", "http://[", "http://a\n"]
)
def test_what_is_no_url_is_refused(url: str, project: Path) -> None:
    said = run_install(project, "claude", "--http", url)

    assert (said.status, read_files(project)) == (1, {})
    assert "is no URL of a server\n  write one like http://127.0.0.1:8765\n" in said.err


def test_a_url_with_a_path_is_taken_as_it_is(project: Path) -> None:
    run_install(project, "claude", "--http", "https://plans.example.org/x/mcp/skills")
    said = run_install(
        project, "claude", "--http", "https://plans.example.org/mcp/skills", "--face", "skills"
    )

    entry = read_settings(project / ".mcp.json")["mcpServers"]["handrail"]
    assert entry["url"] == "https://plans.example.org/x/mcp/skills"
    assert (said.status, "names a way in already" in said.err) == (1, True)
    assert run_install(project, "codex", "--http", "https://a/", "--face", "skills").status == 0
    assert (
        read_settings(project / ".codex/config.toml")["mcp_servers"]["handrail"]["url"]
        == "https://a/mcp/skills"
    )


def test_a_folder_that_is_not_there_is_no_project(project: Path) -> None:
    said = run_install(project, "claude", "--project", str(project / "none"))

    assert (said.status, "make it, or name the one that is meant" in said.err) == (1, True)


def test_variables_that_move_a_clients_settings_are_heard(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))

    run_install(project, "codex", "claude", "--scope", "user")

    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == [".claude.json", "config.toml"]


def test_on_a_mac_settings_are_elsewhere(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    run_install(project, "vscode", "zed", "--scope", "user")

    assert sorted(read_files(home)) == [
        str(home / ".config/zed/settings.json"),
        str(home / "Library/Application Support/Code/User/mcp.json"),
    ]


@pytest.mark.parametrize(
    ("path", "soon_gone"),
    [
        ("/home/a/.cache/uv/archive-v0/x1/bin/handrail", True),
        ("/home/a/.cache/uv/environments-v2/x1/bin/handrail", True),
        ("/home/a/.local/share/pipx/.cache/x1/bin/handrail", True),
        ("/home/a/.cache/pipx/x1/bin/handrail", True),
        ("/home/a/.local/share/uv/tools/handrail/bin/handrail", False),
        ("/home/a/.local/bin/handrail", False),
    ],
)
def test_a_program_that_was_fetched_for_one_start_is_known(path: str, *, soon_gone: bool) -> None:
    assert is_temporary_install(Path(path)) is soon_gone


def test_a_program_that_is_soon_gone_is_not_written_down(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "cache" / "archive-v0" / "x" / "bin" / "handrail"
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setattr(sys, "argv", [str(program)])

    said = run_install(project, "claude")

    assert f"{program} may soon be gone: the client is told to fetch it again (uvx handrail)\n" in said.err
    assert read_settings(project / ".mcp.json")["mcpServers"]["handrail"]["command"] == "uvx"


def test_paths_that_are_no_utf_8_are_not_written_down(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / os.fsdecode(b"sh\xffp")
    odd.mkdir()
    (odd / "handrail").touch()

    for words in (("claude",), ("windsurf",)):
        said = run_install(odd, *words, "--project", str(odd))
        assert (said.status, "is not UTF-8\n  give the folder another name" in said.err) == (1, True)
    monkeypatch.setattr(sys, "argv", [str(odd / "handrail")])
    said = run_install(project, "claude")
    assert (said.status, "is not UTF-8\n  install Handrail in another folder" in said.err) == (1, True)
    assert run_install(project, "claude", "--from-index").status == 0


def test_the_program_itself_writes_its_own_path(project: Path) -> None:
    said = run_handrail("install", "claude", cwd=project)

    assert said.status == 0
    entry = read_settings(project / ".mcp.json")["mcpServers"]["handrail"]
    assert entry == {"type": "stdio", "command": str(PROGRAM), "args": ["serve"]}


def test_the_difference_has_colour_on_a_terminal_only(project: Path) -> None:
    words = ("install", "claude", "--dry-run", "--project", str(project))

    assert "\x1b[32m+" in run_on_terminal(*words, TERM="xterm").out
    assert "\x1b[3" not in run_on_terminal(*words, TERM="xterm", NO_COLOR="1").out
    assert "\x1b" not in run_handrail(*words).out


def test_a_client_without_settings_of_the_user_has_no_file_there(project: Path) -> None:
    with pytest.raises(Missing, match="has no settings of the user"):
        ClientSettings(load_clients()["mcp"], SettingsScope.USER, project).file()
