"""Store runs in SQL tables: one transaction per turn, checked against the revision.

`BaseSqlRuns` has the logic for both databases. `SqliteRuns` is used as it is; PostgreSQL overrides `commit`.
`SqlFeed` tells listeners which runs any process has changed. The journal is its only source: `announce` only
makes it look at once, and between times SQLite's `data_version` tells with one small read whether another
process has written.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from threading import Event, Lock, Thread
from typing import Any, Final

from handrail.engine.model import Lifecycle
from handrail.runtime.comments import find_undelivered_comments
from handrail.runtime.entries import Entry
from handrail.runtime.errors import Fault
from handrail.runtime.ports.queries import MAX_COMMENT_ENTRIES, StepRow
from handrail.runtime.records import (
    MAX_RECORDED_CALLS,
    Definition,
    JournalEntry,
    RecordedCall,
    RunChange,
    StoredRun,
    Turn,
    get_step_number,
    project_id,
    project_name,
)
from handrail.runtime.system import LocalFeed
from handrail.stores.sql import rows
from handrail.stores.sql.rows import clean_query_text, dump_json, format_time
from handrail.stores.sql.schema import KEY, ChangeListener, Execute, SqlDatabase
from handrail.stores.sql.sqlite import SqliteDatabase

_NO_LOCK: Final = nullcontext()

_NO_LIMIT: Final = 2**31
"""A limit that no run reaches."""


class BaseSqlRuns:
    """`Runs` in the tables of a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables
        self._sql = tables.sql()

    def load_token_key(self) -> bytes:
        """Return the key that signs this store's tokens. It is created once and stored."""
        found = self._tables.peek(self._sql["setting"], (KEY,))
        if not found:
            with self._tables.transaction() as execute:
                execute(self._sql["insert_setting"], (KEY, secrets.token_bytes(32)))
                found = execute(self._sql["setting"], (KEY,)).fetchall()
        return bytes(found[0][0])

    def hold_lock(self, run: str, attempt: int) -> AbstractContextManager[None]:
        """Lock nothing on the first attempt: the revision decides. Lock the run on later attempts."""
        return self._tables.hold_run(self._query_text(run)) if attempt else _NO_LOCK

    def load(self, run: str) -> StoredRun | None:
        """Return the run, or None if the store does not have it."""
        found = self._tables.peek(self._sql["run"], (self._query_text(run),))
        if not found:
            return None
        return rows.read_run_rows(
            found, self._load_undelivered_comments(run) if rows.has_comments(found) else ()
        )

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn in one transaction. Return False if the revision has changed.

        Also False if the run that it inherits from is gone.
        """
        rows.check_effects(turn)
        at = format_time(turn.at)
        with self._tables.transaction() as execute:
            found = execute(self._sql["revision"], (turn.run.id,)).fetchone()
            parent_exists = not turn.inherits or execute(self._sql["revision"], (turn.inherits,)).fetchone()
            if not parent_exists or (found[1] if found else 0) != turn.before.revision:
                return False
            if turn.definition:
                self._insert_definition(execute, turn.definition)
            lines = rows.entry_rows(turn.before.revision + 1, at, turn.entries)
            chain = rows.extend_chain(found[2] if found else b"", lines)
            if found:
                key = int(found[0])
                execute(
                    self._sql["update_run"],
                    (*rows.turn_columns(turn, at, chain), key, turn.before.revision),
                )
                if turn.run.lifecycle is not turn.before.run.lifecycle:
                    execute(self._sql["settle_run"], (*rows.lifecycle_columns(turn), key))
            else:
                key = self._insert_run(execute, turn, at, chain)
            self._save_steps(execute, turn, at, key)
            self._save_artifacts(execute, turn, at, key)
            self._insert_entries(execute, key, lines)
            self._record_call(execute, turn, key)
        return True

    def find_recorded_call(self, run: str, revision: int) -> RecordedCall | None:
        """Return the recorded call of the turn that started from this revision, or None."""
        found = self._tables.peek(self._sql["reply"], (self._query_text(run), revision))
        return RecordedCall(*found[0]) if found else None

    def renew_tokens(
        self, stored: StoredRun, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Replace the tokens of open steps. Return False if the revision or the tokens have changed."""
        with self._tables.transaction() as execute:
            row = execute(self._sql["revision"], (self._query_text(stored.run.id),)).fetchone()
            found = execute(self._sql["run"], (self._query_text(stored.run.id),)).fetchall() if row else ()
            now = rows.read_run_rows(found, ()) if found else None
            if now is None or (now.revision, now.tokens) != (stored.revision, stored.tokens):
                return False
            key = int(row[0])
            for number, token in tokens.items():
                execute(self._sql["token"], (token, key, number))
            execute(self._sql["touch"], (format_time(at), stored.run.id, format_time(at)))
            self._insert_entries(execute, key, rows.entry_rows(0, format_time(at), entries))
        return True

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Add entries that belong to no turn."""
        with self._tables.transaction() as execute:
            found = execute(self._sql["revision"], (self._query_text(run),)).fetchone()
            self._insert_entries(
                execute, found[0] if found else None, rows.entry_rows(0, format_time(at), entries)
            )

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[JournalEntry, ...]:
        """Return journal entries of a run in order."""
        with self._tables.read() as execute:
            found = execute(self._sql["entries"], (self._query_text(run), after, most)).fetchall()
        return tuple(rows.read_entry_row(run, row) for row in found)

    def steps(self, run: str) -> tuple[StepRow, ...]:
        """Return every step of the run in order."""
        with self._tables.read() as execute:
            found = execute(
                self._tables.sql("questions.sql")["steps"], (self._query_text(run), 0, _NO_LIMIT)
            ).fetchall()
        return tuple(rows.read_step_row(row) for row in found)

    def definition(self, digest: str) -> Definition | None:
        """Return the workflow text with this digest, or None."""
        found = self._tables.peek(self._sql["definition"], (self._query_text(digest),))
        return Definition(*found[0]) if found else None

    def touch(self, run: str, at: datetime) -> None:
        """Record that the run was used at this time."""
        with self._tables.transaction() as execute:
            execute(self._sql["touch"], (format_time(at), self._query_text(run), format_time(at)))

    def list_quiet_runs(self, lifecycle: Lifecycle, since: datetime, most: int = 100) -> tuple[str, ...]:
        """Return runs with this lifecycle that wait for an agent and that nobody has used since then."""
        with self._tables.read() as execute:
            found = execute(self._sql["quiet"], (str(lifecycle), format_time(since), most)).fetchall()
        return tuple(run for (run,) in found)

    def _query_text(self, name: str) -> str:
        """Return a name that the database accepts. A name that it cannot hold matches nothing."""
        return clean_query_text(name)

    def _load_undelivered_comments(self, run: str) -> tuple[JournalEntry, ...]:
        """Return the comments that the run's agent has not received yet."""
        found = self._tables.peek(
            self._tables.sql("questions.sql")["remarks_of"], (self._query_text(run), MAX_COMMENT_ENTRIES)
        )
        return find_undelivered_comments(rows.read_entry_row(row[0], row[1:]) for row in reversed(found))

    def _insert_definition(self, execute: Execute, definition: Definition) -> None:
        known = (definition.digest, definition.workflow, definition.version, definition.text)
        execute(self._sql["insert_definition"], known)

    def _insert_run(self, execute: Execute, turn: Turn, at: str, chain: bytes) -> int:
        """Insert a new run, its project, and what it inherits. Return its key."""
        origin = turn.before.origin
        project = project_id(origin.project)
        if origin.project:
            named = (project, project_name(origin.project), origin.project, at)
            execute(self._sql["insert_project"], named)
            execute(self._sql["activate"], (turn.run.id, project))
        new = (
            *rows.lifecycle_columns(turn),
            *rows.turn_columns(turn, at, chain),
            *rows.origin_columns(turn),
        )
        key = int(execute(self._sql["insert_run"], new).fetchone()[0])
        if turn.inherits:
            for name in ("inherit_steps", "inherit_artifacts"):
                execute(self._sql[name], (key, turn.inherits))
        return key

    def _save_steps(self, execute: Execute, turn: Turn, at: str, key: int) -> None:
        opened = set(map(get_step_number, turn.opened))
        for closed in turn.closed:
            took = rows.measure_step(turn, closed.number)
            output = None if closed.output is None else dump_json(closed.output)
            execute(self._sql["close_step"], (str(closed.status), at, took, output, key, closed.number))
        for step in turn.opened:
            token = turn.tokens.get(step.number)
            execute(self._sql["open_step"], (key, step.number, step.state, step.agent, at, token))
        for number in set(map(get_step_number, turn.run.open)) - opened:
            execute(self._sql["token"], (turn.tokens.get(number), key, number))

    def _save_artifacts(self, execute: Execute, turn: Turn, at: str, key: int) -> None:
        """Insert the artifacts. When a run ends, all become final if it is completed, else none."""
        run = turn.run
        for artifact in turn.artifacts:
            columns = (artifact.id, artifact.step, artifact.agent, artifact.type, artifact.title)
            execute(
                self._sql["insert_artifact"],
                (key, *columns, artifact.description or None, at, artifact.content),
            )
        if run.lifecycle not in rows.LIVE_LIFECYCLES:
            execute(self._sql["finalise"], (int(rows.completes_run(turn)), key))
            execute(self._sql["deactivate"], (run.id,))

    def _insert_entries(self, execute: Execute, key: int | None, lines: Sequence[tuple[Any, ...]]) -> None:
        for line in lines:
            execute(self._sql["insert_event"], (key, *line))

    def _record_call(self, execute: Execute, turn: Turn, key: int) -> None:
        """Store the recorded call and forget the oldest one."""
        spent, revision = turn.spent, turn.before.revision
        execute(self._sql["insert_reply"], (key, revision, spent.token, spent.request, spent.reply))
        if revision >= MAX_RECORDED_CALLS:
            execute(self._sql["forget_reply"], (key, revision - MAX_RECORDED_CALLS))


