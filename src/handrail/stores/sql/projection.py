"""Mirror runs of other stores into the SQL store, so that one store can show all runs.

The file or the commit is the run; its mirror can be deleted and rebuilt. Entries are copied by their number,
each exactly once, however often and by however many processes this is called.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final

from handrail.runtime.entries import EntryKind
from handrail.runtime.errors import Fault, SyncFailed
from handrail.runtime.ports.queries import iterate_pages
from handrail.runtime.ports.turn import RunCopier, RunJournal
from handrail.runtime.records import (
    Artifact,
    JournalEntry,
    RecordedCall,
    RunChange,
    StepStatus,
    StoredRun,
    Turn,
    project_id,
    project_name,
)
from handrail.stores.sql import rows
from handrail.stores.sql.maintenance import delete_run
from handrail.stores.sql.rows import format_time
from handrail.stores.sql.schema import Execute, SqlDatabase
from handrail.stores.sql.summaries import SqlMeasures
from handrail.stores.sql.writer import run_after_call

_CLOSING_STATUS: Final = {
    EntryKind.STEP_COMPLETED: str(StepStatus.COMPLETED),
    EntryKind.STEP_FAILED: str(StepStatus.FAILED),
}
"""The status that an entry gives the step that it closes."""


class SqlRunMirrors:
    """`RunMirrors` in the tables of a database. `announce` hears of every update."""

    def __init__(self, database: SqlDatabase, announce: Callable[[RunChange], None] | None = None) -> None:
        self._database, self._announce = database, announce
        self.copy_run: RunCopier = partial(run_after_call, self.update)
        self._sql = database.sql("projection.sql")
        self._turn = database.sql()

    def update(self, source: RunJournal, change: RunChange, papers: tuple[Artifact, ...] = ()) -> None:
        """Update the mirror of a run and announce the change. After a fault, the next update catches up."""
        try:
            self.catch_up(source, change.run, papers)
        except SyncFailed:
            raise
        except Fault:
            return
        if self._announce:
            self._announce(change)

    def projects(self) -> tuple[str, ...]:
        """Return the roots of the projects that the store knows."""
        with self._database.read() as execute:
            return tuple(root for (root,) in execute(self._sql["projects"], ()))

    def catch_up(self, source: RunJournal, run: str, papers: tuple[Artifact, ...] = ()) -> int:
        """Copy entries that are missing here and return how many; store each text of `papers` once."""
        stored = source.load(run)
        if stored is None or not stored.revision:
            return 0
        with self._database.read() as execute:
            known = execute(self._sql["projected"], (run,)).fetchone()
        after = known[1] if known else 0
        new = tuple(iterate_pages(partial(source.entries, run), after))
        with self._database.transaction() as execute:
            found = execute(self._sql["projected_alone"], (run,)).fetchone()
            if (found[1] if found else 0) == after:
                key = self._copy_entries(execute, stored, found, new)
            elif found:
                key, new = int(found[0]), ()
            else:
                return 0
            for paper in papers:
                values = (paper.id, paper.step, paper.agent, paper.type, paper.title, paper.description)
                execute(self._sql["keep_paper"], (key, *values, paper.content))
        return len(new)

    def rebuild(self, source: RunJournal, run: str, papers: tuple[Artifact, ...] = ()) -> int:
        """Delete the mirror of a run if it differs from the run's journal; then bring it up to date."""
        with self._database.read() as execute:
            known = execute(self._sql["projected"], (run,)).fetchone()
        if known:
            entries = iterate_pages(partial(source.entries, run))
            expected = [_entry_row(line) for line in entries if line.number <= known[1]]
            with self._database.read() as execute:
                found = execute(self._sql["mirrored"], (known[0],)).fetchall()
            if [tuple(row) for row in found] != expected:
                with self._database.transaction() as execute:
                    SqlMeasures(self._database).unfold(execute, known[0])
                    execute(self._sql["forget_mark"], (known[0],))
                    delete_run(execute, self._database.sql("keeper.sql"), known[0])
        return self.catch_up(source, run, papers)

    def _copy_entries(
        self, execute: Execute, stored: StoredRun, found: Sequence[Any] | None, new: Sequence[JournalEntry]
    ) -> int:
        """Copy these entries and the current run. Return the run's key."""
        if found and not new and stored.updated is None:
            return int(found[0])
        chain = _chain_entries(found[2] if found else b"", new)
        number = new[-1].number if new else found[1] if found else 0
        before = StoredRun(stored.run, stored.origin, stored.revision - 1, stored.started)
        turn = Turn(before, stored.run, stored.updated or new[-1].at, RecordedCall("", "", b""))
        at, lifecycle = format_time(turn.at), rows.lifecycle_columns(turn)
        columns = rows.turn_columns(turn, at, chain)
        if found:
            key = int(found[0])
            execute(self._turn["update_run"], (*columns, key, found[3]))
            execute(self._turn["settle_run"], (*lifecycle, key))
        else:
            if root := stored.origin.project:
                execute(self._turn["insert_project"], (project_id(root), project_name(root), root, at))
            values = (*lifecycle, *columns, *rows.origin_columns(turn))
            key = int(execute(self._turn["insert_run"], values).fetchone()[0])
        execute(self._sql["mark"], (number, key))
        for line in new:
            self._save_step(execute, key, line)
            execute(self._turn["insert_event"], (key, *_entry_row(line)))
        for step in stored.run.open:
            execute(self._sql["adopt_step"], (key, step.number, step.state, at))
        return key

    def _save_step(self, execute: Execute, key: int, line: JournalEntry) -> None:
        entry, at = line.entry, format_time(line.at)
        if entry.kind is EntryKind.STEP_STARTED:
            execute(self._sql["open_step"], (key, entry.data["number"], entry.step, entry.agent, at))
        elif entry.kind in _CLOSING_STATUS and "number" in entry.data:
            status, took = _CLOSING_STATUS[entry.kind], entry.data.get("duration_ms")
            execute(self._sql["close_step"], (status, at, took, key, entry.data["number"]))


def _entry_row(line: JournalEntry) -> tuple[Any, ...]:
    return rows.entry_rows(line.revision, format_time(line.at), (line.entry,))[0]


def _chain_entries(chain: bytes, lines: Sequence[JournalEntry]) -> bytes:
    """Return the run's hash after these entries. Entries that belong to no turn do not count."""
    turns = (line for line in lines if line.revision)
    for (revision, at), turn in groupby(turns, key=lambda line: (line.revision, line.at)):
        entries = [line.entry for line in turn]
        chain = rows.extend_chain(chain, rows.entry_rows(revision, format_time(at), entries))
    return chain
