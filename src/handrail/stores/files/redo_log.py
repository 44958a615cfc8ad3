"""The redo log of a run's folder: the records in `.handrail`, and how a turn is committed with them.

Each record is one line of JSON in an envelope with its checksum. The envelope is the same in every format, so
a record from a newer program differs from a damaged one. `write_intent` is the commit point of a turn,
`carry_out_intent` does the rest, also after a crash; doing it again is safe. If a file holds neither the old
nor the new bytes, someone else changed it: its content is kept as a conflict copy first.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum
from itertools import count
from pathlib import PurePosixPath
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from handrail.engine.model import Run
from handrail.runtime.entries import Entry
from handrail.runtime.ports.turn import Workspace
from handrail.runtime.records import MAX_RECORDED_CALLS, ChangedContent, Origin, RecordedCall, Trouble
from handrail.runtime.resolve import hash_content
from handrail.stores.files.snapshot import Snapshot, base_name, parent_folder

RECORD_FORMAT: Final = 1
_SEAL_START, _SEAL_MIDDLE, _SEAL_END = b'{"sum":"', b'","body":', b"}"
_CHECKSUM_CHARACTERS = 64
_BODY_OFFSET = len(_SEAL_START) + _CHECKSUM_CHARACTERS + len(_SEAL_MIDDLE)
Record = TypeVar("Record")
# The folder beside a run's files that holds Handrail's own records.
PRIVATE_FOLDER: Final = ".handrail"
LOCK_FILE: Final = f"{PRIVATE_FOLDER}/lock"
INTENT_FILE: Final = f"{PRIVATE_FOLDER}/intent.json"
HEAD_FILE: Final = f"{PRIVATE_FOLDER}/head.json"
HISTORY_FILE: Final = f"{PRIVATE_FOLDER}/history.jsonl"
TROUBLE_FILE: Final = f"{PRIVATE_FOLDER}/trouble.json"
STAGE_FOLDER: Final = f"{PRIVATE_FOLDER}/stage"
QUARANTINE_FOLDER: Final = f"{PRIVATE_FOLDER}/quarantine"
GITIGNORE_FILE: Final = f"{PRIVATE_FOLDER}/.gitignore"
CONFLICT_PREFIX: Final = f"{PRIVATE_FOLDER}/conflict-"
_TEMPORARY_SUFFIX: Final = ".tmp"


class RecordDamage(Enum):
    """Why bytes could not be read as a record."""

    BAD = "bad"
    NEWER = "newer"


@dataclass(frozen=True, slots=True)
class _FormatHeader:
    """The part of a record that is readable in every format."""

    format: int


def seal_record(record: object) -> bytes:
    """Encode the record on one line, with its checksum."""
    body = msgspec.json.encode(record)
    return b"".join((_SEAL_START, hashlib.sha256(body).hexdigest().encode(), _SEAL_MIDDLE, body, _SEAL_END))


def read_checksum(sealed: bytes) -> str:
    """Return the checksum that a sealed record carries."""
    return sealed[len(_SEAL_START) : len(_SEAL_START) + _CHECKSUM_CHARACTERS].decode("ascii")


def unseal_record(data: bytes, kind: type[Record]) -> Record | RecordDamage:
    """Decode a sealed record, or return why it cannot be read."""
    sealed = data.rstrip(b"\n")
    body = sealed[_BODY_OFFSET:-1]
    expected = (_SEAL_START, hashlib.sha256(body).hexdigest().encode(), _SEAL_MIDDLE, body, _SEAL_END)
    if sealed != b"".join(expected):
        return RecordDamage.BAD
    try:
        if msgspec.json.decode(body, type=_FormatHeader).format > RECORD_FORMAT:
            return RecordDamage.NEWER
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        return RecordDamage.BAD


@dataclass(frozen=True, slots=True)
class Head:
    """The run after its last turn.

    `sha` is the hash of its state file, `chain` the checksum of its history line. `opened` says when each
    open step was opened, by step number. `spent` holds recorded calls by revision.
    """

    revision: int
    sha: str
    run: Run
    origin: Origin
    started: datetime
    updated: datetime
    chain: str
    opened: Mapping[int, datetime] = field(default_factory=dict)
    spent: Mapping[int, RecordedCall] = field(default_factory=dict)
    format: int = RECORD_FORMAT

    def with_recorded_calls(self, old: "Head | RecordDamage | None") -> "Head":
        """Return this head with the recorded calls of `old` added, the newest ones only."""
        known = {**old.spent, **self.spent} if isinstance(old, Head) else self.spent
        return replace(self, spent={number: known[number] for number in sorted(known)[-MAX_RECORDED_CALLS:]})


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A line of the history: a turn, or entries that belong to no turn if `seq` is 0.

    `body` is the state file without its history. That history consists of the first `kept` items of the turn
    before, then the items in `added`. `prev` is the checksum of the previous turn's line. `stray` means that
    the entries are about a run that is not in this folder.
    """

    seq: int
    time: datetime
    entries: tuple[Entry, ...]
    prev: str
    run: Run | None = None
    sha: str = ""
    body: Mapping[str, object] = field(default_factory=dict)
    kept: int = 0
    added: tuple[Mapping[str, object], ...] = ()
    stray: bool = False
    format: int = RECORD_FORMAT