class SqliteRuns(BaseSqlRuns):
    """A store of runs in one SQLite file, shared by any number of processes on one machine."""

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database)
        self.database = database


POLL_SECONDS: Final = 0.1
"""How many seconds pass between two looks while nothing is announced in this process."""


class SqlFeed:
    """Tells listeners in this process what any process has changed. Polls only while someone listens."""

    def __init__(self, database: SqlDatabase, every: float = POLL_SECONDS) -> None:
        self._database, self._every = database, every
        self._listeners = LocalFeed()
        self._count = 0
        self._lock = Lock()
        self._listener: ChangeListener = database.open_listener()
        self._sql = database.sql()
        self._stop: Event | None = None
        self._thread: Thread | None = None
        self._delivered = 0

    def announce(self, change: RunChange) -> None:  # noqa: ARG002 - the journal says what changed
        """Look for changes now."""
        self._listener.wake()

    def listen(self, heard: Callable[[RunChange], None]) -> Callable[[], None]:
        """Call `heard` for every change from now on, in a thread of the feed.

        Returns a function that stops it.
        """
        end = self._listeners.listen(heard)
        with self._lock:
            self._count += 1
            if self._thread is None:
                self._start()

        def stop() -> None:
            end()
            with self._lock:
                self._count -= 1
                thread = self._stop_thread() if self._count == 0 else None
            if thread:
                thread.join()

        return stop

    def count_undelivered(self) -> int:
        """Return how many entries the listeners have not received yet; 0 without listeners."""
        if self._thread is None:
            return 0
        with self._database.read() as execute:
            return int(execute(self._sql["behind"], (self._delivered,)).fetchone()[0])

    def _start(self) -> None:
        """Start the thread. Everything committed from here on is delivered."""
        with self._database.read() as execute:
            last = self._delivered = int(execute(self._sql["last_event"], ()).fetchone()[0])
        self._stop = Event()
        self._thread = Thread(target=self._watch, args=(self._stop, last), name="handrail-feed", daemon=True)
        self._thread.start()

    def _stop_thread(self) -> Thread | None:
        """Tell the thread to stop, and return it."""
        if self._stop:
            self._stop.set()
        self._listener.wake()
        thread, self._thread, self._stop = self._thread, None, None
        return thread

    def _watch(self, stop: Event, last: int) -> None:
        seen = -1
        while not stop.is_set():
            try:
                seen, last = self._deliver(seen, last)
            except Fault:
                seen = -1
            if self._listener.wait(self._every):
                seen = -1
        self._listener.close()

    def _deliver(self, seen: int, last: int) -> tuple[int, int]:
        """Deliver entries after entry `last`, if anything was written since version `seen`.

        Return both, updated.
        """
        version = self._database.data_version()
        if version == seen:
            return seen, last
        until = self._database.last_settled_entry()
        with self._database.read() as execute:
            found = execute(self._sql["changes"], (last, until)).fetchall()
        for run, revision, number in found:
            self._listeners.announce(RunChange(run, revision))
            last = self._delivered = max(last, number)
        return version, last
