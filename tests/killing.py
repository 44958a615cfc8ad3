"""Programs that kill their own children at every counted point, and what they say of it."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

TESTS: Final = Path(__file__).parent
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - only because it is fast, and a folder of its own is made there
"""Where what is written often is written fast; not there on every machine."""


def said_by(program: str) -> dict[str, Any]:
    """What a program of the tests says of its killing, done in memory where that can be; it must end well."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "src"), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        done = subprocess.run(
            [sys.executable, str(TESTS / program), folder],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said
