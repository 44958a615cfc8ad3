"""The ports as this machine has them."""

from datetime import UTC, timedelta

from handrail.runtime.journal import milliseconds_between
from handrail.runtime.records import RunChange
from handrail.runtime.system import LocalFeed, RandomIds, SystemClock
from helpers.turns import NOW


def test_the_clock_tells_utc_in_whole_milliseconds() -> None:
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


def test_a_listener_may_stop_while_it_is_told() -> None:
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
