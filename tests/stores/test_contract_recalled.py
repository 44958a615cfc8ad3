"""What `ports.Runs` promises of a run that a process remembers: no turn goes by what is no more."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from handrail.engine.model import Lifecycle, Step
from handrail.shell.ports import Runs
from handrail.shell.records import Opened, Stored, Turn
from handrail.telemetry.entries import Entry, EntryKind
from stores.contract import OTHER, PLACES, RUN, Place, all_of, begun, ended, followed, journal, walked
from turns import NOW

REMEMBERED: Final = 256
"""How many runs a process remembers, as docs/design/turns-and-stores.md says."""


@pytest.fixture(params=["sqlite", "postgresql"])
def recalling(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place whose stores remember."""
    there = PLACES[request.param](tmp_path)
    yield there
    there.close()


def _recalled(runs: Runs, run: str = RUN) -> Stored:
    found = runs.recalled(run)
    assert found is not None
    return found


def _called(stored: Stored) -> Turn:
    """The next turn, called with the token of the open step, as a store has it."""
    turn, (step,) = followed(stored), stored.run.open
    return replace(turn, spent=replace(turn.spent, token=stored.tokens[step.number]))


def test_a_store_remembers_what_it_would_load_or_nothing(place: Place) -> None:
    runs = place.open()
    assert runs.recalled(RUN) is None
    for turns in (begun(), followed(begun().after), followed(followed(begun().after).after)):
        assert runs.commit(turns)
        loaded = runs.load(RUN)
        assert loaded is not None
        assert repr(runs.recalled(RUN)) == repr(replace(loaded, recalled=True) if place.recalls else None)


def test_what_is_remembered_is_told_once(recalling: Place) -> None:
    runs = recalling.open()
    walked(runs, 2)
    assert runs.recalled(RUN) is not None
    assert runs.recalled(RUN) is None


def test_steps_that_stay_open_are_remembered_with_when_they_were_opened(recalling: Place) -> None:
    runs, first = recalling.open(), begun()
    two = replace(first.run, open=(Step(1, "draft", 1), Step(2, "review", 1)), steps=2)
    opened = (*first.opened, Opened(2, "review", "reader"))
    first = replace(first, run=two, opened=opened, tokens={1: "hash-1", 2: "hash-2"})
    assert runs.commit(first)
    third = replace(two, open=(Step(2, "review", 1), Step(3, "draft", 2)), steps=3)
    later = replace(
        followed(begun().after),
        before=first.after,
        run=third,
        tokens={2: "hash-2b", 3: "hash-3"},
        opened=(Opened(3, "draft", "writer"),),
        at=NOW.replace(hour=15),
        marks={"team": "green", "größe": 1},
    )
    assert runs.commit(later)
    loaded = runs.load(RUN)
    assert loaded is not None
    assert [at.hour for at in loaded.opened.values()] == [12, 15]
    assert _recalled(runs) == replace(loaded, recalled=True)


def test_a_turn_on_a_run_that_stands_as_it_is_remembered_is_saved_like_any_other(recalling: Place) -> None:
    runs, others = recalling.open(), recalling.open()
    walked(runs, 2)
    turn = _called(_recalled(runs))
    assert runs.commit(turn)
    walked(others, 2, OTHER)
    assert others.commit(_called(replace(_recalled(others, OTHER), recalled=False)))
    assert [line.entry for line in journal(runs)] == [line.entry for line in journal(others, OTHER)]
    assert runs.load(RUN) == turn.after


def _moved(runs: Runs) -> None:
    stored = runs.load(RUN)
    assert stored is not None
    assert runs.commit(followed(stored))


def _renewed(runs: Runs) -> None:
    stored = runs.load(RUN)
    assert stored is not None
    assert runs.renew(stored, {2: "another"}, NOW, ())


def _commented(runs: Runs) -> None:
    entry = Entry(
        EntryKind.COMMENT_WRITTEN, "draft", data={"comment": "c", "text": "Stop", "principal": "ada"}
    )
    runs.note(RUN, NOW, (entry,))


def _ended(runs: Runs) -> None:
    stored = runs.load(RUN)
    assert stored is not None
    assert runs.commit(ended(stored, Lifecycle.FAILED))


@pytest.mark.parametrize("happens", [_moved, _renewed, _commented, _ended])
def test_a_turn_is_not_saved_if_the_run_stands_elsewhere(
    recalling: Place, happens: Callable[[Runs], None]
) -> None:
    runs, others = recalling.open(), recalling.open()
    walked(runs, 2)
    turn = _called(_recalled(runs))
    happens(others)
    before = all_of(others)

    assert not runs.commit(turn)
    assert all_of(others) == before
    assert runs.recalled(RUN) is None


def test_a_run_that_was_ever_commented_on_is_not_remembered(recalling: Place) -> None:
    runs = recalling.open()
    walked(runs, 2)
    _commented(runs)
    stored = runs.load(RUN)
    assert stored is not None
    assert runs.commit(followed(stored))
    assert runs.recalled(RUN) is None


@pytest.mark.parametrize("part", ["vars", "marks"])
def test_a_large_run_is_not_remembered(recalling: Place, part: str) -> None:
    runs = recalling.open()
    turn = followed(walked(runs, 2))
    text = {"text": "x" * 20_000}
    turn = replace(turn, marks=text) if part == "marks" else replace(turn, run=replace(turn.run, vars=text))
    assert runs.commit(turn)
    assert runs.recalled(RUN) is None


def test_a_run_that_is_over_is_not_remembered(recalling: Place) -> None:
    runs = recalling.open()
    assert runs.commit(ended(walked(runs, 2)))
    assert runs.recalled(RUN) is None


def test_of_many_runs_the_last_are_remembered(recalling: Place) -> None:
    runs = recalling.open()
    names = [f"6b1c0b52-6d9c-4cf1-8a9b-{number:012x}" for number in range(REMEMBERED + 1)]
    for name in names:
        assert runs.commit(begun(name))
    assert runs.recalled(names[0]) is None
    assert [runs.recalled(name) is not None for name in (names[1], names[-1])] == [True, True]
