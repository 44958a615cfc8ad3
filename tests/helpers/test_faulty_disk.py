"""The shim breaks the call it is told to, and no other."""

import errno
import os
import sqlite3
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import faulty_disk

_PYTHON = (sys.executable, "-I", "-S", "-c")

_FILES = textwrap.dedent("""
    import os, sys
    folder = sys.argv[1]
    os.mkdir(f"{folder}/below")
    file = os.open(f"{folder}/below/a", os.O_WRONLY | os.O_CREAT)
    at = 0
    while at < 6:
        at += os.write(file, b"abcdef"[at:])
    os.fchmod(file, 0o600)
    os.fsync(file)
    os.ftruncate(file, 4)
    os.close(file)
    inside = os.open(f"{folder}/below", os.O_RDONLY)
    os.rename("a", "b", src_dir_fd=inside, dst_dir_fd=inside)
    os.fsync(inside)
    os.chdir(folder)
    os.unlink("below/b")
    os.rmdir("below")
""")
_CALLS = (
    ("mkdir", 1),
    ("open", 1),
    ("write", 1),
    ("chmod", 1),
    ("fsync", 2),
    ("truncate", 1),
    ("rename", 1),
    ("unlink", 2),
)
_ALL = 10

_ROWS = textwrap.dedent("""
    import sqlite3, sys
    with sqlite3.connect(sys.argv[1]) as store:
        store.execute("pragma synchronous=extra")
        store.execute("insert into kept values (2)")
        store.commit()
""")


def _files(tmp_path: Path) -> tuple[str, ...]:
    return (*_PYTHON, _FILES, f"{tmp_path}")


@pytest.mark.parametrize(("kind", "number"), _CALLS)
def test_calls_of_each_kind_are_counted(tmp_path: Path, kind: str, number: int) -> None:
    assert faulty_disk.count_calls(_files(tmp_path), tmp_path, kinds=[kind]) == number


def test_all_kinds_together_are_counted_in_one_row(tmp_path: Path) -> None:
    assert faulty_disk.count_calls(_files(tmp_path), tmp_path) == _ALL


def test_calls_beside_the_folder_are_not_counted(tmp_path: Path) -> None:
    beside = tmp_path / "below-too"
    beside.mkdir()

    assert faulty_disk.count_calls(_files(beside), tmp_path / "below") == 0


def test_what_a_program_starts_is_counted_too(tmp_path: Path) -> None:
    starts = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]], check=True)"

    assert faulty_disk.count_calls((*_PYTHON, starts, *_files(tmp_path)[1:]), tmp_path) == _ALL


@pytest.mark.parametrize("k", range(1, _ALL + 1))
def test_the_call_with_the_number_fails_with_the_errno(tmp_path: Path, k: int) -> None:
    done = faulty_disk.run_with_fault(_files(tmp_path), tmp_path, k, errno=errno.EDQUOT)

    assert done.returncode == 1
    assert f"[Errno {errno.EDQUOT}]" in done.stderr


def test_only_the_call_with_the_number_fails_unless_it_lasts(tmp_path: Path) -> None:
    tries = textwrap.dedent("""
        import os, sys
        for _ in range(3):
            try:
                os.mkdir(sys.argv[1])
                os.rmdir(sys.argv[1])
                print("made")
            except OSError as error:
                print(error.errno)
    """)
    argv = (*_PYTHON, tries, f"{tmp_path / 'made'}")

    once = faulty_disk.run_with_fault(argv, tmp_path, 1, errno=errno.ENOSPC)
    ever = faulty_disk.run_with_fault(argv, tmp_path, 3, errno=errno.ENOSPC, lasting=True)

    assert once.stdout.split() == [f"{errno.ENOSPC}", "made", "made"]
    assert ever.stdout.split() == ["made", f"{errno.ENOSPC}", f"{errno.ENOSPC}"]


def test_a_short_write_lets_half_of_the_bytes_through(tmp_path: Path) -> None:
    writes = textwrap.dedent("""
        import os, sys
        file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
        print(os.write(file, b"abcdef"), os.pwrite(file, b"xy", 0), os.writev(file, [b"1", b"23"]))
    """)
    argv = (*_PYTHON, writes, f"{tmp_path / 'file'}")

    said = [faulty_disk.run_with_fault(argv, tmp_path, k, kinds=["write"]).stdout.split() for k in (1, 2, 3)]

    assert said == [["3", "2", "3"], ["6", "1", "3"], ["6", "2", "1"]]


def test_a_killed_program_dies_before_the_call_is_made(tmp_path: Path) -> None:
    done = faulty_disk.run_with_fault(_files(tmp_path), tmp_path, 7, kill=True)

    assert done.returncode == -9
    assert (tmp_path / "below" / "a").read_bytes() == b"abcd"


def test_a_call_that_never_comes_is_reported(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=f"call {_ALL + 1} never came: {_ALL} in all"):
        faulty_disk.run_with_fault(_files(tmp_path), tmp_path, _ALL + 1, kill=True)


def _store(path: Path) -> tuple[str, ...]:
    """A program that adds a second row to a store with one."""
    path.parent.mkdir()
    store = sqlite3.connect(path)
    store.execute("create table kept (number integer)")
    store.execute("insert into kept values (1)")
    store.commit()
    store.close()
    return (*_PYTHON, _ROWS, f"{path}")


def _rows(path: Path) -> list[int]:
    store = sqlite3.connect(path)
    assert store.execute("pragma integrity_check").fetchone() == ("ok",)
    rows = [row[0] for row in store.execute("select number from kept order by number")]
    store.close()
    return rows


def test_sqlite_says_so_when_the_disk_fails_or_is_full(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    argv = _store(folder / "kept.db")

    failed = faulty_disk.run_with_fault(argv, folder, 1, errno=errno.EIO, kinds=["fsync"])
    full = faulty_disk.run_with_fault(argv, folder, 2, errno=errno.ENOSPC, kinds=["write"])

    assert "sqlite3.OperationalError: disk I/O error" in failed.stderr
    assert "sqlite3.OperationalError: database or disk is full" in full.stderr
    assert _rows(folder / "kept.db") == [1]


def test_sqlite_killed_at_any_call_keeps_the_old_rows_or_the_new(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    counted = faulty_disk.count_calls(_store(tmp_path / "counted" / "kept.db"), tmp_path / "counted")
    found = []
    for k in range(1, counted + 1):
        folder = tmp_path / f"{k}"
        argv = _store(folder / "kept.db")
        assert faulty_disk.run_with_fault(argv, folder, k, kill=True).returncode == -9
        found.append(_rows(folder / "kept.db"))
    record_property("points", len(found))

    assert found
    assert found[0] == [1]
    assert found[-1] == [1, 2]
    assert found == sorted(found)


def test_without_a_compiler_the_package_to_install_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}")

    with pytest.raises(pytest.fail.Exception, match="Debian package gcc"):
        faulty_disk.compile_shim.__wrapped__()


def test_a_shim_that_does_not_compile_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho no header files >&2\nexit 1\n")
    compiler.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    with pytest.raises(pytest.fail.Exception, match=r"libc6-dev are needed\nno header files"):
        faulty_disk.compile_shim.__wrapped__()
