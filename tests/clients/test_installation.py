"""`handrail install`: what each client is told, and what happens to its settings."""

import base64
import json
import shlex
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from handrail.clients.formats import load_clients
from helpers.installations import build_server_entry, read_files, read_settings, run_install

CLIENTS = ["claude", "codex", "cursor", "gemini", "jetbrains", "mcp", "vscode", "windsurf", "zed"]

IN_PROJECT = {
    "claude": (".mcp.json", {"mcpServers": {"handrail": {"type": "stdio", **build_server_entry()}}}),
    "codex": (".codex/config.toml", {"mcp_servers": {"handrail": build_server_entry()}}),
    "gemini": (".gemini/settings.json", {"mcpServers": {"handrail": build_server_entry()}}),
    "cursor": (
        ".cursor/mcp.json",
        {"mcpServers": {"handrail": build_server_entry("--project", "${workspaceFolder}")}},
    ),
    "vscode": (
        ".vscode/mcp.json",
        {"servers": {"handrail": {"type": "stdio", **build_server_entry("--project", "${workspaceFolder}")}}},
    ),
    "zed": (".zed/settings.json", {"context_servers": {"handrail": build_server_entry()}}),
    "mcp": (".mcp.json", {"mcpServers": {"handrail": {"type": "stdio", **build_server_entry()}}}),
}
OF_USER = {
    "claude": (".claude.json", {"mcpServers": {"handrail": {"type": "stdio", **build_server_entry()}}}),
    "codex": (".codex/config.toml", {"mcp_servers": {"handrail": build_server_entry()}}),
    "gemini": (".gemini/settings.json", {"mcpServers": {"handrail": build_server_entry()}}),
    "cursor": (".cursor/mcp.json", {"mcpServers": {"handrail": build_server_entry()}}),
    "vscode": (
        ".config/Code/User/mcp.json",
        {"servers": {"handrail": {"type": "stdio", **build_server_entry()}}},
    ),
    "windsurf": (".codeium/windsurf/mcp_config.json", {"mcpServers": {"handrail": build_server_entry()}}),
    "zed": (".config/zed/settings.json", {"context_servers": {"handrail": build_server_entry()}}),
    "jetbrains": (".junie/mcp/mcp.json", {"mcpServers": {"handrail": build_server_entry()}}),
}
OVER_HTTP = {
    "claude": {"type": "http", "url": "http://127.0.0.1:8765/mcp/steps"},
    "codex": {"url": "http://127.0.0.1:8765/mcp/steps"},
    "gemini": {"type": "http", "url": "http://127.0.0.1:8765/mcp/steps"},
    "cursor": {"url": "http://127.0.0.1:8765/mcp/steps"},
    "vscode": {"type": "http", "url": "http://127.0.0.1:8765/mcp/steps"},
    "windsurf": {"serverUrl": "http://127.0.0.1:8765/mcp/steps"},
    "zed": {"url": "http://127.0.0.1:8765/mcp/steps"},
    "mcp": {"type": "http", "url": "http://127.0.0.1:8765/mcp/steps"},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def test_every_client_that_is_asked_for_is_known() -> None:
    assert sorted(load_clients()) == CLIENTS


@pytest.mark.parametrize("client", IN_PROJECT)
def test_a_clients_file_of_a_project_has_the_server(client: str, project: Path) -> None:
    path, wanted = IN_PROJECT[client]

    said = run_install(project, client)

    assert (said.status, read_settings(project / path)) == (0, wanted)
    assert f"{project}/{path} has the server now\n  next: " in said.err
    assert said.out.startswith(f"--- /dev/null\n+++ {project}/{path}\n")


@pytest.mark.parametrize("client", OF_USER)
def test_a_clients_file_of_the_user_has_the_server(client: str, project: Path, home: Path) -> None:
    path, wanted = OF_USER[client]

    assert run_install(project, client, "--scope", "user").status == 0
    assert read_settings(home / path) == wanted
    assert read_files(project) == {}


def test_a_client_that_may_start_servers_anywhere_is_told_the_project(project: Path, home: Path) -> None:
    run_install(project, "jetbrains")
    run_install(project, "windsurf", "--project", str(project), "--face", "skills")

    for path, more in (
        (project / ".junie/mcp/mcp.json", ["--project", str(project)]),
        (home / ".codeium/windsurf/mcp_config.json", ["--face", "skills", "--project", str(project)]),
    ):
        assert read_settings(path)["mcpServers"]["handrail"] == build_server_entry(*more)


@pytest.mark.parametrize("client", OVER_HTTP)
def test_a_server_that_runs_already_takes_the_place_of_one_that_is_started(
    client: str, project: Path, home: Path
) -> None:
    place, above = IN_PROJECT.get(client) or OF_USER[client]
    path = (project if client in IN_PROJECT else home) / place
    run_install(project, client)

    said = run_install(project, client, "--http", "http://127.0.0.1:8765")

    assert (said.status, read_settings(path)) == (0, {next(iter(above)): {"handrail": OVER_HTTP[client]}})
    assert run_install(project, client).status == 0
    assert read_settings(path) == above


def test_a_client_that_starts_its_servers_itself_takes_no_url(project: Path) -> None:
    said = run_install(project, "jetbrains", "--http", "http://127.0.0.1:8765")

    assert (said.status, read_files(project)) == (1, {})
    assert "JetBrains (Junie) knows only servers that it starts itself\n  leave --http out" in said.err


def test_what_is_there_stays_and_the_second_time_nothing_is_done(project: Path) -> None:
    path = project / ".vscode" / "mcp.json"
    path.parent.mkdir()
    text = '{\r\n\t// mine\r\n\t"x": 1,\r\n\t"servers": {\r\n\t\t"handrail": {"env": {"A": "1"}},\r\n\t}\r\n}'
    path.write_bytes(text.encode())

    first = run_install(project, "vscode", "--from-index")
    after = read_files(project)
    second = run_install(project, "vscode", "--from-index")

    entry = (
        '"type": "stdio", "command": "uvx", "args": ["handrail", "serve", "--project", "${workspaceFolder}"]'
    )
    assert path.read_bytes().decode() == text.replace('{"A": "1"}}', f'{{"A": "1"}}, {entry}}}')
    assert f"the old file is kept as {path}.handrail-backup" in first.err
    assert after[f"{path}.handrail-backup"] == text.replace("\r\n", "\n")
    assert (second.out, read_files(project)) == ("", after)
    assert second.err == f"VS Code: nothing to do: {path} has the server already\n"


@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "windsurf"])
def test_what_was_put_in_is_taken_out_and_nothing_is_left(client: str, project: Path) -> None:
    run_install(project, client)

    said = run_install(project, client, "--uninstall")

    assert (said.status, read_files(project)) == (0, {})
    assert "the server is taken out of" in said.err
    assert "nothing to do" in run_install(project, client, "--uninstall").err


