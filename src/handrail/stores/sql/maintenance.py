"""Check, prune, archive, export and vacuum a SQL store; `SqlMaintenance` is the place to start.

Pruning writes the old runs to a compressed archive, reads it back, and only then deletes them.
"""

import errno
import gzip
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from handrail.engine.facts import Value
from handrail.engine.model import Authority, Lifecycle, Run
from handrail.runtime.errors import DiskFull, NotWritable, SyncFailed, Unreadable
from handrail.runtime.ports.open_store import Counts, Damage, ProgressTextCallback, PruneResult
from handrail.runtime.records import MAX_RECORDED_CALLS, format_rfc3339
from handrail.runtime.system import SystemClock
from handrail.stores.sql.rows import LIVE_LIFECYCLES, decode_run, extend_chain, format_time
from handrail.stores.sql.schema import Execute, SqlDatabase
from handrail.stores.sql.summaries import SqlMeasures

# Damage codes, each with what was found.
DamageFindings: TypeAlias = Iterator[tuple[str, str]]
# The version of the archive format; raised when a key is removed or changes its meaning.
ARCHIVE_SCHEMA: Final = 1
REPORT_EVERY_RUNS: Final = 100
_JSON_COLUMNS: Final = frozenset({"metadata", "record", "output", "data"})
_TIME_COLUMNS: Final = frozenset({"started", "updated", "active", "ended", "opened", "closed", "at"})
_FLAG_COLUMNS: Final = frozenset({"waiting", "final"})
_DISK_FULL_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# How many runs are deleted in one transaction. Other writers wait no longer than for these.
DELETE_BATCH_RUNS: Final = 50


class CheckedRun(Struct, frozen=True):
    """A run: the columns of its row, and its decoded record, or None if that is damaged."""

    key: int
    id: str
    workflow: str
    digest: str
    lifecycle: str
    state: str | None
    waiting: int
    revision: int
    record: Run | None
    chain: bytes
    authority: str
    defined: int


def find_run_damage(execute: Execute, sql: Mapping[str, str], row: Sequence[Any]) -> Iterator[Damage]:
    """Yield everything that is wrong with the run in this row of `kept`."""
    record = None
    with suppress(ValueError):
        record = decode_run(row[8] or b"")
    run = CheckedRun(*(*row[:8], record, *row[9:]))
    for check in (_check_record, _check_journal, _check_rest):
        for code, message in check(execute, sql, run):
            yield Damage(code, run.id, message)


def _check_record(execute: Execute, sql: Mapping[str, str], run: CheckedRun) -> DamageFindings:
    """Compare the record with the columns, and its open steps with the steps stored as running."""
    record = run.record
    if record is None:
        yield "record", "its record is no run"
        return
    columns = {
        "execution_id": (run.id, record.id),
        "workflow_name": (run.workflow, record.workflow),
        "digest": (run.digest, record.digest),
        "state": (run.lifecycle, str(record.lifecycle)),
        "current_step": (run.state, record.open[0].state if record.open else None),
        "waiting": (run.waiting, int(any(step.held for step in record.open))),
    }
    for column, (stored, expected) in columns.items():
        if stored != expected:
            yield "columns", f"{column} is {stored!r}, the record says {expected!r}"
    if record.lifecycle not in {Lifecycle.ABANDONED, Lifecycle.DIVERGED}:
        running = [number for (number,) in execute(sql["running"], (run.key,))]
        opened = sorted(step.number for step in record.open)
        if running != opened:
            yield "steps", f"steps {running} are running, the record has {opened} open"


def _check_journal(execute: Execute, sql: Mapping[str, str], run: CheckedRun) -> DamageFindings:
    """Check that the journal lacks no turn and leads to the hash that the run has."""
    lines = [
        (*head, bytes(metadata).decode("utf-8", "replace"), at)
        for *head, metadata, at in execute(sql["chained"], (run.key,))
    ]
    chain, expected = b"", 1
    for revision, turn in groupby(lines, itemgetter(1)):
        if revision != expected:
            yield "gap", f"entries of turn {revision} stand where those of turn {expected} should"
            expected = revision
        chain = extend_chain(chain, list(turn))
        expected += 1
    if expected - 1 != run.revision:
        yield "revision", f"it is at revision {run.revision}, its journal ends with turn {expected - 1}"
    if chain != run.chain:
        yield "chain", "its entries do not give the hash that its turns left"


