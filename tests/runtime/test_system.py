"""The ports as this machine has them; paths that people name lead somewhere, and no read waits forever."""

import os
from datetime import UTC, timedelta
from pathlib import Path
from threading import Thread

import pytest

from handrail.runtime.journal import milliseconds_between
from handrail.runtime.records import RunChange
from handrail.runtime.system import LocalFeed, RandomIds, SystemClock, read_bytes, resolve_path
from helpers.turns import NOW


def test_the_clock_returns_utc_in_whole_milliseconds() -> None:
    now = SystemClock().now()

    assert now.tzinfo is UTC
    assert now.microsecond % 1000 == 0


def test_ids_and_nonces_are_new_each_time() -> None:
    ids = RandomIds()

    assert len({ids.new_id() for _ in range(100)}) == 100
    assert {len(ids.nonce()) for _ in range(100)} == {6}
    assert len({ids.nonce() for _ in range(100)}) == 100


def test_a_listener_hears_until_it_stops_and_may_stop_twice() -> None:
    feed, heard = LocalFeed(), list[RunChange]()
    stop = feed.listen(heard.append)
    feed.announce(RunChange("a", 1))
    stop()
    stop()
    feed.announce(RunChange("a", 2))

    assert heard == [RunChange("a", 1)]


def test_a_listener_may_stop_while_it_is_called() -> None:
    feed, heard = LocalFeed(), list[RunChange]()

    def once(change: RunChange) -> None:
        heard.append(change)
        stop()

    stop = feed.listen(once)
    feed.announce(RunChange("a", 1))
    feed.announce(RunChange("a", 2))

    assert heard == [RunChange("a", 1)]


def test_nothing_takes_less_than_no_time() -> None:
    assert milliseconds_between(NOW, NOW + timedelta(seconds=1, microseconds=1999)) == 1001
    assert milliseconds_between(NOW, NOW - timedelta(days=1)) == 0


def test_every_link_of_a_path_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")

    assert resolve_path(tmp_path / "link" / ".." / "link" / "x") == resolve_path(tmp_path) / "there" / "x"


def test_a_link_that_leads_in_a_circle_stays_in_the_path(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")

    assert resolve_path(tmp_path / "circle" / "x") == resolve_path(tmp_path) / "circle" / "x"


def test_a_pipe_without_a_writer_is_empty(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")

    assert read_bytes(tmp_path / "fifo") == b""


def test_a_pipe_is_read_to_its_end_while_it_is_written() -> None:
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
