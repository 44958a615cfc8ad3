"""The programs that tests of the SQL store start: a crowd of processes, and one on a disk that fails."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from helpers import faulty_disk
from helpers.crash import build_unmeasured_environment
from helpers.memory_folder import find_memory_folder

_TESTS: Final = Path(__file__).resolve().parent.parent


def run_sqlite_crowd(what: str, file: Path, *rest: object) -> Any:  # noqa: ANN401 - whatever the crowd tells
    """What many processes on one file tell; see sqlite_crowd.py."""
    return _told("helpers.sqlite_crowd", (what, file, *map(str, rest)), build_unmeasured_environment())


def run_postgres_program(*words: object) -> Any:  # noqa: ANN401 - the same
    """What programs on one PostgreSQL database tell; see postgres_programs.py."""
    return _told("helpers.postgres_programs", tuple(map(str, words)), build_unmeasured_environment())


def run_server_crowd(folder: Path, *rest: object) -> Any:  # noqa: ANN401 - the same
    """What many processes tell that serve from one file; see server_crowd.py."""
    return _told("helpers.server_crowd", (folder, *map(str, rest)), build_unmeasured_environment())


def run_vcs_crowd(*words: object) -> Any:  # noqa: ANN401 - the same
    """What many processes tell that write one description; see vcs_crowd.py."""
    return _told("helpers.vcs_crowd", tuple(map(str, words)), build_unmeasured_environment())


def kill_vcs_writers(kind: str) -> dict[str, Any]:
    """What came of killing a writer, jj or git in a write of a description; see vcs_crash.py."""
    with tempfile.TemporaryDirectory(dir=find_memory_folder()) as folder:
        control = Path(folder) / "control"
        faulty_disk.arm_fault(control, 0)
        env = {
            **build_unmeasured_environment(),
            **faulty_disk.build_fault_environment(Path(folder) / "now", control),
        }
        found: dict[str, Any] = _told("helpers.vcs_crash", (kind, folder), env)
    assert found["points"] > 0
    return found


def break_database_disk(what: str, tmp_path: Path) -> dict[str, Any]:
    """What came of breaking a disk under a database; see sqlite_faults.py."""
    return _broken("helpers.sqlite_faults", what, tmp_path, ".")


def break_project_disk(what: str, tmp_path: Path) -> dict[str, Any]:
    """What came of breaking a disk under a project, but not under the common store; see folder_faults.py."""
    return _broken("helpers.folder_faults", what, tmp_path, "now/project")


def _broken(program: str, what: str, tmp_path: Path, below: str) -> dict[str, Any]:
    folder, control = tmp_path / "disk", tmp_path / "control"
    folder.mkdir()
    faulty_disk.arm_fault(control, 0)
    env = {**os.environ, **faulty_disk.build_fault_environment(folder / below, control)}
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