@pytest.mark.parametrize(
    ("client", "path", "text"),
    [
        ("gemini", ".gemini/settings.json", '{"mcpServers": {}, "theme": "dark"}'),
        ("zed", ".zed/settings.json", "// Zed\n{\n  // none\n}\n"),
        ("codex", ".codex/config.toml", 'model = "x" # mine\n\n[mcp_servers.other]\ncommand = "y"'),
    ],
)
def test_a_file_has_its_old_bytes_again(client: str, path: str, text: str, project: Path) -> None:
    (project / path).parent.mkdir()
    (project / path).write_text(text)
    run_install(project, client)
    assert (project / path).read_text() != text

    assert run_install(project, client, "--uninstall").status == 0
    assert read_files(project) == {str(project / path): text}


def test_a_file_that_cannot_be_read_stops_it_before_anything_is_written(project: Path) -> None:
    (project / ".zed").mkdir()
    (project / ".zed" / "settings.json").write_text('{\n  "a": 1\n  "b": 2\n}')
    before = read_files(project)

    said = run_install(project, "claude", "zed")

    assert (said.status, read_files(project)) == (1, before)
    assert said.err == (
        f"handrail: {project}/.zed/settings.json, line 3, column 3: `,` or `}}` is missing here\n"
        "  mend that place, or move the file away\n"
    )
    assert run_install(project, "zed", "--uninstall").status == 1
    assert run_install(project, "zed", "--json").data["error"]["code"] == "unreadable"