def _check_rest(execute: Execute, sql: Mapping[str, str], run: CheckedRun) -> DamageFindings:
    """Check the run's definition, recorded replies and artifact numbers."""
    live = run.lifecycle in set(LIVE_LIFECYCLES)
    if live and run.authority == Authority.SQL and not run.defined:
        yield "definition", f"the text of `{run.workflow}` with digest {run.digest[:12]} is not there"
    (replies,) = execute(sql["replies"], (run.key,)).fetchone()
    if replies > MAX_RECORDED_CALLS:
        yield "replies", f"{replies} replies are kept, {MAX_RECORDED_CALLS} at most should be"
    count, highest = execute(sql["numbered"], (run.key,)).fetchone()
    if count != highest:
        yield "artifacts", f"{count} artifacts are there, the last has number {highest}"


@dataclass(frozen=True, slots=True)
class ArchiveRequest:
    """What to archive: these runs of a database, at this time. `tell` receives the progress."""

    database: SqlDatabase
    keys: Sequence[int]
    at: datetime
    tell: ProgressTextCallback


@dataclass(slots=True)
class WrittenArchive:
    """What an archive holds: counts, the last event of each run by its key, and the digests seen."""

    path: Path
    counts: Counts = field(default_factory=Counts)
    last: dict[int, int] = field(default_factory=dict)
    digests: list[str] = field(default_factory=list)
    seal: str = ""


def export_run(execute: Execute, sql: Mapping[str, str], key: int) -> dict[str, Any] | None:
    """Return everything about a run except its tokens and replies; None if it is gone."""
    found = _read_objects(execute, sql["run"], key)
    parts = {part: _read_objects(execute, sql[part], key) for part in ("steps", "artifacts", "events")}
    return {"run": found[0], **parts} if found else None


def export_definition(execute: Execute, sql: Mapping[str, str], digest: str) -> dict[str, Any] | None:
    """Return the workflow text with this digest, or None."""
    return next(iter(_read_objects(execute, sql["definition"], digest)), None)


def write_archive(request: ArchiveRequest, wanted: Path) -> WrittenArchive:
    """Write a new archive of these runs durably. An existing file of that name is kept."""
    with _explain_disk_errors(wanted):
        wanted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, path = _create_file(wanted)
        archive, seal = WrittenArchive(path), hashlib.sha256()
        try:
            with os.fdopen(descriptor, "wb") as file:
                with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as zipped:
                    for line in _archive_lines(request, archive):
                        data = msgspec.json.encode(line) + b"\n"
                        seal.update(data)
                        zipped.write(data)
                file.flush()
                _sync_file(file.fileno(), path)
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _sync_file(folder, path.parent)
            finally:
                os.close(folder)
        except BaseException:
            path.unlink()
            raise
    archive.seal = seal.hexdigest()
    return archive


def verify_archive(archived: WrittenArchive) -> None:
    """Read the archive back. Raises `Unreadable` if it does not hold what was written."""
    seal, counts, ended = hashlib.sha256(), Counts(), None
    cause: Exception | None = None
    try:
        with gzip.open(archived.path, "rb") as lines:
            for line in lines:
                seal.update(line)
                read = msgspec.json.decode(line, type=dict[str, Any])
                counts = _add_counts(counts, read) if "run" in read else counts
                ended = read.get("end", ended)
    except (OSError, EOFError, ValueError) as error:
        cause = error
    expected = (archived.seal, archived.counts, asdict(archived.counts))
    if cause or (seal.hexdigest(), counts, ended) != expected:
        raise Unreadable(
            f"{archived.path} does not hold what was written to it",
            "nothing was deleted: see that the disk is sound and nobody else writes there, then prune again",
        ) from cause


def _archive_lines(request: ArchiveRequest, archive: WrittenArchive) -> Iterator[Mapping[str, Value]]:
    total, sql = len(request.keys), request.database.sql("keeper.sql")
    yield {"handrail": "archive", "schema": ARCHIVE_SCHEMA, "made": format_rfc3339(request.at), "runs": total}
    for number, key in enumerate(request.keys, start=1):
        with request.database.snapshot() as execute:
            line = export_run(execute, sql, key)
            digest = line["run"]["digest"] if line else ""
            new = line is not None and digest not in archive.digests
            definition = export_definition(execute, sql, digest) if new else None
        if new:
            archive.digests.append(digest)
        if definition:
            yield {"definition": definition}
        if line:
            archive.last[key] = max((event["number"] for event in line["events"]), default=0)
            archive.counts = _add_counts(archive.counts, line)
            yield line
        if number % REPORT_EVERY_RUNS == 0 or number == total:
            request.tell(f"{number} of {total} runs archived")
    yield {"end": asdict(archive.counts)}


def _add_counts(counts: Counts, line: Mapping[str, Any]) -> Counts:
    return Counts(
        counts.runs + 1,
        counts.steps + len(line["steps"]),
        counts.artifacts + len(line["artifacts"]),
        counts.events + len(line["events"]),
    )


def _read_objects(execute: Execute, statement: str, given: Value) -> list[dict[str, Any]]:
    """Return the rows of a statement as JSON objects with the column names as keys."""
    cursor = execute(statement, (given,))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, map(_export_value, names, row), strict=True)) for row in cursor]


