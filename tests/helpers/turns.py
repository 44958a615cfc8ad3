"""What tests of the shell and of stores build: a world whose clock they move, calls, and plain replies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Actor, Authority, Event, Refused, Waiting
from handrail.runtime.fork import ForkRequest, fork_run
from handrail.runtime.ports.turn import Feed, Runs
from handrail.runtime.records import Caller, Origin
from handrail.runtime.status import recover_run
from handrail.runtime.system import LocalFeed
from handrail.runtime.turn import Call, NewRun, Outcome, take_turn
from handrail.runtime.world import PinnedWorkflow, World, build_workflow_lookup, pin_workflow
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.workflows.load import WorkflowSource
from handrail.workflows.problem_report import format_problems
from handrail.workflows.registry import BUILT_IN_REGISTRY, Registry
from helpers.cleanup import close_later
from helpers.workflows import build_output

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

_PINNED: dict[tuple[object, ...], tuple[Registry, PinnedWorkflow]] = {}
"""A text is loaded once: what it was loaded into does not change."""


@dataclass(slots=True)
class ManualClock:
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

    def new_id(self) -> str:
        """The next id."""
        self.runs += 1
        return str(UUID(int=self.runs))

    def nonce(self) -> bytes:
        """The next nonce."""
        self.nonces += 1
        return self.nonces.to_bytes(6, "big")


def load_pinned(
    text: str = PAPER, subs: Mapping[str, str] | None = None, registry: Registry = BUILT_IN_REGISTRY
) -> PinnedWorkflow:
    """The workflow of this text, which has no problem, and what a run of it keeps."""
    key = (text, id(registry), *sorted((subs or {}).items()))
    if key not in _PINNED:
        others = {name: WorkflowSource(f"{name}.yaml", sub) for name, sub in (subs or {}).items()}
        found = pin_workflow(WorkflowSource("test.yaml", text), others.get, registry)
        assert not found.problems, format_problems(found.problems, {"test.yaml": text})
        _PINNED[key] = registry, found
    return _PINNED[key][1]


def open_sqlite(folder: Path) -> SqliteRuns:
    """A store in a new or old file of this folder."""
    return SqliteRuns(close_later(SqliteDatabase(folder / "store" / "handrail.db")))


@dataclass(slots=True)
class TurnHarness:
    """A caller at a store: it starts runs, sends events, and hears what came of them."""

    runs: Runs
    registry: Registry = BUILT_IN_REGISTRY
    clock: ManualClock = field(default_factory=ManualClock)
    more: Mapping[str, Any] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    feed: Feed = field(default_factory=LocalFeed)
    ids: CountedIds = field(default_factory=CountedIds)

    @property
    def world(self) -> World:
        """The world of a call; each call of a test may come from another process."""
        pinned = build_workflow_lookup(self.runs, self.registry)
        return World(self.runs, self.clock, self.ids, self.feed, KEY, pinned, **self.more)

    def start(
        self, of: PinnedWorkflow | None = None, origin: Origin = ORIGIN, /, **inputs: Value
    ) -> dict[str, Any]:
        """Start a run."""
        return self.start_with_event(of or load_pinned(), origin, Event("start", inputs))

    def start_with_event(self, of: PinnedWorkflow, origin: Origin, event: Event) -> dict[str, Any]:
        """Send an event to a run that is not there yet."""
        assert of.workflow
        return self.call(Call(self.ids.new_id(), event, new=NewRun(of.workflow, origin, of.definition)))

    def send(self, run: str, event: Event | str, token: str = "", **payload: Value) -> dict[str, Any]:
        """Send an event to a run."""
        return self.call(Call(run, Event(event, payload) if isinstance(event, str) else event, token=token))

    def continue_run(self, run: str, token: str, **changes: Value) -> dict[str, Any]:
        """Hand in a good step output."""
        return self.send(run, Event("continue", build_output(**changes)), token)

    def call(self, call: Call) -> dict[str, Any]:
        """Take a turn."""
        return dict(take_turn(self.world, call, self.render))

    def recover(self, run: str) -> dict[str, Any]:
        """Ask for the run as it stands."""
        return dict(recover_run(self.world, run, self.render))

    def fork(
        self, run: str, state: str = "", by: Actor = Actor.AGENT, new: NewRun | None = None
    ) -> dict[str, Any]:
        """Go on from a run that has ended."""
        caller = Caller(by, "eve", "test", "bot")
        return dict(fork_run(self.world, ForkRequest(run, state, caller, new), self.render))

    def render(self, outcome: Outcome) -> dict[str, Any]:
        """What a caller is told, in the plainest words."""
        self.outcomes.append(outcome)
        stored = outcome.stored
        answer: dict[str, Any] = {"token": next(iter((outcome.tokens or {}).values()), "")}
        if stored:
            answer |= {"run": stored.run.id, "revision": stored.revision}
            answer |= {"state": stored.run.open[0].state if stored.run.open else ""}
            answer |= {"lifecycle": str(stored.run.lifecycle)}
        match outcome.decision:
            case Accepted():
                return {**answer, "status": "ok", "texts": [dict(text) for text in outcome.texts]}
            case Waiting(waits_for=facts):
                return {**answer, "status": "waiting", "waits_for": list(facts)}
            case Refused() as refused:
                return {**answer, "status": "error", "code": refused.code, "rule": refused.rule}