def test_a_dry_run_changes_nothing_and_shows_what_would(project: Path) -> None:
    (project / ".mcp.json").write_text("{}")
    before = read_files(project)

    said = run_install(project, "mcp", "--dry-run")

    assert (said.status, read_files(project)) == (0, before)
    assert said.err == f"any client that reads .mcp.json: {project}/.mcp.json would be changed\n"
    assert '\n+    "handrail": {\n' in said.out
    run_install(project, "mcp")
    assert "would be changed" in run_install(project, "mcp", "--dry-run", "--uninstall").err
    assert "nothing to do" in run_install(project, "mcp", "--dry-run").err


def test_as_json_it_says_what_became_of_each_file(project: Path) -> None:
    (project / ".mcp.json").write_text("{}")

    said = run_install(project, "claude", "codex", "--json")
    again = run_install(project, "claude", "--json", "--dry-run")

    first, second = said.data["clients"]
    assert said.data["dry_run"] is False
    assert first["diff"].startswith(f"--- {project}/.mcp.json\n")
    assert {**first, "diff": ""} == {
        "client": "claude",
        "part": "server",
        "scope": "project",
        "path": f"{project}/.mcp.json",
        "status": "written",
        "backup": f"{project}/.mcp.json.handrail-backup",
        "diff": "",
    }
    assert (second["client"], second["status"], second["backup"]) == ("codex", "written", None)
    assert [row["status"] for row in again.data["clients"]] == ["unchanged"]


def test_what_is_printed_can_be_put_in_by_hand(project: Path) -> None:
    said = run_install(project, "--print", "cursor", "vscode", "claude", "codex", "--from-index")

    cursor, vscode, claude = (
        next(line for line in said.out.splitlines() if line.startswith(word))
        for word in ("cursor://", "code ", "claude ")
    )
    asked = parse_qs(urlsplit(cursor).query)
    entry = {"command": "uvx", "args": ["handrail", "serve", "--project", "${workspaceFolder}"]}
    assert (asked["name"], json.loads(base64.b64decode(asked["config"][0]))) == (["handrail"], entry)
    assert shlex.split(vscode)[:2] == ["code", "--add-mcp"]
    assert json.loads(shlex.split(vscode)[2]) == {"name": "handrail", "type": "stdio", **entry}
    assert json.loads(shlex.split(claude)[4]) == {
        "type": "stdio",
        "command": "uvx",
        "args": ["handrail", "serve"],
    }
    assert said.out.endswith('[mcp_servers.handrail]\ncommand = "uvx"\nargs = ["handrail", "serve"]\n')
    assert (read_files(project), said.status) == ({}, 0)
    shown = run_install(project, "--print", "gemini", "--json", "--from-index").data["entries"]
    assert [(row["client"], row["path"], row["links"]) for row in shown] == [
        ("gemini", f"{project}/.gemini/settings.json", [])
    ]


def test_all_clients_are_those_with_a_sign_in_the_project_the_home_or_the_path(
    project: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    nothing = run_install(project, "--all")
    (project / ".cursor").mkdir()
    (home / ".codeium" / "windsurf").mkdir(parents=True)
    (tmp_path / "gemini").touch(mode=0o755)

    said = run_install(project, "--all", "--json")

    assert (nothing.status, "no sign of a client was found" in nothing.err) == (1, True)
    assert [row["client"] for row in said.data["clients"]] == ["cursor", "gemini", "windsurf"]
    inside = run_install(project, "--all", "--scope", "project", "--dry-run", "--json")
    assert [row["client"] for row in inside.data["clients"]] == ["cursor", "gemini"]
    gone = run_install(project, "--all", "--uninstall", "--json")
    assert [row["status"] for row in gone.data["clients"]] == ["removed"] * 3
    assert read_files(project, home) == {}
    assert run_install(project, "--all", "--uninstall").err == "nothing to do: no client has the server\n"