class PlannedFile(Struct, frozen=True):
    """A file to be written whose bytes are staged: its hash before and after, or None for no file."""

    path: str
    before: str | None
    after: str | None
    staged: str


@dataclass(frozen=True, slots=True)
class Intent:
    """A committed turn that may not be applied to all files yet, with all that is needed except staged bytes.

    Its head has the recorded call of this turn only; earlier ones are in the head on disk.
    """

    head: Head
    line: str
    document: str
    before: str | None
    folders: tuple[str, ...] = ()
    finals: tuple[PlannedFile, ...] = ()
    format: int = RECORD_FORMAT


class TroubleSubject(StrEnum):
    """What was damaged. A good state file ends trouble with `STATE`; `INTENT` needs a repair."""

    STATE = "state"
    INTENT = "intent"


@dataclass(frozen=True, slots=True)
class TroubleMark:
    """A problem that is remembered until it is fixed; the damaged file is in quarantine."""

    about: TroubleSubject
    trouble: Trouble
    format: int = RECORD_FORMAT


def replace_file(workspace: Snapshot, path: str, data: bytes) -> None:
    """Replace a file atomically and durably: it has the old bytes or the new ones, never a mix."""
    unfinished = f"{PRIVATE_FOLDER}/{base_name(path)}{_TEMPORARY_SUFFIX}"
    workspace.write(unfinished, data, like=path)
    workspace.rename(unfinished, path)
    workspace.sync(parent_folder(path))


def quarantine_file(workspace: Snapshot, path: str) -> None:
    """Move a file to the quarantine folder, where nothing is overwritten."""
    workspace.mkdir(QUARANTINE_FOLDER)
    workspace.sync(PRIVATE_FOLDER)
    taken, paths = workspace.names(QUARANTINE_FOLDER), iterate_numbered_paths(base_name(path))
    workspace.rename(path, f"{QUARANTINE_FOLDER}/{next(name for name in paths if name not in taken)}")
    workspace.sync(QUARANTINE_FOLDER)
    workspace.sync(parent_folder(path))


def prepare_folder(workspace: Workspace) -> None:
    """Create what the lock needs, if the folder is incomplete; other processes may do the same."""
    if workspace.stamp(STAGE_FOLDER) is None or workspace.stamp(GITIGNORE_FILE) is None:
        workspace.mkdir("")
        workspace.mkdir(PRIVATE_FOLDER)
        workspace.sync("")
        workspace.mkdir(STAGE_FOLDER)


