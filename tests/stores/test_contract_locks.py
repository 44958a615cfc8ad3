"""What `ports.Runs` promises when several want the same run: held against every store there is."""

from threading import Event as Signal
from threading import Thread

import pytest

from handrail.runtime.journal import get_run_after
from handrail.runtime.ports.turn import Runs
from handrail.runtime.records import StoredRun
from helpers.requirement import requirement
from helpers.stores import RUN, StorePlace, build_next_turn, load_after_look, read_journal, save_turns


@requirement("steps:token.once")
def test_while_a_run_is_held_nobody_else_commits_to_it(place: StorePlace) -> None:
    mine, others = place.open(), place.open()
    stored = save_turns(mine, 1)
    ready, done = Signal(), Signal()
    said: list[bool] = []

    def commit() -> None:
        ready.set()
        said.append(others.commit(build_next_turn(stored)))
        done.set()

    thread = Thread(target=commit)
    with mine.hold_lock(RUN, 1):
        thread.start()
        assert ready.wait(10)
        assert not done.wait(0.2)
        assert mine.load(RUN) == load_after_look(place, stored)
        assert mine.commit(build_next_turn(stored)) is True
    assert done.wait(10)
    thread.join()
    assert said == [False]


def test_on_the_first_attempt_the_revision_alone_may_decide(runs: Runs) -> None:
    stored = save_turns(runs, 1)
    with runs.hold_lock(RUN, 0):
        assert runs.commit(build_next_turn(stored))
    with runs.hold_lock(RUN, 1), runs.hold_lock(RUN, 2):
        assert runs.commit(build_next_turn(get_run_after(build_next_turn(stored))))


def test_what_is_held_is_let_go_when_the_block_fails(runs: Runs) -> None:
    stored = save_turns(runs, 1)
    with pytest.raises(KeyError), runs.hold_lock(RUN, 1):
        raise KeyError(RUN)

    said: list[bool] = []
    thread = Thread(target=lambda: said.append(runs.commit(build_next_turn(stored))))
    thread.start()
    thread.join(10)
    assert said == [True]


def test_of_many_threads_on_one_revision_exactly_one_commits(place: StorePlace) -> None:
    runs, more = place.open(), place.open()
    stored = save_turns(runs, 1)
    for _ in range(20):
        stored = _raced(place, (runs, more), stored)
    assert stored.revision == 21
    assert [line.revision for line in read_journal(runs)[::2]] == list(range(1, 22))


def _raced(place: StorePlace, stores: tuple[Runs, Runs], stored: StoredRun) -> StoredRun:
    said: list[bool] = []
    turns = [build_next_turn(stored, marks={"by": number}) for number in range(4)]
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
    assert after in [load_after_look(place, get_run_after(turn)) for turn in turns]
    assert after is not None
    return after
