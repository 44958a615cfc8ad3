"""Questions about runs, answered from SQLite on connections that cannot write."""

from collections.abc import Sequence
from typing import Any

from handrail.engine.model import Authority, Lifecycle
from handrail.shell.records import Written
from handrail.shell.view import NAMED, PAGE, ArtifactRow, RunRow, StepRow, Wanted
from handrail.stores.sql import rows
from handrail.stores.sql.database import Database
from handrail.stores.sql.text import dumped, parsed, queries, stamp, time


class SqlRecords:
    """What a SQLite file can be asked about its runs; each answer is of one moment."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._sql = queries("questions.sql")

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
        )
        statement = f"{self._sql['run_columns']}\n{self._sql['wanted']}"
        return tuple(_run(row) for row in self._asked(statement, given))

    def named(self, prefix: str) -> tuple[str, ...]:
        """The ids that begin like this, in order, at most `NAMED`."""
        return tuple(row[0] for row in self._asked(self._sql["named"], (prefix, NAMED)))

    def run(self, run: str) -> RunRow | None:
        """One run."""
        found = self._asked(f"{self._sql['run_columns']}\n{self._sql['one']}", (run,))
        return _run(found[0]) if found else None

    def steps(self, run: str, after: int = 0, most: int = PAGE) -> tuple[StepRow, ...]:
        """Its steps in order, from behind step number `after`."""
        return tuple(rows.step(row) for row in self._asked(self._sql["steps"], (run, after, most)))

    def artifacts(self, run: str, after: int = 0, most: int = PAGE) -> tuple[ArtifactRow, ...]:
        """Its artifacts in order, from behind artifact number `after`."""
        return tuple(_artifact(row) for row in self._asked(self._sql["artifacts"], (run, after, most)))

    def content(self, run: str, artifact: int) -> str | None:
        """The text of an artifact."""
        found = self._asked(self._sql["content"], (run, artifact))
        return str(found[0][0]) if found else None

    def journal(self, after: int = 0, most: int = PAGE, run: str = "") -> tuple[Written, ...]:
        """The entries of one run, or of all, in order, from behind entry number `after`."""
        if run:
            found = self._asked(self._sql["journal_of"], (run, after, most))
        else:
            found = self._asked(self._sql["journal"], (after, most))
        return tuple(rows.written(row[0], row[1:]) for row in found)

    def pulse(self) -> int:
        """A number that is another one whenever another connection has committed since."""
        return int(self._asked(self._sql["pulse"], ())[0][0])

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


def _artifact(row: Sequence[Any]) -> ArtifactRow:
    number, id_, step, agent, type_, title, description, final, at, size = row
    return ArtifactRow(number, id_, step, agent, type_, title, description, bool(final), time(at), size)