def _export_value(name: str, value: Value) -> Value:
    if value is None:
        return None
    if name in _TIME_COLUMNS:
        return f"{str(value).replace(' ', 'T')}Z"
    if name in _FLAG_COLUMNS:
        return bool(value)
    if name not in _JSON_COLUMNS:
        return value
    try:
        return msgspec.json.decode(str(value))
    except ValueError:  # damaged
        return str(value)


def _create_file(wanted: Path) -> tuple[int, Path]:
    """Create a file of this name, or of the name with the first free number."""
    number, path = 1, wanted
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), path
        except FileExistsError:
            number += 1
            stem, dot, rest = wanted.name.partition(".")
            path = wanted.with_name(f"{stem}-{number}{dot}{rest}")


def _sync_file(descriptor: int, path: Path) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise SyncFailed(f"the disk did not confirm {path}", "check the disk, then start again") from error


@contextmanager
def _explain_disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_FULL_ERRNOS:
            message, repair = f"there is no room for {path}", "free some space, or name another --archive"
            raise DiskFull(f"{message}; nothing was deleted", repair) from error
        repair = f"make {path.parent} a folder that you may write, or name another --archive"
        raise NotWritable(f"{path} cannot be written: {error.strerror}", repair) from error


class SqlMaintenance:
    """`StoreMaintenance` for the tables of a database."""

    def __init__(self, database: SqlDatabase, batch: int = DELETE_BATCH_RUNS) -> None:
        self.database = database
        self._batch = batch
        self._sql = database.sql("keeper.sql")

    def check(self) -> Iterator[Damage]:
        """Yield all damage that can be found: in the file, between its tables, and in each run."""
        yield from (Damage(code, "", message) for code, message in self.database.find_damage())
        last, more = 0, True
        try:
            while more:
                with self.database.snapshot() as execute:  # a page of runs in each
                    rows = execute(self._sql["kept"], (last,)).fetchall()
                    found = [damage for row in rows for damage in find_run_damage(execute, self._sql, row)]
                yield from found
                more = bool(rows)
                last = rows[-1][0] if rows else last
        except Unreadable as fault:
            yield Damage("unreadable", "", fault.message)

    def size(self) -> int:
        """Return how many bytes the database takes."""
        return self.database.size()

    def vacuum(self) -> tuple[int, int]:
        """Give unused space back. Return the size before and after."""
        before = self.size()
        self.database.vacuum()
        return before, self.size()

    def count_old_runs(self, before: datetime) -> int:
        """Return how many runs `prune` would archive."""
        return len(self._old_keys(before))

    def prune(self, before: datetime, archive: Path, tell: ProgressTextCallback) -> PruneResult:
        """Move old runs into an archive, which is read back; runs that were called since then are kept.

        The newest run and the run of the newest event stay, so that no number is used twice.
        """
        order = ArchiveRequest(self.database, self._old_keys(before), SystemClock().now(), tell)
        made = write_archive(order, archive)
        tell(f"reading {made.path} back")
        verify_archive(made)
        SqlMeasures(self.database).fold()
        keys, kept = list(made.last), 0
        for start in range(0, len(keys), self._batch):
            batch = keys[start : start + self._batch]
            with self.database.transaction() as execute:
                for key in batch:
                    execute(self._sql["lock_run"], (key,)).fetchall()
                    (now,) = execute(self._sql["last_event"], (key,)).fetchone()
                    if now in {None, made.last[key]}:
                        delete_run(execute, self._sql, key)
                    else:
                        kept += 1
            tell(f"{start + len(batch)} of {len(keys)} runs deleted")
        with self.database.transaction() as execute:
            for digest in made.digests:
                execute(self._sql["delete_definition"], (digest,))
        return PruneResult(made.path, made.counts, kept)

    def export(self, run: str) -> Mapping[str, Value] | None:
        """Return everything about one run except its tokens and replies, or None."""
        with self.database.snapshot() as execute:
            (key,) = execute(self._sql["key"], (run,)).fetchone() or (0,)
            exported = export_run(execute, self._sql, key)
            if exported is None:
                return None
            definition = export_definition(execute, self._sql, exported["run"]["digest"])
            return {**exported, "definition": definition}

    def _old_keys(self, before: datetime) -> list[int]:
        with self.database.read() as execute:
            return [key for (key,) in execute(self._sql["old"], (format_time(before),))]


def delete_run(execute: Execute, sql: Mapping[str, str], key: int) -> None:
    """Delete a run and all that belongs to it. `sql` is keeper.sql."""
    for part in ("replies", "steps", "artifacts", "events", "run"):
        execute(sql[f"delete_{part}"], (key,))
