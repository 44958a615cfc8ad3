"""A store in which runs are played: the same each time, so pages can show it and tests count on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from handrail.app.catalog import read_source
from handrail.engine.facts import Value
from handrail.engine.lifecycle import ABANDON, CONTINUE, START
from handrail.engine.model import Accepted, Actor, Event
from handrail.runtime.facts import FILE_READERS
from handrail.runtime.gather import FactReader
from handrail.runtime.records import Caller, Origin
from handrail.runtime.system import LocalFeed
from handrail.runtime.turn import Call, NewRun, Outcome, Reply, take_turn
from handrail.runtime.world import World, build_workflow_lookup, pin_workflow
from handrail.stores.sql.runs import BaseSqlRuns, SqliteRuns
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.workflows.load import WorkflowSource
from handrail.workflows.registry import BUILT_IN_REGISTRY, Registry
from tools.docs_pages import sample

BEGINS: Final = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
MINUTE: Final = timedelta(minutes=1)


def output(kind: str, title: str, content: str, **more: Value) -> dict[str, Value]:
    """A step output with one artifact."""
    artifact = {"type": kind, "title": title, "content": content}
    return {"summary": title, "artifacts": [artifact], "references": [], "confidence": 0.9, **more}


COMMAND: Final = "run-tests save_twice"

OUTPUTS: Final = (
    output("reproduction", "Save twice", "def test_save_twice(): ...\n", command=COMMAND, exit_code=1),
    output(
        "diagnosis",
        "Timestamps too coarse",
        "src/save.py:41 drops equal stamps\n",
        reproducible=True,
        location="src/save.py:41",
    ),
    output(
        "patch",
        "Compare hashes",
        "- if stamp > last\n+ if digest != last\n",
        files=["src/save.py"],
        exit_code=0,
        suite="run-tests",
        failing_before=1,
        failing_after=0,
    ),
    output(
        "review",
        "Seen to fail and to pass",
        "2 runs without, 2 with\n",
        verdict="good",
        checked_by="other_agent",
        command=COMMAND,
        exit_before=1,
        exit_after=0,
    ),
)
"""What each step of the workflow is closed with, in order."""


@dataclass(slots=True)
class SetClock:
    """A clock that stands until it is moved."""

    at: datetime = BEGINS

    def now(self) -> datetime:
        """The time it was set to."""
        return self.at


@dataclass(slots=True)
class CountedIds:
    """Ids in the order they are asked for."""

    given: int = 0

    def new_id(self) -> str:
        """The next id, in the form of a random UUID; the first digits count."""
        self.given += 1
        return f"{self.given:08x}-0000-4000-8000-000000000000"

    def nonce(self) -> bytes:
        """Six bytes."""
        return bytes(6)


class Playing:
    """Runs are played in a store; every call moves its clock by a minute."""

    def __init__(
        self,
        runs: BaseSqlRuns,
        registry: Registry = BUILT_IN_REGISTRY,
        readers: Mapping[str, FactReader] = FILE_READERS,
    ) -> None:
        self.registry, self.clock = registry, SetClock()
        self.tokens: dict[str, str] = {}
        self.world = World(
            runs,
            self.clock,
            CountedIds(),
            LocalFeed(),
            runs.load_token_key(),
            build_workflow_lookup(runs, registry),
            readers=lambda: readers,
            lifetime=timedelta(days=365),
        )

    def start(
        self, goal: str, source: WorkflowSource | None = None, project: str = "", face: str = "steps"
    ) -> str:
        """A new run of the built-in workflow, or of this text; its id."""
        text = source or read_source(sample().path)
        pinned = pin_workflow(text, lambda _name: None, self.registry)
        workflow = pinned.workflow
        if workflow is None:
            raise LookupError(f"{pinned.problems}")
        run = self.world.ids.new_id()
        given = {"report": goal} if source is None else {}
        new = NewRun(workflow, Origin(face, workflow.authority, project, goal), pinned.definition)
        self.call(Call(run, Event(START, given), Caller(principal="ada", client="sample"), new=new))
        return run

    def walk(self, run: str, steps: int) -> None:
        """Hand in what these many steps of the built-in workflow ask for, from the first."""
        for brought in OUTPUTS[:steps]:
            if self.send(run, CONTINUE, brought)["decision"] != Accepted.__name__:
                raise LookupError(f"{run} does not go on with {brought['summary']}")

    def send(
        self, run: str, trigger: str, payload: Mapping[str, Value] | None = None, note: str = ""
    ) -> Reply:
        """Send a trigger: by the agent with its token if it is `continue`, otherwise by a person."""
        by_agent = trigger == CONTINUE
        who = Actor.AGENT if by_agent else Actor.PERSON
        token = self.tokens.get(run, "") if by_agent else ""
        return self.call(Call(run, Event(trigger, payload or {}, who, note), Caller(who), token))

    def call(self, call: Call) -> Reply:
        """Take a turn, a minute after the last."""
        self.clock.at += MINUTE

        def render(outcome: Outcome) -> Reply:
            tokens = outcome.tokens or {}
            return {"decision": type(outcome.decision).__name__, "token": next(iter(tokens.values()), "")}

        reply = take_turn(self.world, call, render)
        self.tokens[call.run] = str(reply["token"]) or self.tokens.get(call.run, "")
        return reply


class Played(Playing):
    """A store in a file that is open for playing."""

    def __init__(
        self,
        path: Path,
        registry: Registry = BUILT_IN_REGISTRY,
        readers: Mapping[str, FactReader] = FILE_READERS,
    ) -> None:
        self.path, self.database = path, SqliteDatabase(path)
        super().__init__(SqliteRuns(self.database), registry, readers)

    def __enter__(self) -> Self:
        """Play until the block ends."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the store."""
        self.database.close()


def sample_store(path: Path, *, abandoned: bool = False) -> None:
    """The store that the reference shows: a run that has ended and one that waits, with one refusal.

    Where the reference shows figures, a third one was `abandoned`.
    """
    with Played(path) as played:
        ended = played.start("Saving a file twice loses the second change.", project="/home/ada/editor")
        played.walk(ended, len(OUTPUTS))
        waits = played.start("The window forgets its size.", project="/home/ada/editor")
        played.send(waits, CONTINUE, {**OUTPUTS[0], "artifacts": []})
        played.walk(waits, 1)
        if abandoned:
            left = played.start("The icon is too small.", project="/home/ada/editor")
            played.walk(left, 1)
            played.send(left, ABANDON, note="obsolete")
