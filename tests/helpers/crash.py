"""Programs that kill their own children at every counted point, and what they say of it."""

import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from helpers.memory_folder import find_memory_folder

Record: TypeAlias = Callable[[str, object], None]
TESTS: Final = Path(__file__).resolve().parent.parent


def build_unmeasured_environment() -> dict[str, str]:
    """The environment of a program whose coverage is not measured."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_PROCESS_")}


def prepare_to_fork() -> None:
    """Collect no garbage from now on: a collection writes to every page that a fork shares."""
    gc.collect()
    gc.freeze()
    gc.disable()


def digest_folder(folder: Path) -> bytes:
    """A hash of the names, modes and bytes of everything in a folder."""
    digest = hashlib.blake2b()
    for path in sorted(folder.rglob("*")):
        data = b"" if path.is_dir() else path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {path.stat().st_mode} {len(data)} ".encode() + data)
    return digest.digest()


def run_crash_program(program: str, *words: str) -> dict[str, Any]:
    """What a program of the tests says of its killing, done in memory where that can be; it must end well.

    Its coverage is not measured: it does one thing thousands of times, which takes twice as long under
    measurement, and whoever is killed tells nothing.
    """
    ours = (TESTS, TESTS.parent / "src", TESTS.parent)
    path = os.pathsep.join([*map(str, ours), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory(dir=find_memory_folder()) as folder:
        done = subprocess.run(
            [sys.executable, str(TESTS / program), folder, *words],
            env={**build_unmeasured_environment(), "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said
