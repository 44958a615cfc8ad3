"""kill -9 at every change that a turn makes on the real disk, and again at every change of its recovery."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
MEMORY = Path("/dev/shm")  # noqa: S108 - only because it is fast, and a folder of its own is made there


@pytest.fixture
def fast() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


def test_a_process_killed_anywhere_leaves_the_turn_taken_or_not_and_never_in_between(
    fast: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(TESTS / "stores" / "killed.py"), str(fast)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    with capsys.disabled():
        print(f" [{said['points']} kill points, {said['histories']} histories]", end="")  # noqa: T201 - the count
    assert said["points"] > 0
    assert said["histories"] > said["points"]
    assert said["wrong"] == []
