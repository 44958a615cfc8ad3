"""The stores that the contract holds, and turns made by hand to hold it with.

A new store joins by a `Place` of its own in `PLACES`: where its data is, how it is opened, and in what it
differs by design.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec.structs import replace

from handrail.documents.state_file import StateFile
from handrail.engine.model import Lifecycle, Run, Step
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.journal import get_run_after
from handrail.runtime.ports.turn import Runs
from handrail.runtime.records import (
    ClosedStep,
    Definition,
    JournalEntry,
    OpenedStep,
    RecordedCall,
    StepStatus,
    StoredRun,
    Turn,
)
from handrail.stores.files.disk import DiskWorkspace
from handrail.stores.files.file_runs import FileRuns
from handrail.stores.sql.postgres.pg_runs import PgRuns
from handrail.stores.sql.runs import SqliteRuns
from helpers.memory_store import MemoryRuns
from helpers.postgres import join_run_server
from helpers.sql_stores import create_store, open_postgresql
from helpers.turns import NOW, ORIGIN, open_sqlite

RUN: Final = "6b1c0b52-6d9c-4cf1-8a9b-0c5b8e8f0a01"
OTHER: Final = "6b1c0b52-6d9c-4cf1-8a9b-0c5b8e8f0a02"
DIGEST: Final = "d" * 64
DEFINITION: Final = Definition(DIGEST, "paper", 1, b"the text")
STATES: Final = ("draft", "review")


class StorePlace(Protocol):
    """Data of a store, empty at first; and what of `ports.Runs` is left to the store.

    `many`: it holds any number of runs; else one, which the empty id names too. `new` is what it loads of a
    run that was never saved. `tokens`, `texts`, `steps` and `looks`: it keeps the tokens of open steps, the
    texts of workflows, steps that were closed, and when somebody looked after a run. `told`: it tells the run
    in a file for people, and takes no variable that such a file cannot hold. `nul`: it takes a text with NUL,
    which no face ever gives it.
    """

    many: bool
    new: StoredRun | None
    tokens: bool
    texts: bool
    steps: bool
    looks: bool
    told: bool
    nul: bool

    def open(self) -> Runs:
        """A store over the data; another object each time, where the data outlives one."""
        ...

    def close(self) -> None:
        """Let go of everything that was opened."""
        ...


class WholePlace:
    """Data of a store that holds any number of runs, and keeps all there is about them."""

    many = True
    new: StoredRun | None = None
    tokens = True
    texts = True
    steps = True
    looks = True
    told = False
    nul = True


class MemoryPlace(WholePlace):
    """Data that is one object."""

    def __init__(self, folder: Path) -> None:  # noqa: ARG002 - every place is made alike
        self._runs = MemoryRuns()

    def open(self) -> Runs:
        return self._runs

    def close(self) -> None:
        pass


class SqlitePlace(WholePlace):
    """Data in one file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: list[SqliteRuns] = []

    def open(self) -> Runs:
        self._opened.append(open_sqlite(self._folder))
        return self._opened[-1]

    def close(self) -> None:
        for runs in self._opened:
            runs.database.close()


class PostgresqlPlace(WholePlace):
    """Data in one database of the server of this test run."""

    nul = False

    def __init__(self, folder: Path) -> None:  # noqa: ARG002 - every place is made alike
        self.url = create_store(join_run_server())
        self._opened: list[PgRuns] = []

    def open(self) -> Runs:
        self._opened.append(open_postgresql(self.url))
        return self._opened[-1]

    def close(self) -> None:
        """Close every store, and drop the database."""
        for runs in self._opened:
            runs.database.close()
        join_run_server().drop(self.url)


class FilesPlace:
    """Data in the files of one folder: the one run of it, told in a file for people."""

    many = False
    new: StoredRun | None = StoredRun(Run(RUN, "paper", DIGEST), ORIGIN)
    tokens = False
    texts = False
    steps = False
    looks = False
    told = True
    nul = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> Runs:
        disk = DiskWorkspace(self._folder, "task")
        return FileRuns(disk, StateFile(), Run(RUN, "paper", DIGEST), ORIGIN, STATES)

    def close(self) -> None:
        pass


PLACES: Final[Mapping[str, type[MemoryPlace | SqlitePlace | PostgresqlPlace | FilesPlace]]] = {
    "memory": MemoryPlace,
    "sqlite": SqlitePlace,
    "postgresql": PostgresqlPlace,
    "files": FilesPlace,
}


