"""Runs in SQLite: one transaction per turn, behind the turnstile, checked against the revision."""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any, Final

from handrail.engine.model import Lifecycle
from handrail.shell.comments import unheard
from handrail.shell.records import (
    REMEMBERED,
    Definition,
    Spent,
    Stored,
    Turn,
    Written,
    check_effects,
    number_of,
    project_id,
    project_name,
)
from handrail.shell.view import REMARKS, StepRow
from handrail.stores.sql import rows
from handrail.stores.sql.database import Database
from handrail.stores.sql.reader import KEY
from handrail.stores.sql.tables import Execute, Tables
from handrail.stores.sql.text import asked, dumped, stamp
from handrail.telemetry.entries import Entry

_NOTHING: Final = nullcontext()
_ALL: Final = 2**31
"""A limit that no run reaches."""


class RunTables:
    """A store of runs in the tables of a database."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._sql = tables.sql()

    def _asked(self, name: str) -> str:
        """A name as the database can be asked for it; one that it cannot hold is nobody's."""
        return asked(name)

    def key(self) -> bytes:
        """The key that tokens of this store are signed with: made once, kept with it."""
        found = self._tables.peek(self._sql["setting"], (KEY,))
        if not found:
            with self._tables.written() as execute:
                execute(self._sql["insert_setting"], (KEY, secrets.token_bytes(32)))
                found = execute(self._sql["setting"], (KEY,)).fetchall()
        return bytes(found[0][0])

    def held(self, run: str, attempt: int) -> AbstractContextManager[None]:
        """Nothing on the first attempt: the revision decides. Then nobody else commits to the run."""
        return self._tables.held(self._asked(run)) if attempt else _NOTHING

    def load(self, run: str) -> Stored | None:
        """The run as it stands, or None."""
        found = self._tables.peek(self._sql["run"], (self._asked(run),))
        if not found:
            return None
        return rows.stored(found, self._unheard(run) if rows.remarked(found) else ())

    def _unheard(self, run: str) -> tuple[Written, ...]:
        """The comments that the agent of a run was not told yet."""
        found = self._tables.peek(
            self._tables.sql("questions.sql")["remarks_of"], (self._asked(run), REMARKS)
        )
        return unheard(rows.written(row[0], row[1:]) for row in reversed(found))

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn in one transaction, if the revision has not moved on."""
        check_effects(turn, on_files=False)
        at = stamp(turn.at)
        with self._tables.written() as execute:
            found = execute(self._sql["revision"], (turn.run.id,)).fetchone()
            heir = not turn.inherits or execute(self._sql["revision"], (turn.inherits,)).fetchone()
            if not heir or (found[1] if found else 0) != turn.before.revision:
                return False
            if turn.definition:
                self._define(execute, turn.definition)
            lines = rows.told(turn.revision, at, turn.entries)
            chain = rows.chained(found[2] if found else b"", lines)
            if found:
                key = int(found[0])
                execute(self._sql["update_run"], (*rows.moving(turn, at, chain), key, turn.before.revision))
                if turn.run.lifecycle is not turn.before.run.lifecycle:
                    execute(self._sql["settle_run"], (*rows.settled(turn), key))
            else:
                key = self._create(execute, turn, at, chain)
            self._save_steps(execute, turn, at, key)
            self._save_artifacts(execute, turn, at, key)
            self._enter(execute, key, lines)
            self._remember(execute, turn, key)
        return True

    def spent(self, run: str, revision: int) -> Spent | None:
        """What is remembered of the turn that left this revision."""
        found = self._tables.peek(self._sql["reply"], (self._asked(run), revision))
        return Spent(*found[0]) if found else None

    def renew(
        self, stored: Stored, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Replace the tokens of open steps, if nothing has moved since."""
        with self._tables.written() as execute:
            held = execute(self._sql["revision"], (self._asked(stored.run.id),)).fetchone()
            found = execute(self._sql["run"], (self._asked(stored.run.id),)).fetchall() if held else ()
            now = rows.stored(found, ()) if found else None
            if now is None or (now.revision, now.tokens) != (stored.revision, stored.tokens):
                return False
            key = int(held[0])
            for number, token in tokens.items():
                execute(self._sql["token"], (token, key, number))
            execute(self._sql["touch"], (stamp(at), stored.run.id, stamp(at)))
            self._enter(execute, key, rows.told(0, stamp(at), entries))
        return True

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Enter what belongs to no turn."""
        with self._tables.written() as execute:
            found = execute(self._sql["revision"], (self._asked(run),)).fetchone()
            self._enter(execute, found[0] if found else None, rows.told(0, stamp(at), entries))

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[Written, ...]:
        """The journal of a run in order."""
        with self._tables.read() as execute:
            found = execute(self._sql["entries"], (self._asked(run), after, most)).fetchall()
        return tuple(rows.written(run, row) for row in found)

    def steps(self, run: str) -> tuple[StepRow, ...]:
        """Every step of the run in order."""
        with self._tables.read() as execute:
            found = execute(
                self._tables.sql("questions.sql")["steps"], (self._asked(run), 0, _ALL)
            ).fetchall()
        return tuple(rows.step(row) for row in found)

    def definition(self, digest: str) -> Definition | None:
        """The text that runs of this digest started with."""
        found = self._tables.peek(self._sql["definition"], (self._asked(digest),))
        return Definition(*found[0]) if found else None

    def touch(self, run: str, at: datetime) -> None:
        """Note that somebody looks after the run."""
        with self._tables.written() as execute:
            execute(self._sql["touch"], (stamp(at), self._asked(run), stamp(at)))

    def quiet(self, lifecycle: Lifecycle, since: datetime, most: int = 100) -> tuple[str, ...]:
        """Runs with this lifecycle that wait for an agent and that nobody has called or read since then."""
        with self._tables.read() as execute:
            found = execute(self._sql["quiet"], (str(lifecycle), stamp(since), most)).fetchall()
        return tuple(run for (run,) in found)

    def _define(self, execute: Execute, definition: Definition) -> None:
        known = (definition.digest, definition.workflow, definition.version, definition.text)
        execute(self._sql["insert_definition"], known)

    def _create(self, execute: Execute, turn: Turn, at: str, chain: bytes) -> int:
        """The row of a new run, and what it refers to."""
        origin = turn.before.origin
        project = project_id(origin.project)
        if origin.project:
            named = (project, project_name(origin.project), origin.project, at)
            execute(self._sql["insert_project"], named)
            execute(self._sql["activate"], (turn.run.id, project))
        new = (*rows.settled(turn), *rows.moving(turn, at, chain), *rows.fixed(turn))
        key = int(execute(self._sql["insert_run"], new).fetchone()[0])
        if turn.inherits:
            for name in ("inherit_steps", "inherit_artifacts"):
                execute(self._sql[name], (key, turn.inherits))
        return key

    def _save_steps(self, execute: Execute, turn: Turn, at: str, key: int) -> None:
        opened = set(map(number_of, turn.opened))
        for closed in turn.closed:
            took = turn.before.took(closed.number, turn.at)
            output = None if closed.output is None else dumped(closed.output)
            execute(self._sql["close_step"], (str(closed.status), at, took, output, key, closed.number))
        for step in turn.opened:
            token = turn.tokens.get(step.number)
            execute(self._sql["open_step"], (key, step.number, step.state, step.agent, at, token))
        for number in set(map(number_of, turn.run.open)) - opened:
            execute(self._sql["token"], (turn.tokens.get(number), key, number))

    def _save_artifacts(self, execute: Execute, turn: Turn, at: str, key: int) -> None:
        """The artifacts handed in; those of a run that ends well are final, those of another never."""
        run = turn.run
        for artifact in turn.artifacts:
            told = (artifact.id, artifact.step, artifact.agent, artifact.type, artifact.title)
            execute(
                self._sql["insert_artifact"],
                (key, *told, artifact.description or None, at, artifact.content),
            )
        if run.lifecycle not in rows.LIVE:
            execute(self._sql["finalise"], (int(rows.completes(turn)), key))
            execute(self._sql["deactivate"], (run.id,))

    def _enter(self, execute: Execute, key: int | None, lines: Sequence[tuple[Any, ...]]) -> None:
        for line in lines:
            execute(self._sql["insert_event"], (key, *line))

    def _remember(self, execute: Execute, turn: Turn, key: int) -> None:
        spent, revision = turn.spent, turn.before.revision
        execute(self._sql["insert_reply"], (key, revision, spent.token, spent.request, spent.reply))
        if revision >= REMEMBERED:
            execute(self._sql["forget_reply"], (key, revision - REMEMBERED))


class SqlRuns(RunTables):
    """A store of runs in one SQLite file, shared by any number of processes on one machine."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.database = database
