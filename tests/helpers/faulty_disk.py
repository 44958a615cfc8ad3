"""A disk that fails when it is told to: system calls of a child process are counted and broken by number.

The shim in faulty_disk.c is compiled once per test run and preloaded into the child. It sees what a program
calls through libc, so Python's `os` and the SQLite inside `sqlite3` alike; only calls that change something
below one folder count. What a program starts counts too, in the same row.
"""

import atexit
import functools
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

KINDS: Final = ("open", "write", "fsync", "rename", "unlink", "mkdir", "truncate", "chmod")
"""What can be broken; opening counts only if it is for writing."""

_CONTROL: Final = struct.Struct("@llllll")
_FAIL, _KILL, _SHORT = range(3)
_SOURCE: Final = Path(__file__).with_name("faulty_disk.c")
_NONE: Final[Mapping[str, str]] = {}


def count_calls(
    argv: Sequence[str | Path], folder: Path, env: Mapping[str, str] = _NONE, kinds: Iterable[str] = KINDS
) -> int:
    """How many calls of these kinds a program makes below the folder; it must end well."""
    with tempfile.TemporaryDirectory() as place:
        control = Path(place) / "control"
        arm_fault(control, 0, kinds=kinds)
        done = _run(argv, {**env, **build_fault_environment(folder, control)})
        assert done.returncode == 0, done.stderr
        return read_call_count(control)


def run_with_fault(  # noqa: PLR0913 - each is a way to break the call, and named where it is used
    argv: Sequence[str | Path],
    folder: Path,
    k: int,
    *,
    errno: int = 0,
    kill: bool = False,
    lasting: bool = False,
    kinds: Iterable[str] = KINDS,
    env: Mapping[str, str] = _NONE,
) -> subprocess.CompletedProcess[str]:
    """Run a program whose k-th call below the folder is broken, as `arm` says; it must come to that call."""
    with tempfile.TemporaryDirectory() as place:
        control = Path(place) / "control"
        arm_fault(control, k, errno=errno, kill=kill, lasting=lasting, kinds=kinds)
        done = _run(argv, {**env, **build_fault_environment(folder, control)})
        assert read_call_count(control) >= k, (
            f"call {k} never came: {read_call_count(control)} in all; {done.stderr}"
        )
        return done


def build_fault_environment(folder: Path, control: Path) -> dict[str, str]:
    """The environment of a program whose calls below the folder are under this control."""
    return {
        "LD_PRELOAD": f"{compile_shim()}",
        "FAULTS_FOLDER": f"{folder.resolve()}",
        "FAULTS_CONTROL": f"{control.resolve()}",
    }


def arm_fault(  # noqa: PLR0913 - the same ones
    control: Path,
    k: int,
    *,
    errno: int = 0,
    kill: bool = False,
    lasting: bool = False,
    kinds: Iterable[str] = KINDS,
) -> None:
    """Begin to count anew, and break the k-th call (0: none); `lasting` breaks every later one too.

    It ends the process before the call is made if `kill`; fails with `errno`, if there is one; otherwise only
    the first half of what is to be written is.
    """
    mode = _KILL if kill else _FAIL if errno else _SHORT
    wanted = sum(1 << KINDS.index(kind) for kind in kinds)
    data = _CONTROL.pack(0, k, (1 << 62) if lasting else k, wanted, mode, errno)
    file = os.open(control, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        os.write(file, data)
    finally:
        os.close(file)


def read_call_count(control: Path) -> int:
    """How many calls were counted since it was armed."""
    counted: int = _CONTROL.unpack(control.read_bytes())[0]
    return counted


@functools.cache
def compile_shim() -> Path:
    """The compiled shim; a test that needs it fails where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.fail("there is no C compiler `cc`: install the Debian package gcc", pytrace=False)
    place = tempfile.mkdtemp(prefix="faults-")
    atexit.register(shutil.rmtree, place)
    built = Path(place) / "faults.so"
    flags = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o")
    done = subprocess.run(
        [compiler, *flags, built, _SOURCE], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode:
        pytest.fail(
            f"the shim does not compile; the Debian packages gcc and libc6-dev are needed\n{done.stderr}",
            pytrace=False,
        )
    os.chmod(place, 0o755)  # noqa: S103, PTH101 - also a child that gives up its rights loads it
    return built


def _run(argv: Sequence[str | Path], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(argv), env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False
    )