def complete_folder(workspace: Snapshot) -> None:
    """Write the `.gitignore` durably, under the lock. It is the last part of the folder."""
    if workspace.stamp(GITIGNORE_FILE) is None:
        workspace.write(GITIGNORE_FILE, b"*\n")
        workspace.sync(PRIVATE_FOLDER)


def remove_leftovers(workspace: Snapshot) -> None:
    """Remove temporary and staged files of a turn that was never committed."""
    for name in workspace.names(PRIVATE_FOLDER):
        if name.endswith(_TEMPORARY_SUFFIX):
            workspace.unlink(f"{PRIVATE_FOLDER}/{name}")
    for name in workspace.names(STAGE_FOLDER):
        workspace.unlink(f"{STAGE_FOLDER}/{name}")


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """A turn read from the history. `chain` is the checksum of its line."""

    revision: int
    sha: str
    run: Run
    chain: str


def read_lines(data: bytes | None, pending: bytes = b"", word: bytes = b"") -> Iterator[HistoryLine]:
    """Yield the valid lines that contain this word. The `pending` line comes last if the file lacks it."""
    # Decoding all lines, or even splitting them, takes much longer than searching the word.
    if word not in (data or b"") and word not in pending:
        return
    raws = (data or b"").split(b"\n")
    for raw in raws if pending in raws else (*raws, pending):
        if word in raw and isinstance(line := unseal_record(raw, HistoryLine), HistoryLine):
            yield line


def find_last_turn(data: bytes | None) -> HistoryTurn | None:
    """Return the last turn in the history, or None."""
    for raw in reversed((data or b"").split(b"\n")):
        line = unseal_record(raw, HistoryLine)
        if isinstance(line, HistoryLine) and line.run is not None:
            return HistoryTurn(line.seq, line.sha, line.run, read_checksum(raw))
    return None


def append_line(workspace: Snapshot, sealed: bytes) -> None:
    """Append a line. If this creates the file, the caller must sync its folder."""
    workspace.append(HISTORY_FILE, b"\n" + sealed)


def ensure_line(workspace: Snapshot, sealed: bytes) -> None:
    """Append a line unless the history already has it."""
    if sealed not in (workspace.read(HISTORY_FILE) or b"").split(b"\n"):
        append_line(workspace, sealed)
        workspace.sync(parent_folder(HISTORY_FILE))


def collect_turns(data: bytes | None) -> dict[int, tuple[HistoryLine, tuple[Mapping[str, object], ...]]]:
    """Return each turn's line by its number, with the history that its state file had."""
    found: dict[int, tuple[HistoryLine, tuple[Mapping[str, object], ...]]] = {}
    history: tuple[Mapping[str, object], ...] = ()
    for line in read_lines(data):
        if line.seq:
            history = (*history[: line.kept], *line.added)
            found[line.seq] = line, history
    return found


def iterate_numbered_paths(path: str) -> Iterator[str]:
    """Yield the path, then the path with -2, -3 … appended."""
    yield path
    yield from (f"{path}-{number}" for number in count(2))


# Commit a turn.