def load_after_look(place: StorePlace, stored: StoredRun, looked: datetime | None = None) -> StoredRun:
    """The run as a store of this place loads it, if somebody looked after it then."""
    active = looked if looked and place.looks else stored.active
    return replace(stored, tokens=stored.tokens if place.tokens else {}, active=active)


def build_first_turn(run: str = RUN, /, **changes: Any) -> Turn:  # noqa: ANN401 - any field of a turn
    there = Run(
        run,
        "paper",
        DIGEST,
        Lifecycle.RUNNING,
        (Step(1, "draft", 1),),
        1,
        {"draft": 1},
        {"n": 1},
        {"who": "ann"},
    )
    turn = Turn(
        before=StoredRun(Run(run, "paper", DIGEST), ORIGIN),
        run=there,
        at=NOW,
        spent=RecordedCall("token-0", "request-0", b'{"reply":0}'),
        tokens={1: "hash-1"},
        opened=(OpenedStep(1, "draft", "writer"),),
        entries=(
            Entry(EntryKind.WORKFLOW_CREATED, data={"workflow": "paper"}),
            Entry(EntryKind.STEP_STARTED, "draft", "writer", {"number": 1}),
        ),
        definition=DEFINITION,
    )
    return replace(turn, **changes)


def build_next_turn(stored: StoredRun, **changes: Any) -> Turn:  # noqa: ANN401 - any field of a turn
    """One more turn of a run: its open step is closed, and the next one opened."""
    run, (step,) = stored.run, stored.run.open
    number, state = step.number + 1, STATES[step.number % 2]
    turn = Turn(
        before=stored,
        run=replace(run, open=(Step(number, state, 1),), steps=number, vars={"n": number}),
        at=NOW,
        spent=RecordedCall(
            f"token-{stored.revision}", f"request-{stored.revision}", b'{"reply":%d}' % stored.revision
        ),
        tokens={number: f"hash-{number}"},
        closed=(ClosedStep(step.number, step.state, StepStatus.COMPLETED, {"summary": "Done."}),),
        opened=(OpenedStep(number, state, "writer"),),
        entries=(
            Entry(EntryKind.STEP_COMPLETED, step.state, "writer", {"number": step.number}),
            Entry(EntryKind.STEP_STARTED, state, "writer", {"number": number}),
        ),
    )
    return replace(turn, **changes)


def build_last_turn(stored: StoredRun, lifecycle: Lifecycle = Lifecycle.COMPLETED, **changes: Any) -> Turn:  # noqa: ANN401 - any field
    return replace(
        build_next_turn(stored),
        **{
            "run": replace(stored.run, open=(), lifecycle=lifecycle),
            "tokens": {},
            "opened": (),
            "entries": (Entry(EntryKind.WORKFLOW_STATE_TRANSITION, data={"to": str(lifecycle)}),),
            **changes,
        },
    )


def build_fork_turn(run: str, of: str, **changes: Any) -> Turn:  # noqa: ANN401 - any field of a turn
    """The first turn of a run that goes on from another one, with a step whose number that never had."""
    first = build_first_turn(run)
    turn = replace(
        first,
        before=replace(first.before, origin=replace(ORIGIN, parent=of)),
        run=replace(first.run, open=(Step(1000, "draft", 2),), steps=1000),
        tokens={1000: "hash-1000"},
        opened=(OpenedStep(1000, "draft", "writer"),),
        inherits=of,
    )
    return replace(turn, **changes)


def save_turns(runs: Runs, turns: int, run: str = RUN) -> StoredRun:
    """The run after so many turns, the first included; every one is saved."""
    turn = build_first_turn(run)
    assert runs.commit(turn)
    for _ in range(turns - 1):
        turn = build_next_turn(get_run_after(turn))
        assert runs.commit(turn)
    return get_run_after(turn)


def read_all(runs: Runs, run: str = RUN) -> tuple[object, ...]:
    """Everything a store tells of a run."""
    stored = runs.load(run)
    revision = stored.revision if stored else 0
    spent = tuple(runs.find_recorded_call(run, number) for number in range(revision + 1))
    return stored, spent, read_journal(runs, run), runs.definition(DIGEST), runs.steps(run)


def read_journal(runs: Runs, run: str = RUN) -> tuple[JournalEntry, ...]:
    """The whole journal of a run."""
    return runs.entries(run, 0, 100_000)
