"""Starts disk_child.py in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_CHILD = Path(__file__).with_name("disk_child.py")


def argv(*words: str | Path) -> list[str]:
    """The command that has a child do this."""
    return [sys.executable, f"{_CHILD}", *(f"{word}" for word in words)]


def env(**more: str) -> dict[str, str]:
    """The environment of a child that imports what we do."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}


def answer(command: list[str], environment: dict[str, str]) -> Any:  # noqa: ANN401 - what JSON holds
    """What a child says; it must end well."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
