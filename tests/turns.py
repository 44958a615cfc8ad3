"""What tests of the shell and of stores build: a world whose clock they move, calls, and plain replies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from build import output
from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Authority, Event, Refused, Waiting, Who
from handrail.shell.definitions import Pinned, pin, pinned_by
from handrail.shell.fork import Fork, fork
from handrail.shell.ports import Feed, Runs
from handrail.shell.records import Caller, Origin
from handrail.shell.standing import recover
from handrail.shell.system import LocalFeed
from handrail.shell.turn import Call, New, Outcome, take_turn
from handrail.shell.world import World
from handrail.stores.sql.database import Database
from handrail.stores.sql.runs import SqlRuns
from handrail.workflows.carets import show_all
from handrail.workflows.load import Source
from handrail.workflows.registry import BUILT_IN, Registry
from opened import kept

NOW: Final = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
KEY: Final = bytes(range(32))
ORIGIN: Final = Origin("steps", Authority.SQL, "/home/ann/paper", "a paper", "ann", "", {"team": "blue"})

PAPER: Final = """
workflow: paper
version: 1
authority: sql
steps:
  - {name: draft, agent: writer, task: Write it.}
  - {name: review, agent: reader, task: Read it.}
  - {name: publish, agent: writer, task: Send it.}
"""
ENDLESS: Final = """
workflow: endless
version: 1
authority: sql
states: {Home: {}, Away: {}, Over: {terminal: true}}
transitions:
  - {id: out, from: Home, trigger: go, to: Away}
  - {id: back, from: Away, trigger: go, to: Home}
  - {id: stay, from: Home, trigger: wait}
  - {id: end, from: Home, trigger: end, to: Over}
"""


_PINNED: dict[tuple[object, ...], tuple[Registry, Pinned]] = {}
"""A text is loaded once: what it was loaded into does not change."""


@dataclass(slots=True)
class HandClock:
    """A clock that stands still until a test moves it."""

    at: datetime = NOW

    def now(self) -> datetime:
        """The time it was set to."""
        return self.at

    def move(self, **by: float) -> None:
        """Later by this much, or earlier."""
        self.at += timedelta(**by)


@dataclass(slots=True)
class CountedIds:
    """Ids and nonces in a row."""

    runs: int = 0
    nonces: int = 0

    def run(self) -> str:
        """The next id."""
        self.runs += 1
        return str(UUID(int=self.runs))

    def nonce(self) -> bytes:
        """The next nonce."""
        self.nonces += 1
        return self.nonces.to_bytes(6, "big")


def pinned(text: str = PAPER, subs: Mapping[str, str] | None = None, registry: Registry = BUILT_IN) -> Pinned:
    """The workflow of this text, which has no problem, and what a run of it keeps."""
    key = (text, id(registry), *sorted((subs or {}).items()))
    if key not in _PINNED:
        others = {name: Source(f"{name}.yaml", sub) for name, sub in (subs or {}).items()}
        found = pin(Source("test.yaml", text), others.get, registry)
        assert not found.problems, show_all(found.problems, {"test.yaml": text})
        _PINNED[key] = registry, found
    return _PINNED[key][1]


def sqlite(folder: Path) -> SqlRuns:
    """A store in a new or old file of this folder."""
    return SqlRuns(kept(Database(folder / "store" / "handrail.db")))


@dataclass(slots=True)
class Desk:
    """A caller at a store: it starts runs, sends events, and hears what came of them."""

    runs: Runs
    registry: Registry = BUILT_IN
    clock: HandClock = field(default_factory=HandClock)
    more: Mapping[str, Any] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    feed: Feed = field(default_factory=LocalFeed)
    ids: CountedIds = field(default_factory=CountedIds)

    @property
    def world(self) -> World:
        """The world of a call; each call of a test may come from another process."""
        pinned = pinned_by(self.runs, self.registry)
        return World(self.runs, self.clock, self.ids, self.feed, KEY, pinned, **self.more)

    def start(self, of: Pinned | None = None, origin: Origin = ORIGIN, /, **inputs: Value) -> dict[str, Any]:
        """Start a run."""
        return self.begin(of or pinned(), origin, Event("start", inputs))

    def begin(self, of: Pinned, origin: Origin, event: Event) -> dict[str, Any]:
        """Send an event to a run that is not there yet."""
        assert of.workflow
        return self.call(Call(self.ids.run(), event, new=New(of.workflow, origin, of.definition)))

    def send(self, run: str, event: Event | str, token: str = "", **payload: Value) -> dict[str, Any]:
        """Send an event to a run."""
        return self.call(Call(run, Event(event, payload) if isinstance(event, str) else event, token=token))

    def go_on(self, run: str, token: str, **changes: Value) -> dict[str, Any]:
        """Hand in a good step output."""
        return self.send(run, Event("continue", output(**changes)), token)

    def call(self, call: Call) -> dict[str, Any]:
        """Take a turn."""
        return dict(take_turn(self.world, call, self.render))

    def recover(self, run: str) -> dict[str, Any]:
        """Ask for the run as it stands."""
        return dict(recover(self.world, run, self.render))

    def fork(self, run: str, state: str = "", by: Who = Who.AGENT, new: New | None = None) -> dict[str, Any]:
        """Go on from a run that has ended."""
        caller = Caller(by, "eve", "test", "bot")
        return dict(fork(self.world, Fork(run, state, caller, new), self.render))

    def render(self, outcome: Outcome) -> dict[str, Any]:
        """What a caller is told, in the plainest words."""
        self.outcomes.append(outcome)
        stored = outcome.stored
        told: dict[str, Any] = {"token": next(iter((outcome.tokens or {}).values()), "")}
        if stored:
            told |= {"run": stored.run.id, "revision": stored.revision}
            told |= {"state": stored.run.open[0].state if stored.run.open else ""}
            told |= {"lifecycle": str(stored.run.lifecycle)}
        match outcome.decision:
            case Accepted():
                return {**told, "status": "ok", "texts": [dict(text) for text in outcome.texts]}
            case Waiting(waits_for=facts):
                return {**told, "status": "waiting", "waits_for": list(facts)}
            case Refused() as refused:
                return {**told, "status": "error", "code": refused.code, "rule": refused.rule}
