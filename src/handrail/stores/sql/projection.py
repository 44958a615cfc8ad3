"""Runs that are kept elsewhere, as the common store shows them: brought over entry by entry, in their order.

The file or the commit is the run; what stands here can be thrown away and made again. Entries are brought
over by their number, each once, however often this is asked and by however many processes.
"""

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final

from handrail.shell.faults import Fault, SyncFailed
from handrail.shell.ports import Mirror, Runs
from handrail.shell.records import Artifact, Spent, Stored, Turn, Written, project_id, project_name
from handrail.shell.view import every
from handrail.stores.sql import rows
from handrail.stores.sql.keeper import forget
from handrail.stores.sql.summaries import Summaries
from handrail.stores.sql.tables import Execute, Tables
from handrail.stores.sql.text import stamp
from handrail.telemetry.entries import EntryKind

_CLOSING: Final = {EntryKind.STEP_COMPLETED: "completed", EntryKind.STEP_FAILED: "failed"}


class Projection:
    """The part of the common store that mirrors runs of other stores."""

    def __init__(self, database: Tables) -> None:
        self._database = database
        self._sql = database.sql("projection.sql")
        self._turn = database.sql()

    def mirror(self, source: Runs) -> Mirror:
        """Bring a run of this store up to date here; what a fault keeps out now is brought the next time."""

        def caught_up(run: str, papers: tuple[Artifact, ...] = ()) -> None:
            try:
                self.catch_up(source, run, papers)
            except SyncFailed:
                raise
            except Fault:
                return

        return caught_up

    def projects(self) -> tuple[str, ...]:
        """The roots of the projects that the store knows."""
        with self._database.read() as execute:
            return tuple(root for (root,) in execute(self._sql["projects"], ()))

    def catch_up(self, source: Runs, run: str, papers: tuple[Artifact, ...] = ()) -> int:
        """Bring over what is not here yet; how many entries that were. Of `papers` each text is kept once."""
        stored = source.load(run)
        if stored is None or not stored.revision:
            return 0
        with self._database.read() as execute:
            known = execute(self._sql["projected"], (run,)).fetchone()
        after = known[1] if known else 0
        new = tuple(every(partial(source.entries, run), after))
        with self._database.written() as execute:
            found = execute(self._sql["projected_alone"], (run,)).fetchone()
            if (found[1] if found else 0) == after:
                key = self._bring(execute, stored, found, new)
            elif found:
                key, new = int(found[0]), ()
            else:
                return 0
            for paper in papers:
                execute(self._sql["keep_paper"], (key, *_columns(paper)))
        return len(new)

    def rebuild(self, source: Runs, run: str, papers: tuple[Artifact, ...] = ()) -> int:
        """Make the mirror of a run anew if it is not what its journal says, else bring it up to date."""
        with self._database.read() as execute:
            known = execute(self._sql["projected"], (run,)).fetchone()
        if known and not self._sound(source, run, known):
            with self._database.written() as execute:
                Summaries(self._database).unfold(execute, known[0])
                execute(self._sql["forget_mark"], (known[0],))
                forget(execute, self._database.sql("keeper.sql"), known[0])
        return self.catch_up(source, run, papers)

    def _sound(self, source: Runs, run: str, known: Sequence[Any]) -> bool:
        """True if what was brought over is what the journal of the run says up to there."""
        said = [_row(line) for line in every(partial(source.entries, run)) if line.number <= known[1]]
        with self._database.read() as execute:
            found = execute(self._sql["mirrored"], (known[0],)).fetchall()
        return [tuple(row) for row in found] == said

    def _bring(
        self, execute: Execute, stored: Stored, found: Sequence[Any] | None, new: Sequence[Written]
    ) -> int:
        """Bring these entries over, and the run as it stands; its key."""
        if found and not new and stored.updated is None:
            return int(found[0])
        chain = _chain(found[2] if found else b"", new)
        number = new[-1].number if new else found[1] if found else 0
        before = Stored(stored.run, stored.origin, stored.revision - 1, stored.started)
        at = stored.updated or new[-1].at
        turn = Turn(before, stored.run, at, Spent("", "", b""))
        if found:
            key = int(found[0])
            execute(self._turn["update_run"], (*rows.moving(turn, stamp(turn.at), chain), key, found[3]))
            execute(self._turn["settle_run"], (*rows.settled(turn), key))
        else:
            key = self._insert(execute, turn, chain)
        execute(self._sql["mark"], (number, key))
        for line in new:
            self._step(execute, key, line)
            execute(self._turn["insert_event"], (key, *_row(line)))
        for step in stored.run.open:
            execute(self._sql["adopt_step"], (key, step.number, step.state, stamp(at)))
        return key

    def _insert(self, execute: Execute, turn: Turn, chain: bytes) -> int:
        root = turn.before.origin.project
        if root:
            named = (project_id(root), project_name(root), root, stamp(turn.at))
            execute(self._turn["insert_project"], named)
        new = (*rows.settled(turn), *rows.moving(turn, stamp(turn.at), chain), *rows.fixed(turn))
        return int(execute(self._turn["insert_run"], new).fetchone()[0])

    def _step(self, execute: Execute, key: int, line: Written) -> None:
        """The row of a step that an entry opens or closes."""
        entry, at = line.entry, stamp(line.at)
        if entry.kind is EntryKind.STEP_STARTED:
            execute(self._sql["open_step"], (key, entry.data["number"], entry.step, entry.agent, at))
        elif entry.kind in _CLOSING and "number" in entry.data:
            took = entry.data.get("duration_ms")
            execute(self._sql["close_step"], (_CLOSING[entry.kind], at, took, key, entry.data["number"]))


def _row(line: Written) -> tuple[Any, ...]:
    return rows.told(line.revision, stamp(line.at), (line.entry,))[0]


def _columns(paper: Artifact) -> tuple[str, ...]:
    return (paper.id, paper.step, paper.agent, paper.type, paper.title, paper.description, paper.content)


def _chain(chain: bytes, lines: Sequence[Written]) -> bytes:
    """The hash of a run after these entries; what belongs to no turn does not count."""
    turns = (line for line in lines if line.revision)
    for (revision, at), turn in groupby(turns, key=lambda line: (line.revision, line.at)):
        chain = rows.chained(chain, rows.told(revision, stamp(at), [line.entry for line in turn]))
    return chain
