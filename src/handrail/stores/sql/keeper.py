"""Keeping house in the tables of a database: check, vacuum, prune, export."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from handrail.engine.facts import Value
from handrail.shell.faults import Unreadable
from handrail.shell.keeping import Damage, Pruned, Tell
from handrail.shell.system import SystemClock
from handrail.stores.sql import archive as archives
from handrail.stores.sql.damage import damages, kept
from handrail.stores.sql.summaries import Summaries
from handrail.stores.sql.tables import Execute, Tables
from handrail.stores.sql.text import stamp

BATCH: Final = 50
"""How many runs are deleted in one transaction: others wait no longer than for these."""

_DELETE: Final = ("delete_replies", "delete_steps", "delete_artifacts", "delete_events", "delete_run")


class SqlKeeper:
    """Who looks after the tables of a database."""

    def __init__(self, database: Tables, batch: int = BATCH) -> None:
        self.database = database
        self._batch = batch
        self._sql = database.sql("keeper.sql")

    def check(self) -> Iterator[Damage]:
        """Every damage that can be found: in the file, between its tables, and in each run."""
        yield from (Damage(code, "", message) for code, message in self.database.flaws())
        try:
            yield from self._of_runs()
        except Unreadable as fault:
            yield Damage("unreadable", "", fault.message)

    def size(self) -> int:
        """How many bytes the database takes."""
        return self.database.size()

    def vacuum(self) -> tuple[int, int]:
        """Give unused space back."""
        before = self.size()
        self.database.vacuum()
        return before, self.size()

    def old(self, before: datetime) -> int:
        """How many runs `prune` would take."""
        return len(self._old(before))

    def prune(self, before: datetime, archive: Path, tell: Tell) -> Pruned:
        """Move what is old into a new archive; deleted is what was read back from it, and not called since.

        The newest run and the run of the newest event stay, so that no number is given twice.
        """
        order = archives.Order(self.database, self._old(before), SystemClock().now(), tell)
        made = archives.write(order, archive)
        tell(f"reading {made.path} back")
        archives.verify(made)
        Summaries(self.database).fold()
        kept_ = self._delete(made.last, tell)
        with self.database.written() as execute:
            for digest in made.digests:
                execute(self._sql["delete_definition"], (digest,))
        return Pruned(made.path, made.counts, kept_)

    def export(self, run: str) -> Mapping[str, Value] | None:
        """Everything about one run but its tokens and replies, or None."""
        with self.database.seen() as execute:
            (key,) = execute(self._sql["key"], (run,)).fetchone() or (0,)
            told = archives.whole(execute, self._sql, key)
            if told is None:
                return None
            return {**told, "definition": archives.definition(execute, self._sql, told["run"]["digest"])}

    def _of_runs(self) -> Iterator[Damage]:
        last, found = 0, True
        while found:
            with self.database.seen() as execute:
                rows = execute(self._sql["kept"], (last,)).fetchall()
                wrong = [damage for row in rows for damage in damages(execute, self._sql, kept(row))]
            yield from wrong
            found = bool(rows)
            last = rows[-1][0] if rows else last

    def _old(self, before: datetime) -> list[int]:
        with self.database.read() as execute:
            return [key for (key,) in execute(self._sql["old"], (stamp(before),))]

    def _delete(self, last: Mapping[int, int], tell: Tell) -> int:
        """Delete the runs whose last event is still this one, or is gone; how many have a newer one."""
        keys, kept_ = list(last), 0
        for start in range(0, len(keys), self._batch):
            some = keys[start : start + self._batch]
            with self.database.written() as execute:
                kept_ += sum(not self._deleted(execute, key, last[key]) for key in some)
            tell(f"{start + len(some)} of {len(keys)} runs deleted")
        return kept_

    def _deleted(self, execute: Execute, key: int, last: int) -> bool:
        execute(self._sql["lock_run"], (key,)).fetchall()
        (now,) = execute(self._sql["last_event"], (key,)).fetchone()
        if now not in {None, last}:
            return False
        forget(execute, self._sql, key)
        return True


def forget(execute: Execute, sql: Mapping[str, str], key: int) -> None:
    """Delete a run and all that belongs to it, by the keeper's statements."""
    for name in _DELETE:
        execute(sql[name], (key,))
