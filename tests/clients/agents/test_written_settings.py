"""The clients of others read what `handrail install` has written, and the plugin; they start the server."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from helpers.foreign_clients import ROOT, SECONDS
from helpers.program import PROGRAM, run_handrail

pytestmark = pytest.mark.unmeasured
FOLDER = ROOT / ".agents"
GEMINI = FOLDER / "node_modules" / "@google" / "gemini-cli" / "bundle" / "gemini.js"
CLAUDE = "@anthropic-ai/claude-code-*/claude"
CODEX = "@openai/codex/vendor/*/bin/codex"
QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def large(pattern: str) -> str:
    """The program of a client that has one for each kind of machine."""
    for found in (FOLDER / "node_modules").glob(pattern):
        return str(found)
    return pytest.fail(f"{FOLDER.name} has no {pattern}: run tools/setup agents", pytrace=False)


def said(project: Path, *words: str | Path, **env: str) -> str:
    """All that a client says in a project, where `handrail` is on the path; nobody is signed in."""
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        words,
        cwd=project,
        env={**os.environ, "PATH": path, **QUIET, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return done.stdout + done.stderr


def test_gemini_reads_the_entry_of_a_project_and_starts_the_server(tmp_path: Path) -> None:
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "settings.json").write_text('{\n  // mine\n  "ui": {"hideBanner": true}\n}\n')
    assert run_handrail("install", "gemini", "--face", "skills", cwd=tmp_path).status == 0

    trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}
    listed = said(tmp_path, FOLDER / "node", GEMINI, "mcp", "list", **trusted)

    assert f"✓ handrail: {PROGRAM} serve --face skills (stdio) - Connected" in listed


def test_claude_code_reads_the_entry_of_the_user_and_starts_the_server(tmp_path: Path) -> None:
    assert run_handrail("install", "claude", "--scope", "user", "--face", "skills", cwd=tmp_path).status == 0

    listed = said(tmp_path, large(CLAUDE), "mcp", "list")

    assert f"handrail: {PROGRAM} serve --face skills - ✔ Connected" in listed


def test_claude_code_installs_the_plugin_with_all_its_parts_beside_the_entry_of_a_project(
    tmp_path: Path,
) -> None:
    claude = large(CLAUDE)
    assert run_handrail("install", "claude", cwd=tmp_path).status == 0

    said(tmp_path, claude, "plugin", "marketplace", "add", ROOT)
    said(tmp_path, claude, "plugin", "install", "handrail@handrail")
    answer = said(tmp_path, claude, "plugin", "details", "handrail")
    listed = said(tmp_path, claude, "mcp", "list")

    assert "Skills (1)  handrail" in answer
    assert "Hooks (4)  UserPromptSubmit, SessionStart, PreToolUse, Stop" in answer
    assert "MCP servers (1)  handrail" in answer
    assert "plugin:handrail:handrail: handrail serve - ✔ Connected" in listed
    assert f"\nhandrail: {PROGRAM} serve - ⏸ Pending approval" in listed


@pytest.mark.parametrize("folder", [".", "plugin"])
def test_claude_code_finds_no_fault_with_the_marketplace_and_the_plugin(folder: str, tmp_path: Path) -> None:
    answer = said(tmp_path, large(CLAUDE), "plugin", "validate", "--strict", ROOT / folder)

    assert "✔ Validation passed\n" in answer


@pytest.mark.parametrize(("words", "more"), [((), []), (("--face", "skills"), ["--face", "skills"])])
def test_codex_reads_the_entry_of_the_user(words: tuple[str, ...], more: list[str], tmp_path: Path) -> None:
    assert run_handrail("install", "codex", "--scope", "user", *words, cwd=tmp_path).status == 0

    assert _listed_by_codex(tmp_path) == {"type": "stdio", "command": str(PROGRAM), "args": ["serve", *more]}


def test_codex_reads_the_entry_of_a_project_that_is_trusted(tmp_path: Path, home: Path) -> None:
    (home / ".codex").mkdir()
    trust = f'[projects."{tmp_path}"]\ntrust_level = "trusted"\n'
    (home / ".codex" / "config.toml").write_text(trust)
    assert (
        run_handrail("install", "codex", "--http", "http://127.0.0.1:1/mcp/steps", cwd=tmp_path).status == 0
    )

    assert _listed_by_codex(tmp_path) == {"type": "streamable_http", "url": "http://127.0.0.1:1/mcp/steps"}


def _listed_by_codex(project: Path) -> dict[str, object]:
    """How Codex would reach the one server that it lists, without what is not set."""
    text = said(project, large(CODEX), "mcp", "list", "--json")
    (server,), _ = json.JSONDecoder().raw_decode(text[text.index("[\n") :])
    assert server["name"] == "handrail"
    return {name: value for name, value in server["transport"].items() if value}
