"""A row that only says something, on every store: the journal has it, the run and its token are as before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.faulty_stores import STORES, opened
from helpers.stores import Place
from helpers.turns import Desk, pinned

ASKED = """
workflow: asked
version: 1
authority: sql
texts: {here: "You are in {{run.state}}."}
states: {Home: {}, Over: {terminal: true}}
transitions:
  - {id: told, from: Home, trigger: ask, only_says: true, say: here}
  - {id: end, from: Home, trigger: end, to: Over}
"""


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with opened(request.param, tmp_path) as there:
        yield there


def test_a_row_that_only_says_something_is_entered_and_leaves_the_run_as_it_is(place: Place) -> None:
    desk = Desk(place.open())
    told = desk.start(pinned(ASKED))
    run, token = told["run"], told["token"]
    before, known = desk.runs.load(run), desk.runs.entries(run)

    answers = [desk.send(run, "ask", token) for _ in range(2)]
    without = desk.send(run, "ask")

    assert [answer["texts"] for answer in (*answers, without)] == [[{"text": "You are in Home."}]] * 3
    assert [(answer["status"], answer["revision"], answer["token"]) for answer in answers] == [
        ("ok", 1, token),
        ("ok", 1, token),
    ]
    assert desk.runs.load(run) == before
    assert desk.runs.entries(run)[: len(known)] == known
    added = [(one.entry.kind, one.entry.step, one.entry.data) for one in desk.runs.entries(run)[len(known) :]]
    told_of = {"trigger": "ask", "by": "agent", "rows": ["told"], "to": "Home"}
    assert added == [("step_stayed", "Home", told_of)] * 3
    assert desk.send(run, "end", token)["lifecycle"] == "completed"
