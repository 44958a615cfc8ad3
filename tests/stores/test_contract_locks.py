"""What `ports.Runs` promises when several want the same run: held against every store there is."""

from threading import Event as Signal
from threading import Thread

import pytest

from handrail.runtime.journal import get_run_after
from handrail.runtime.ports.turn import Runs
from handrail.runtime.records import StoredRun
from helpers.requirement import requirement
from helpers.stores import RUN, Place, followed, journal, kept, walked


@requirement("steps:token.once")
def test_while_a_run_is_held_nobody_else_commits_to_it(place: Place) -> None:
    mine, others = place.open(), place.open()
    stored = walked(mine, 1)
    ready, done = Signal(), Signal()
    said: list[bool] = []

    def commit() -> None:
        ready.set()
        said.append(others.commit(followed(stored)))
        done.set()

    thread = Thread(target=commit)
    with mine.hold_lock(RUN, 1):
        thread.start()
        assert ready.wait(10)
        assert not done.wait(0.2)
        assert mine.load(RUN) == kept(place, stored)
        assert mine.commit(followed(stored)) is True
    assert done.wait(10)
    thread.join()
    assert said == [False]


def test_on_the_first_attempt_the_revision_alone_may_decide(runs: Runs) -> None:
    stored = walked(runs, 1)
    with runs.hold_lock(RUN, 0):
        assert runs.commit(followed(stored))
    with runs.hold_lock(RUN, 1), runs.hold_lock(RUN, 2):
        assert runs.commit(followed(get_run_after(followed(stored))))


def test_what_is_held_is_let_go_when_the_block_fails(runs: Runs) -> None:
    stored = walked(runs, 1)
    with pytest.raises(KeyError), runs.hold_lock(RUN, 1):
        raise KeyError(RUN)

    said: list[bool] = []
    thread = Thread(target=lambda: said.append(runs.commit(followed(stored))))
    thread.start()
    thread.join(10)
    assert said == [True]


def test_of_many_threads_on_one_revision_exactly_one_commits(place: Place) -> None:
    runs, more = place.open(), place.open()
    stored = walked(runs, 1)
    for _ in range(20):
        stored = _raced(place, (runs, more), stored)
    assert stored.revision == 21
    assert [line.revision for line in journal(runs)[::2]] == list(range(1, 22))


def _raced(place: Place, stores: tuple[Runs, Runs], stored: StoredRun) -> StoredRun:
    said: list[bool] = []
    turns = [followed(stored, marks={"by": number}) for number in range(4)]
    threads = [
        Thread(target=lambda turn=turn, store=store: said.append(store.commit(turn)))
        for turn, store in zip(turns, stores * 2, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(said) == [False, False, False, True]
    after = stores[0].load(RUN)
    assert after in [kept(place, get_run_after(turn)) for turn in turns]
    assert after is not None
    return after
