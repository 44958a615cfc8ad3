"""Turns as tests take them: a world over any store, a clock set by hand, and a plain way of telling."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from build import FILE, output
from handrail.engine.facts import Value
from handrail.engine.model import Authority, Event, Refused, Who
from handrail.shell.definitions import Pinned, pin, pinned_by
from handrail.shell.ports import Feed, Runs
from handrail.shell.records import Caller, Origin
from handrail.shell.system import LocalFeed, RandomIds
from handrail.shell.turn import Call, New, Outcome, recover, take_turn
from handrail.shell.world import World
from handrail.stores.sql.database import Database
from handrail.stores.sql.runs import SqlRuns
from handrail.workflows.load import Source

KEY = b"k" * 32
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
TWO_STEPS = """
workflow: two-steps
version: 1
authority: sql
about: Do one thing, then another
inputs: {what: {type: string, default: it}}
steps:
  - {name: first, agent: implementer, task: "Do {{run.inputs.what}}.", done_when: [it is done]}
  - {name: second, agent: reviewer, task: Look at it., done_when: [it was looked at]}
"""


@dataclass
class HandClock:
    """A clock that stands still until somebody moves it."""

    at: datetime = NOON

    def now(self) -> datetime:
        return self.at

    def forward(self, **by: float) -> None:
        self.at += timedelta(**by)


def sqlite(folder: Path) -> SqlRuns:
    """A store in a file of this folder, made if it is not there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    return SqlRuns(Database(folder / "handrail.db"))


def plain(outcome: Outcome) -> dict[str, Value]:
    """What came of a call, as data."""
    refused = outcome.decision if isinstance(outcome.decision, Refused) else None
    stored = outcome.stored
    return {
        "accepted": refused is None,
        "code": refused.code if refused else "",
        "needed": list(refused.needed) if refused else [],
        "lifecycle": str(stored.run.lifecycle) if stored else "",
        "states": [step.state for step in stored.run.open] if stored else [],
        "revision": stored.revision if stored else 0,
        "tokens": list((outcome.tokens or {}).values()),
        "texts": [dict(text) for text in outcome.texts],
    }


@dataclass
class Table:
    """A world with one workflow, and calls into it."""

    runs: Runs
    text: str = TWO_STEPS
    clock: HandClock = field(default_factory=HandClock)
    feed: Feed = field(default_factory=LocalFeed)
    project: str = "/projects/one"

    def __post_init__(self) -> None:
        self.world = World(self.runs, self.clock, RandomIds(), self.feed, KEY, pinned_by(self.runs))
        self.pinned: Pinned = pin(Source(FILE, self.text), lambda _: None)

    def start(self, **inputs: Value) -> tuple[str, str]:
        """A new run: its id, and the token of its first step."""
        run = self.world.ids.run()
        reply = self.call(run, Event("start", inputs), new=self.new())
        assert reply["accepted"], reply
        return run, reply["tokens"][0]

    def new(self) -> New:
        workflow = self.pinned.workflow
        assert workflow is not None, self.pinned.problems
        return New(workflow, Origin("steps", Authority.SQL, self.project), self.pinned.definition)

    def call(self, run: str, event: Event, token: str = "", new: New | None = None) -> Mapping[str, Any]:
        return take_turn(self.world, Call(run, event, Caller(event.by), token, new), plain)

    def go_on(self, run: str, token: str = "", **changes: Value) -> Mapping[str, Any]:
        """Hand in a good output, with these fields instead."""
        return self.call(run, Event("continue", output(**changes)), token)

    def control(self, run: str, trigger: str, note: str = "") -> Mapping[str, Any]:
        return self.call(run, Event(trigger, by=Who.PERSON, note=note))

    def recover(self, run: str) -> Mapping[str, Any]:
        return recover(self.world, run, plain)
