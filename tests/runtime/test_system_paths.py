"""Paths that people name lead somewhere, and reading what is there makes nobody wait."""

import os
from pathlib import Path
from threading import Thread

import pytest

from handrail.runtime.system import read_bytes, resolve_path


def test_every_link_of_a_path_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")

    assert resolve_path(tmp_path / "link" / ".." / "link" / "x") == resolve_path(tmp_path) / "there" / "x"


def test_a_link_that_leads_in_a_circle_stays_in_the_path(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")

    assert resolve_path(tmp_path / "circle" / "x") == resolve_path(tmp_path) / "circle" / "x"


def test_a_pipe_that_nobody_writes_to_is_empty(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")

    assert read_bytes(tmp_path / "fifo") == b""


def test_a_pipe_is_read_to_its_end_while_somebody_writes_to_it() -> None:
    read, write = os.pipe()

    def written() -> None:
        with os.fdopen(write, "wb") as pipe:
            pipe.write(b"x" * 200_000)

    writing = Thread(target=written)
    writing.start()

    assert read_bytes(Path(f"/dev/fd/{read}")) == b"x" * 200_000

    writing.join()
    os.close(read)


def test_what_cannot_be_read_is_named_by_its_path() -> None:
    with pytest.raises(OSError, match="Input/output error") as wrong:
        read_bytes(Path("/proc/self/mem"))

    assert wrong.value.filename == "/proc/self/mem"