def find_missing_folders(workspace: Snapshot, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that these paths need and that do not exist, outermost first."""
    wanted = {f"{folder}" for path in paths for folder in PurePosixPath(path).parents} - {"."}
    return tuple(folder for folder in sorted(wanted) if workspace.stamp(folder) is None)


def has_staged_bytes(workspace: Snapshot, planned: Iterable[PlannedFile]) -> bool:
    """True if every file either has its final bytes or finds them staged."""
    return all(
        plan.after is None
        or hash_content(workspace.read(plan.path)) == plan.after
        or hash_content(workspace.read(plan.staged)) == plan.after
        for plan in planned
    )


def apply_files(
    workspace: Snapshot, planned: Sequence[PlannedFile], folders: Sequence[str], copies: str
) -> None:
    """Give every file its final value. Bytes that someone else wrote are kept as `copies…` first.

    `folders` were missing when the turn was planned: they are created and synced in any case.
    """
    written = [plan.path for plan in planned if plan.after is not None]
    made = tuple(dict.fromkeys((*folders, *find_missing_folders(workspace, written))))
    for folder in made:
        workspace.mkdir(folder)
    for folder in sorted({parent_folder(folder) for folder in made}):
        workspace.sync(folder)
    for plan in planned:
        found = workspace.reread(plan.path)
        if hash_content(found) == plan.after:
            continue
        keep_conflict_copy(workspace, plan.path, found, plan.before, copies)
        if plan.after is None:
            workspace.unlink(plan.path)
        else:
            workspace.rename(plan.staged, plan.path)
    for folder in sorted({parent_folder(plan.path) for plan in planned}):
        if not folder or workspace.stamp(folder) is not None:
            workspace.sync(folder)


def keep_conflict_copy(
    workspace: Snapshot, path: str, found: bytes | None, before: str | None, copies: str
) -> None:
    """Copy what is at a path that is about to change, unless it is what the turn saw before."""
    if found is not None and hash_content(found) != before:
        write_numbered_copy(workspace, f"{copies}{base_name(path)}", found)


def write_numbered_copy(workspace: Snapshot, path: str, data: bytes) -> None:
    """Write these bytes under this name or the first free numbered one."""
    free = next(name for name in iterate_numbered_paths(path) if workspace.read(name) in {None, data})
    if workspace.read(free) is None:
        workspace.write(free, data)
    workspace.sync(parent_folder(free))


def write_intent(workspace: Snapshot, intent: Intent, finals: Sequence[ChangedContent]) -> Intent:
    """Stage the bytes of the files that a turn writes, and write its intent: now the turn is committed."""
    written = (final.path for final in finals if final.after is not None)
    folders = find_missing_folders(workspace, written)
    planned = []
    for number, final in enumerate(finals):
        staged = "" if final.after is None else f"{STAGE_FOLDER}/{intent.head.revision}-{number}"
        if final.after is not None:
            workspace.write(staged, final.after, like=final.path)
        planned.append(PlannedFile(final.path, final.before, hash_content(final.after), staged))
    if any(plan.staged for plan in planned):
        workspace.sync(STAGE_FOLDER)
    intent = replace(intent, folders=folders, finals=tuple(planned))
    replace_file(workspace, INTENT_FILE, seal_record(intent))
    return intent


def carry_out_intent(
    workspace: Snapshot,
    state: str,
    intent: Intent,
    old: Head | RecordDamage | None,
    *,
    again: bool,
) -> None:
    """Apply a committed turn. `state` names the state file, `old` is the head on disk.

    Set `again` if some of it may be done already.
    """
    copies = f"{CONFLICT_PREFIX}{intent.head.revision}-"
    apply_files(workspace, intent.finals, intent.folders, copies)
    document, found = intent.document.encode(), workspace.reread(state)
    if found == document:
        workspace.sync("")
    else:
        keep_conflict_copy(workspace, state, found, intent.before, copies)
        replace_file(workspace, state, document)
    (ensure_line if again else append_line)(workspace, intent.line.encode())
    replace_file(workspace, HEAD_FILE, seal_record(intent.head.with_recorded_calls(old)))
    clear_intent(workspace)


def clear_intent(workspace: Snapshot) -> None:
    """Remove an intent that is carried out, and the trouble mark that it resolves, if any."""
    if base_name(TROUBLE_FILE) in workspace.names(PRIVATE_FOLDER):
        clear_trouble(workspace)
    workspace.unlink(INTENT_FILE)
    workspace.sync(PRIVATE_FOLDER)
    remove_leftovers(workspace)


def clear_trouble(workspace: Snapshot) -> None:
    """Remove the trouble mark."""
    workspace.unlink(TROUBLE_FILE)
    workspace.sync(PRIVATE_FOLDER)
