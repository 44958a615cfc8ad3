"""What the tests of `handrail install` share: a project to try it in, and what it leaves there."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from helpers.program import CommandResult, run_command

US = [sys.executable, "-m", "handrail"]


def run_install(project: Path, *words: str) -> CommandResult:
    """How the command ends in this project, about the server alone."""
    said = run_command("install", *words, "--no-listen", cwd=project)
    assert "Traceback" not in said.err
    return said


def read_files(*folders: Path) -> dict[str, str]:
    """The texts of all files in these folders."""
    return {str(p): p.read_text() for folder in folders for p in folder.rglob("*") if p.is_file()}


def read_settings(path: Path) -> Any:  # noqa: ANN401 - the settings of others
    """What a file of settings says."""
    text = path.read_text()
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def build_server_entry(*more: str) -> dict[str, object]:
    """An entry that starts this very program with these words more."""
    return {"command": US[0], "args": [*US[1:], "serve", *more]}
