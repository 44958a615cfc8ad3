"""Questions about runs, answered by the tables of a database; nothing is written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, assert_never

from msgspec.structs import astuple

from handrail.engine.model import Authority, Lifecycle
from handrail.engine.record import load as restore
from handrail.shell.records import Written, project_id
from handrail.shell.view import (
    EXCERPT,
    LATELY,
    LIVE,
    NAMED,
    PAGE,
    REMARKS,
    AllFinal,
    ArtifactRow,
    Choice,
    Excerpt,
    FinalIn,
    FinalOf,
    LiveRun,
    OfRun,
    OfStep,
    OfType,
    ProjectRow,
    Recent,
    RunRow,
    StepRow,
    Wanted,
)
from handrail.stores.sql import rows
from handrail.stores.sql.tables import Readable
from handrail.stores.sql.text import dumped, parsed, stamp, time

_CHOSEN: Final[Mapping[type[Choice], str]] = {
    OfRun: "of_run",
    OfStep: "of_step",
    OfType: "of_type",
    Recent: "recent",
    AllFinal: "all_final",
    FinalOf: "final_of",
    FinalIn: "final_in",
}
"""The statement that finds each choice; it is given the parts of it, how many, and how many to skip."""


class SqlRecords:
    """What a database can be asked about its runs; each answer is of one moment.

    With `roots`, the runs of other projects than these are not there, and never were.
    """

    def __init__(self, database: Readable, roots: Callable[[], Sequence[str]] | None = None) -> None:
        self.database = database
        self._roots = roots
        self._sql = database.sql("questions.sql")

    @contextmanager
    def moment(self) -> Iterator[None]:
        """A block in which every answer to this thread is of the same moment; none stands inside another."""
        with self.database.seen():
            yield

    def runs(self, wanted: Wanted, after: str = "", most: int = PAGE) -> tuple[RunRow, ...]:
        """The runs wanted, last started first, from behind the run `after`; none if that is not there."""
        given = (
            after,
            wanted.project,
            wanted.face,
            wanted.workflow,
            dumped(wanted.lifecycles),
            f"%{_escaped(wanted.text)}%" if wanted.text else "",
            stamp(wanted.since) if wanted.since else "",
            stamp(wanted.until) if wanted.until else "",
            most,
            self._within(),
            wanted.agent,
            self._reached(wanted.reach, after)[0] if wanted.reach else 0,
        )
        if after and not self._sees(after):
            return ()
        statement = f"{self._sql['run_columns']}\n{self._sql['wanted']}"
        return tuple(_run(row) for row in self._asked(statement, given))

    def further(self, reach: int, after: str = "") -> str:
        """The last run that a question with this reach looks through; empty if no others are behind it."""
        return self._reached(reach, after)[1] if not after or self._sees(after) else ""

    def _reached(self, reach: int, after: str) -> tuple[int, str]:
        """The key of the last run within this reach, and its id if there are others behind it."""
        within = self._within()
        name, inside = ("reached", ()) if within is None else ("reached_in", (within,))
        found = self._asked(self._sql[name], (after, reach, *inside))
        return (found[0][0], str(found[0][1])) if len(found) > 1 else (0, "")

    def needing(self, quiet: datetime, failed: datetime, most: int = PAGE) -> tuple[RunRow, ...]:
        """The runs that may need somebody, last started first."""
        given = (stamp(quiet), stamp(failed), LATELY, most, self._within())
        statement = f"{self._sql['run_columns']}\n{self._sql['needing']}"
        return tuple(_run(row) for row in self._asked(statement, given))

    def under_way(self) -> Mapping[Lifecycle, int]:
        """How many runs are running and paused."""
        within = self._within()
        inside = () if within is None else (within,)
        found = dict(self._asked(self._sql["under_way_in" if inside else "under_way"], inside))
        return {one: found.get(one, 0) for one in (Lifecycle.RUNNING, Lifecycle.PAUSED)}

    def named(self, prefix: str) -> tuple[str, ...]:
        """The ids that begin like this, in order, at most `NAMED`."""
        return tuple(row[0] for row in self._asked(self._sql["named"], (prefix, NAMED, self._within())))

    def run(self, run: str) -> RunRow | None:
        """One run."""
        found = self._of(run, f"{self._sql['run_columns']}\n{self._sql['one']}", (run,))
        return _run(found[0]) if found else None

    def steps(self, run: str, after: int = 0, most: int = PAGE) -> tuple[StepRow, ...]:
        """Its steps in order, from behind step number `after`."""
        return tuple(rows.step(row) for row in self._of(run, self._sql["steps"], (run, after, most)))

    def last_done(self, run: str, most: int) -> tuple[StepRow, ...]:
        """So many of its completed steps in order, the last ones."""
        found = self._of(run, self._sql["last_done"], (run, most))
        return tuple(rows.step(row) for row in reversed(found))

    def open_steps(self, run: str) -> tuple[StepRow, ...]:
        """Its open steps in order."""
        return tuple(rows.step(row) for row in self._of(run, self._sql["open_steps"], (run,)))

    def artifacts(self, run: str, after: int = 0, most: int = PAGE) -> tuple[ArtifactRow, ...]:
        """Its artifacts in order, from behind artifact number `after`."""
        return tuple(_artifact(row) for row in self._of(run, self._sql["artifacts"], (run, after, most)))

    def content(self, run: str, artifact: int) -> str | None:
        """The text of an artifact."""
        found = self._of(run, self._sql["content"], (run, artifact))
        return str(found[0][0]) if found else None

    def excerpts(self, choice: Choice, most: int = PAGE, skip: int = 0) -> tuple[Excerpt, ...]:
        """The artifacts of this choice with what is shown of their texts, without the first `skip`."""
        statement = f"{self._sql['excerpt_columns']}\n{self._sql[_CHOSEN[type(choice)]]}"
        given = (EXCERPT, *astuple(choice), most, skip)
        match choice:
            case Recent() | AllFinal() | OfType():
                found = self._asked(statement, (*given, self._within()))
            case FinalIn(project):
                found = self._asked(statement, given) if self._is_inside(project) else []
            case OfRun(run) | OfStep(run) | FinalOf(run):
                found = self._of(run, statement, given)
            case _:
                assert_never(choice)
        return tuple(map(_excerpt, found))

    def types(self, run: str = "") -> tuple[str, ...]:
        """The types of the artifacts of a run, or of the last thousand of all; in order, at most `PAGE`."""
        if run:
            found = self._of(run, self._sql["types_of"], (run, PAGE))
        else:
            found = self._asked(self._sql["types"], (PAGE, self._within()))
        return tuple(row[0] for row in found)

    def live(self, roots: Sequence[str], prefix: str = "") -> tuple[str, ...]:
        """The ids, beginning so, of runs under way in these projects, last started first, at most `PAGE`."""
        given = (dumped(roots), prefix, PAGE, self._within())
        return tuple(row[0] for row in self._asked(self._sql["live"], given))

    def live_runs(self, roots: Sequence[str], most: int = LIVE) -> tuple[LiveRun, ...]:
        """The runs under way in the first of these projects that has any, the one called last first."""
        given = (dumped(list(map(project_id, roots))), most, self._within())
        found = tuple(_live(row) for row in self._asked(self._sql["live_runs"], given))
        return tuple(run for run in found if run.project == found[0].project)

    def completed(self) -> tuple[str, ...]:
        """The ids of the runs that made the last `PAGE` final artifacts, last started first."""
        return tuple(row[0] for row in self._asked(self._sql["completed"], (PAGE, self._within())))

    def project(self, project: str) -> ProjectRow | None:
        """A project, by its id."""
        found = self._asked(self._sql["project"], (project,)) if self._is_inside(project) else []
        return _project(found[0]) if found else None

    def journal(self, after: int = 0, most: int = PAGE, run: str = "") -> tuple[Written, ...]:
        """The entries of one run, or of all, in order, from behind entry number `after`."""
        if run:
            found = self._of(run, self._sql["journal_of"], (run, after, most))
        else:
            given = (after, most, self._within(), self.database.settled())
            found = self._asked(self._sql["journal"], given)
        return tuple(rows.written(row[0], row[1:]) for row in found)

    def last(self) -> int:
        """The number of the last entry of all that none can come before any more; 0 if there is none."""
        return self.database.settled()

    def refusals(self, run: str, most: int = 3) -> tuple[Written, ...]:
        """The last entries of a run that tell of a refusal or a failure, the newest first."""
        found = self._of(run, self._sql["refusals_of"], (run, most))
        return tuple(rows.written(row[0], row[1:]) for row in found)

    def remarks(self, run: str, most: int = REMARKS) -> tuple[Written, ...]:
        """The last comments on a run, and that its agent was told of some; in order."""
        found = self._of(run, self._sql["remarks_of"], (run, most))
        return tuple(rows.written(row[0], row[1:]) for row in reversed(found))

    def _within(self) -> str | None:
        """The ids of the projects that there are, as statements take them; None for all."""
        return None if self._roots is None else dumped(list(map(project_id, self._roots())))

    def _is_inside(self, project: str | None) -> bool:
        return self._roots is None or project in {project_id(root) for root in self._roots()}

    def _sees(self, run: str) -> bool:
        """False of a run that is not inside; which project it is of never changes."""
        if self._roots is None:
            return True
        found = self._asked(self._sql["project_of"], (run,))
        return bool(found) and self._is_inside(found[0][0])

    def _of(self, run: str, statement: str, given: Sequence[Any]) -> list[Any]:
        """The rows of a statement about one run; none if it is not inside."""
        return self._asked(statement, given) if self._sees(run) else []

    def _asked(self, statement: str, given: Sequence[Any]) -> list[Any]:
        with self.database.read() as execute:
            return execute(statement, given).fetchall()


def _escaped(text: str) -> str:
    """The text as a part of a pattern in which nothing stands for something else."""
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def _run(row: Sequence[Any]) -> RunRow:
    run, workflow, lifecycle, state, revision, face, authority, project, goal, principal, parent = row[:11]
    started, updated, active, ended, duration, waiting, metadata = row[11:]
    return RunRow(
        run,
        workflow,
        Lifecycle(lifecycle),
        state,
        revision,
        face,
        Authority(authority),
        project,
        goal,
        principal,
        parent,
        time(started),
        time(updated),
        time(active),
        rows.when(ended),
        duration,
        bool(waiting),
        parsed(metadata),
    )


def _live(row: Sequence[Any]) -> LiveRun:
    run, workflow, lifecycle, state, face, authority, project, goal, called, waiting, *more = row
    record, definition, refused = more
    return LiveRun(
        run,
        workflow,
        Lifecycle(lifecycle),
        state,
        face,
        Authority(authority),
        project,
        goal,
        time(called),
        bool(waiting),
        restore(record),
        bytes(definition or b""),
        parsed(refused) if refused else {},
    )


def _artifact(row: Sequence[Any]) -> ArtifactRow:
    number, id_, step, agent, type_, title, description, final, at, size = row
    return ArtifactRow(number, id_, step, agent, type_, title, description, bool(final), time(at), size)


def _project(row: Sequence[Any]) -> ProjectRow:
    id_, name, root, active, created = row
    return ProjectRow(id_, name, root, active, time(created))


def _excerpt(row: Sequence[Any]) -> Excerpt:
    """A character that the excerpt ends in the middle of is left out."""
    run, begins, *artifact = row
    return Excerpt(run, _artifact(artifact), begins.decode("utf-8", "ignore"))
