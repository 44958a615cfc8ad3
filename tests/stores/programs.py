"""The programs that tests of the SQL store start: a crowd of processes, and one on a disk that fails."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import faults
from killing import unmeasured
from memory import in_memory

_TESTS: Final = Path(__file__).resolve().parent.parent


def crowd(what: str, file: Path, *rest: object) -> Any:  # noqa: ANN401 - whatever the crowd tells
    """What many processes on one file tell; see crowd.py."""
    return _told("stores.crowd", (what, file, *map(str, rest)), unmeasured())


def on_postgresql(*words: object) -> Any:  # noqa: ANN401 - the same
    """What programs on one PostgreSQL database tell; see pg_newer.py."""
    return _told("stores.pg_newer", tuple(map(str, words)), unmeasured())


def crowd_at_the_face(folder: Path, *rest: object) -> Any:  # noqa: ANN401 - the same
    """What many processes tell that serve from one file; see faces/mcp/crowd.py."""
    return _told("faces.mcp.crowd", (folder, *map(str, rest)), unmeasured())


def crowd_of_writers(*words: object) -> Any:  # noqa: ANN401 - the same
    """What many processes tell that write one description; see descriptions/crowd.py."""
    return _told("stores.descriptions.crowd", tuple(map(str, words)), unmeasured())


def killed_writers(kind: str) -> dict[str, Any]:
    """What came of killing a writer, jj or git in a write of a description; see descriptions/killed.py."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        control = Path(folder) / "control"
        faults.arm(control, 0)
        env = {**unmeasured(), **faults.armed(Path(folder) / "now", control)}
        found: dict[str, Any] = _told("stores.descriptions.killed", (kind, folder), env)
    assert found["points"] > 0
    return found


def broken(what: str, tmp_path: Path) -> dict[str, Any]:
    """What came of breaking a disk under a database; see broken_disk.py."""
    return _broken("stores.broken_disk", what, tmp_path, ".")


def broken_folder(what: str, tmp_path: Path) -> dict[str, Any]:
    """What came of breaking a disk under a project, but not under the common store; see broken_folder.py."""
    return _broken("stores.broken_folder", what, tmp_path, "now/project")


def _broken(program: str, what: str, tmp_path: Path, below: str) -> dict[str, Any]:
    folder, control = tmp_path / "disk", tmp_path / "control"
    folder.mkdir()
    faults.arm(control, 0)
    env = {**os.environ, **faults.armed(folder / below, control)}
    found: dict[str, Any] = _told(program, (what, folder), env)
    assert found["points"] > 0
    return found


def _told(module: str, words: Sequence[str | Path], env: Mapping[str, str]) -> Any:  # noqa: ANN401 - any JSON
    path = os.pathsep.join([str(_TESTS), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        env={**env, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
