"""Whatever is done to two stores in the same order, they tell the same: the one in memory is a true twin."""

import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from handrail.engine.model import Lifecycle
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.journal import get_run_after
from handrail.runtime.ports.turn import Runs
from handrail.runtime.records import StoredRun, Turn
from helpers.memory_folder import find_memory_folder
from helpers.stores import (
    OTHER,
    PLACES,
    RUN,
    build_first_turn,
    build_fork_turn,
    build_last_turn,
    build_next_turn,
    read_all,
)
from helpers.turns import NOW

pytestmark = pytest.mark.unmeasured
RUNS = (RUN, OTHER)
ACTS = ("begin", "follow", "follow", "follow", "end", "note", "touch", "renew", "inherit")
acts = st.tuples(st.sampled_from(ACTS), st.sampled_from(RUNS), st.integers(0, 2), st.integers(-5, 5))
plain = st.tuples(st.sampled_from(ACTS[:-2]), st.just(RUN), st.integers(0, 2), st.integers(-5, 5))


class Walk:
    """The same acts on every store; `known` is every state that some caller may still believe in."""

    def __init__(self, stores: list[Runs]) -> None:
        self.stores = stores
        self.known: dict[str, list[StoredRun]] = {run: [] for run in RUNS}

    def act(self, what: str, run: str, back: int, minutes: int) -> list[bool]:
        """What each store says, if it says something; callers are up to two states behind."""
        at, past = NOW + timedelta(minutes=minutes), self.known[run]
        believed = past[max(0, len(past) - 1 - back)] if past else get_run_after(build_first_turn(run))
        entries = (Entry(EntryKind.ERROR_OCCURRED, "draft", "writer", {"error_type": "x", "n": minutes}),)
        match what:
            case "note" | "touch":
                for store in self.stores:
                    store.note(run, at, entries) if what == "note" else store.touch(run, at)
                return []
            case "renew":
                tokens = {step.number: f"renewed-{minutes}" for step in believed.run.open}
                said = [store.renew_tokens(believed, tokens, at, entries) for store in self.stores]
            case _:
                turn = self._turn(what, run, believed, minutes)
                said = [store.commit(turn) for store in self.stores]
        found = self.stores[0].load(run)
        if found is not None:
            past.append(found)
        return said

    def _turn(self, what: str, run: str, believed: StoredRun, minutes: int) -> Turn:
        at = NOW + timedelta(minutes=minutes)
        if what == "inherit":
            return build_fork_turn(run, OTHER if run == RUN else RUN, at=at)
        if what == "begin" or not believed.run.open:
            return build_first_turn(run, at=at)
        if what == "end":
            return build_last_turn(believed, Lifecycle.COMPLETED if minutes > 0 else Lifecycle.FAILED, at=at)
        return build_next_turn(believed, at=at, marks={"minutes": minutes})


@settings(max_examples=50)
@given(st.lists(acts, min_size=8, max_size=25))
def test_two_stores_that_are_told_the_same_say_the_same(done: list[tuple[str, str, int, int]]) -> None:
    with tempfile.TemporaryDirectory(dir=find_memory_folder()) as folder:
        places = [make(Path(folder)) for make in PLACES.values()]
        walk = Walk([place.open() for place in places if place.many])
        for what, run, back, minutes in done:
            said = walk.act(what, run, back, minutes)
            assert said == said[:1] * len(said)
        for run in RUNS:
            answer = [read_all(store, run) for store in walk.stores]
            assert answer == answer[:1] * len(answer)
        for place in places:
            place.close()


@settings(max_examples=25)
@given(st.lists(plain, min_size=8, max_size=25))
def test_stores_of_one_run_tell_of_it_what_the_others_tell(done: list[tuple[str, str, int, int]]) -> None:
    """Without fresh tokens, which only some stores keep, and from the first turn on."""
    with tempfile.TemporaryDirectory(dir=find_memory_folder()) as folder:
        places = [make(Path(folder)) for make in PLACES.values()]
        walk = Walk([place.open() for place in places])
        for what, run, back, minutes in [("begin", RUN, 0, 0), *done]:
            said = walk.act(what, run, back, minutes)
            assert said == said[:1] * len(said)
        answer = [_in_common(store) for store in walk.stores]
        assert answer == answer[:1] * len(answer)
        for place in places:
            place.close()


def _in_common(runs: Runs) -> tuple[object, ...]:
    """What every store tells of the run, whatever it keeps of tokens, texts and looks."""
    stored, spent, lines, *_ = read_all(runs)
    assert isinstance(stored, StoredRun)
    return replace(stored, tokens={}, active=None), spent, lines
