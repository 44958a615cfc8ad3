"""An archive of runs: JSON lines in gzip. A head, a definition before the first run of it, runs, and an end.

An archive without its end is one that was not finished; no run of it was deleted.
"""

import errno
import gzip
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

import msgspec
from msgspec.structs import asdict

from handrail.engine.facts import Value
from handrail.shell.faults import DiskFull, NotWritable, SyncFailed, Unreadable
from handrail.shell.keeping import Counts, Tell
from handrail.shell.records import rfc3339
from handrail.stores.sql.tables import Execute, Tables

SCHEMA: Final = 1
"""The number of the shape; raised when a key goes away or changes its meaning."""

TELL_AFTER: Final = 100
"""After how many runs somebody hears of it."""

_JSON: Final = frozenset({"metadata", "record", "output", "data"})
_TIMES: Final = frozenset({"started", "updated", "active", "ended", "opened", "closed", "at"})
_FLAGS: Final = frozenset({"waiting", "final"})
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be archived: these runs of a database, at this time; `tell` hears how far it has come."""

    database: Tables
    keys: Sequence[int]
    at: datetime
    tell: Tell


@dataclass(slots=True)
class Archived:
    """What an archive holds: how much, the last event of each run by its key, and the digests seen."""

    path: Path
    counts: Counts = field(default_factory=Counts)
    last: dict[int, int] = field(default_factory=dict)
    digests: list[str] = field(default_factory=list)
    seal: str = ""


def whole(execute: Execute, sql: Mapping[str, str], key: int) -> dict[str, Any] | None:
    """Everything about a run but its tokens and replies, by the keeper's statements; None if it is gone."""
    found = _objects(execute, sql["run"], key)
    parts = {part: _objects(execute, sql[part], key) for part in ("steps", "artifacts", "events")}
    return {"run": found[0], **parts} if found else None


def definition(execute: Execute, sql: Mapping[str, str], digest: str) -> dict[str, Any] | None:
    """The text of the workflow with this digest."""
    found = _objects(execute, sql["definition"], digest)
    return found[0] if found else None


def write(order: Order, wanted: Path) -> Archived:
    """A new archive of these runs that the disk has confirmed. An old one of the name is let be."""
    confirmed = False
    with _disk(wanted):
        wanted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, path = _created(wanted)
        made = Archived(path)
        try:
            with os.fdopen(descriptor, "wb") as file:
                _fill(order, made, file)
                file.flush()
                _sync(file.fileno(), path)
            _sync_folder(path)
            confirmed = True
        finally:
            if not confirmed:
                path.unlink()
    return made


def verify(archived: Archived) -> None:
    """Read the archive back. Raises `Unreadable` if it does not hold what was written."""
    seal, counts, ended = hashlib.sha256(), Counts(), None
    try:
        with gzip.open(archived.path, "rb") as lines:
            for line in lines:
                seal.update(line)
                read = msgspec.json.decode(line, type=dict[str, Any])
                counts = _added(counts, read) if "run" in read else counts
                ended = read.get("end", ended)
    except (OSError, EOFError, ValueError) as error:
        raise _unlike(archived.path) from error
    if (seal.hexdigest(), counts, ended) != (archived.seal, archived.counts, asdict(archived.counts)):
        raise _unlike(archived.path)


def _unlike(path: Path) -> Unreadable:
    repair = "nothing was deleted: see that the disk is sound and nobody else writes there, then prune again"
    return Unreadable(f"{path} does not hold what was written to it", repair)


def _fill(order: Order, made: Archived, file: IO[bytes]) -> None:
    seal = hashlib.sha256()
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as zipped:
        for line in _lines(order, made):
            data = msgspec.json.encode(line) + b"\n"
            seal.update(data)
            zipped.write(data)
    made.seal = seal.hexdigest()


def _lines(order: Order, made: Archived) -> Iterator[Mapping[str, Value]]:
    total, sql = len(order.keys), order.database.sql("keeper.sql")
    yield {"handrail": "archive", "schema": SCHEMA, "made": rfc3339(order.at), "runs": total}
    for number, key in enumerate(order.keys, start=1):
        with order.database.seen() as execute:
            line = whole(execute, sql, key)
            digest = line["run"]["digest"] if line else ""
            new = line is not None and digest not in made.digests
            kept = definition(execute, sql, digest) if new else None
        if new:
            made.digests.append(digest)
        if kept:
            yield {"definition": kept}
        if line:
            made.last[key] = max((event["number"] for event in line["events"]), default=0)
            made.counts = _added(made.counts, line)
            yield line
        if number % TELL_AFTER == 0 or number == total:
            order.tell(f"{number} of {total} runs archived")
    yield {"end": asdict(made.counts)}


def _added(counts: Counts, line: Mapping[str, Any]) -> Counts:
    return Counts(
        counts.runs + 1,
        counts.steps + len(line["steps"]),
        counts.artifacts + len(line["artifacts"]),
        counts.events + len(line["events"]),
    )


def _objects(execute: Execute, statement: str, given: Value) -> list[dict[str, Any]]:
    """The rows of a statement by the names of its columns, as JSON tells them."""
    cursor = execute(statement, (given,))
    names = [column[0] for column in cursor.description or ()]
    return [{name: _told(name, value) for name, value in zip(names, row, strict=True)} for row in cursor]


def _told(name: str, value: Value) -> Value:
    if value is None:
        return None
    if name in _TIMES:
        return f"{str(value).replace(' ', 'T')}Z"
    if name in _FLAGS:
        return bool(value)
    return _decoded(str(value)) if name in _JSON else value


def _decoded(text: str) -> Value:
    """The value of a JSON text; damaged, the text as it stands."""
    try:
        return msgspec.json.decode(text)
    except ValueError:
        return text


def _created(wanted: Path) -> tuple[int, Path]:
    """A new file of the name, or with the first free number behind it."""
    number, path = 1, wanted
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), path
        except FileExistsError:
            number += 1
            stem, dot, rest = wanted.name.partition(".")
            path = wanted.with_name(f"{stem}-{number}{dot}{rest}")


def _sync(descriptor: int, path: Path) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise SyncFailed(f"the disk did not confirm {path}", "check the disk, then start again") from error


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _sync(folder, path.parent)
    finally:
        os.close(folder)


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    """Give what the disk says its name and its repair."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            message, repair = f"there is no room for {path}", "free some space, or name another --archive"
            raise DiskFull(f"{message}; nothing was deleted", repair) from error
        repair = f"make {path.parent} a folder that you may write, or name another --archive"
        raise NotWritable(f"{path} cannot be written: {error.strerror}", repair) from error
