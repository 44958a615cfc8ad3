"""Recover a folder after a crash, an edit or damage.

`read_folder` reads the files, `RECOVERY_TABLE` says what each combination means, `plan_recovery` follows the
table without writing anything, and `perform_recovery` carries out the plan.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from handrail.documents.state_file import StateFileContent
from handrail.documents.strict_json import JsonFlaw
from handrail.engine.refusals import TroubleCode
from handrail.runtime.errors import Busy, NewerFormat, UnsafePath
from handrail.runtime.ports.turn import StateFileFormat
from handrail.runtime.records import Trouble
from handrail.runtime.resolve import hash_content
from handrail.stores.files import redo_log
from handrail.stores.files.snapshot import Snapshot

# How often the folder is read before `Busy`, if other processes keep changing it.
_MAX_READS = 100
UNREADABLE_TROUBLE_MARK = redo_log.TroubleMark(
    redo_log.TroubleSubject.INTENT,
    Trouble(
        TroubleCode.DIVERGED,
        f"`{redo_log.TROUBLE_FILE}`, which says what was wrong here, is damaged itself",
        "look at the files, then run `handrail repair --adopt STATE` with the state they are in",
    ),
)
# Each turn changes at least one of these files.
TURN_FILES_ON_DISK: Final = (redo_log.INTENT_FILE, redo_log.HEAD_FILE, redo_log.TROUBLE_FILE)
_NEWER_TROUBLE = Trouble(
    TroubleCode.NEWER,
    "a newer Handrail has been at work in this folder",
    "update Handrail here; until then the run can be read, and nothing is changed",
)
# True before and after the move: a call that only reads moves nothing.
_QUARANTINE_NOTE = (
    f"nothing is lost: the first call that acts moves it to `{redo_log.QUARANTINE_FOLDER}`"
    " and touches nothing else"
)
# The code and message of each row that needs a person, by row id.
_TROUBLE_TEXTS = {
    "bad_intent": (TroubleCode.DIVERGED, f"the intent of an unfinished turn was damaged; {_QUARANTINE_NOTE}"),
    "stale_intent": (
        TroubleCode.DIVERGED,
        (
            "an unfinished turn does not follow the last one: "
            f"files were put back from elsewhere; {_QUARANTINE_NOTE}"
        ),
    ),
    "stage_gone": (
        TroubleCode.DIVERGED,
        (
            "a turn is unfinished, and for a file that it writes "
            f"the bytes staged in `{redo_log.STAGE_FOLDER}` are gone: "
            "they were removed, or the file was edited since; nothing was overwritten"
        ),
    ),
    "malformed": (TroubleCode.DAMAGED, f"`{{name}}` was damaged ({{why}}); {_QUARANTINE_NOTE}"),
    "unknown": (TroubleCode.DIVERGED, f"`{{name}}` {{why}}; {_QUARANTINE_NOTE}"),
    "orphaned": (TroubleCode.ORPHANED, "`{name}` is gone, but files or a history of a run are there"),
}


class IntentStatus(StrEnum):
    """How the intent relates to the head: the next turn, the same turn, or another one."""

    ABSENT = "absent"
    NEXT = "next"
    SAME = "same"
    OTHER = "other"
    BAD = "bad"
    NEWER = "newer"


class HeadStatus(StrEnum):
    """Whether the head exists and can be read."""

    ABSENT = "absent"
    VALID = "valid"
    BAD = "bad"
    NEWER = "newer"


class StateFileStatus(StrEnum):
    """What the state file is: unchanged since the last turn, changed but valid, or unusable."""

    ABSENT = "absent"
    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"
    MALFORMED = "malformed"
    UNSAFE = "unsafe"


class TroubleMarkStatus(StrEnum):
    """Whether an earlier problem is recorded, and what it is about."""

    NONE = "none"
    STATE = "state"
    INTENT = "intent"


@dataclass(frozen=True, slots=True)
class Findings:
    """What is in a folder. `traces`: a run was here. `staged`: no staged byte is missing."""

    intent: IntentStatus
    head: HeadStatus
    state: StateFileStatus
    mark: TroubleMarkStatus = TroubleMarkStatus.NONE
    traces: bool = True
    staged: bool = True


class RecoveryAction(StrEnum):
    """What a row does. The last four end the recovery; after the others the table is read again."""

    SET_HEAD_ASIDE = "set_head_aside"
    SET_INTENT_ASIDE = "set_intent_aside"
    SET_STATE_ASIDE = "set_state_aside"
    REDO = "redo"
    FINISH = "finish"
    FORGET = "forget"
    SWEEP = "sweep"
    TELL = "tell"
    STOP = "stop"
    REFUSE = "refuse"


# The actions that end a recovery. `SWEEP` removes leftovers and continues. `TELL` does the same and reports
# what is missing. `STOP` allows no turn before a repair. `REFUSE` allows no write at all.
FINAL_ACTIONS: Final = frozenset(
    {RecoveryAction.SWEEP, RecoveryAction.TELL, RecoveryAction.STOP, RecoveryAction.REFUSE}
)


@dataclass(frozen=True, slots=True)
class RecoveryRow:
    """One row: the findings it applies to (an empty column means any), and the action."""

    id: str
    action: RecoveryAction
    intent: Collection[IntentStatus] = ()
    head: Collection[HeadStatus] = ()
    state: Collection[StateFileStatus] = ()
    mark: Collection[TroubleMarkStatus] = ()
    traces: bool | None = None
    staged: bool | None = None

    def fits(self, found: Findings) -> bool:
        """True if the row applies to these findings."""
        return (
            (not self.intent or found.intent in self.intent)
            and (not self.head or found.head in self.head)
            and (not self.state or found.state in self.state)
            and (not self.mark or found.mark in self.mark)
            and self.traces in {None, found.traces}
            and self.staged in {None, found.staged}
        )


_INTENT_NEXT = (IntentStatus.NEXT,)
_STATE_GOOD = (StateFileStatus.SAME, StateFileStatus.OTHER)
_STATE_GONE = (StateFileStatus.ABSENT, StateFileStatus.MALFORMED, StateFileStatus.UNKNOWN)
_HEAD_VALID, _HEAD_ABSENT = (HeadStatus.VALID,), (HeadStatus.ABSENT,)
# The first row that fits applies.
RECOVERY_TABLE: Final = (
    # A newer program was here.
    RecoveryRow("newer_intent", RecoveryAction.REFUSE, intent=(IntentStatus.NEWER,)),
    RecoveryRow("newer_head", RecoveryAction.REFUSE, head=(HeadStatus.NEWER,)),
    RecoveryRow("bad_head", RecoveryAction.SET_HEAD_ASIDE, head=(HeadStatus.BAD,)),
    RecoveryRow("bad_intent", RecoveryAction.SET_INTENT_ASIDE, intent=(IntentStatus.BAD,)),
    # The files were put back under an unfinished turn.
    RecoveryRow("stale_intent", RecoveryAction.SET_INTENT_ASIDE, intent=(IntentStatus.OTHER,)),
    # A crash before the intent was removed.
    RecoveryRow("finish", RecoveryAction.FINISH, intent=(IntentStatus.SAME,)),
    # The state file is not a plain file.
    RecoveryRow("unsafe", RecoveryAction.STOP, state=(StateFileStatus.UNSAFE,)),
    RecoveryRow("stage_gone", RecoveryAction.STOP, intent=_INTENT_NEXT, staged=False),
    # A crash while a turn was carried out; in the first row perhaps also damage.
    RecoveryRow("redo_state", RecoveryAction.REDO, intent=_INTENT_NEXT, state=_STATE_GONE),
    RecoveryRow("redo", RecoveryAction.REDO, intent=_INTENT_NEXT),
    # An earlier problem has not been fixed.
    RecoveryRow(TroubleCode.DIVERGED, RecoveryAction.STOP, mark=(TroubleMarkStatus.INTENT,)),
    RecoveryRow("malformed", RecoveryAction.SET_STATE_ASIDE, state=(StateFileStatus.MALFORMED,)),
    RecoveryRow("unknown", RecoveryAction.SET_STATE_ASIDE, state=(StateFileStatus.UNKNOWN,)),
    # A good state file is back.
    RecoveryRow("mended", RecoveryAction.FORGET, state=_STATE_GOOD, mark=(TroubleMarkStatus.STATE,)),
    # The state file is in quarantine.
    RecoveryRow(TroubleCode.DAMAGED, RecoveryAction.STOP, mark=(TroubleMarkStatus.STATE,)),
    RecoveryRow("clean", RecoveryAction.SWEEP, head=_HEAD_VALID, state=(StateFileStatus.SAME,)),
    # The head is gone, but the history is not.
    RecoveryRow("rebuilt", RecoveryAction.SWEEP, state=(StateFileStatus.SAME,)),
    # A person has changed the state file, or brought it.
    RecoveryRow("edited", RecoveryAction.SWEEP, head=_HEAD_VALID, state=(StateFileStatus.OTHER,)),
    RecoveryRow("found", RecoveryAction.SWEEP, head=_HEAD_ABSENT, state=(StateFileStatus.OTHER,)),
    # The state file is gone, the rest is not.
    RecoveryRow("orphaned", RecoveryAction.TELL, traces=True),
    RecoveryRow("new", RecoveryAction.SWEEP, traces=False),
)


def find_recovery_row(found: Findings) -> RecoveryRow:
    """Return the row for these findings. The table always has one."""
    return next(candidate for candidate in RECOVERY_TABLE if candidate.fits(found))


@dataclass(frozen=True, slots=True)
class FolderSnapshot:
    """The contents of a folder. `last` is the last turn in the history, read only without a valid head.

    `content` is the parsed state file, `others` says whether other files show that a run was here.
    """

    head: redo_log.Head | redo_log.RecordDamage | None
    intent: redo_log.Intent | redo_log.RecordDamage | None
    data: bytes | None
    content: StateFileContent | JsonFlaw | UnsafePath | None
    mark: redo_log.TroubleMark | None
    last: redo_log.HistoryTurn | None
    others: bool
    staged: bool

    @property
    def base(self) -> redo_log.Head | redo_log.HistoryTurn | None:
        """Return what is known of the last turn: the head, or the last turn in the history."""
        return self.head if isinstance(self.head, redo_log.Head) else self.last


def read_folder(workspace: Snapshot, shape: StateFileFormat, signs: Collection[str] | None) -> FolderSnapshot:
    """Read the folder as of one moment, without the lock and without writing. `signs`: see `FileRuns`.

    Another process may take a turn meanwhile. Each turn changes one of `TURN_FILES_ON_DISK`, so these are
    read again at the end. Raises `Busy` if they change every time.
    """
    for _ in range(_MAX_READS):
        snapshot = read_locked_folder(workspace, shape, signs)
        if [*map(workspace.read, TURN_FILES_ON_DISK)] == [*map(workspace.reread, TURN_FILES_ON_DISK)]:
            return snapshot
        workspace.forget()
    raise Busy("the run moved all the time while it was read", "send the same call again")


def read_locked_folder(
    workspace: Snapshot, shape: StateFileFormat, signs: Collection[str] | None
) -> FolderSnapshot:
    """Read the folder. The caller holds the lock."""
    raw_intent, raw_head, raw_mark = map(workspace.read, TURN_FILES_ON_DISK)
    intent = None if raw_intent is None else redo_log.unseal_record(raw_intent, redo_log.Intent)
    head = None if raw_head is None else redo_log.unseal_record(raw_head, redo_log.Head)
    mark = None if raw_mark is None else redo_log.unseal_record(raw_mark, redo_log.TroubleMark)
    data: bytes | None = None
    content: StateFileContent | JsonFlaw | UnsafePath | None = None
    try:
        data = workspace.read(shape.name)
        content = None if data is None else shape.read(data)
    except UnsafePath as unsafe:
        content = unsafe
    names = set(workspace.names("")) - {redo_log.PRIVATE_FOLDER, shape.name}
    return FolderSnapshot(
        head,
        intent,
        data,
        content,
        UNREADABLE_TROUBLE_MARK if isinstance(mark, redo_log.RecordDamage) else mark,
        None
        if isinstance(head, redo_log.Head)
        else redo_log.find_last_turn(workspace.read(redo_log.HISTORY_FILE)),
        bool(names if signs is None else names & set(signs)),
        not isinstance(intent, redo_log.Intent) or redo_log.has_staged_bytes(workspace, intent.finals),
    )


def classify_snapshot(snapshot: FolderSnapshot, states: Collection[str]) -> Findings:
    """Describe a snapshot in the terms of the recovery table."""
    head = HeadStatus.ABSENT if snapshot.head is None else HeadStatus.VALID
    return Findings(
        _classify_intent(snapshot),
        HeadStatus(snapshot.head.value) if isinstance(snapshot.head, redo_log.RecordDamage) else head,
        _classify_state(snapshot, states),
        TroubleMarkStatus.NONE if snapshot.mark is None else TroubleMarkStatus(snapshot.mark.about),
        snapshot.others or snapshot.base is not None,
        snapshot.staged,
    )


def _classify_intent(snapshot: FolderSnapshot) -> IntentStatus:
    if snapshot.intent is None:
        return IntentStatus.ABSENT
    if isinstance(snapshot.intent, redo_log.RecordDamage):
        return IntentStatus(snapshot.intent.value)
    revision, base = snapshot.intent.head.revision, snapshot.base
    if base is None or revision == base.revision + 1:
        return IntentStatus.NEXT
    if revision != base.revision:
        return IntentStatus.OTHER
    return IntentStatus.SAME if isinstance(base, redo_log.Head) else IntentStatus.NEXT


def _classify_state(snapshot: FolderSnapshot, states: Collection[str]) -> StateFileStatus:
    if snapshot.content is None:
        return StateFileStatus.ABSENT
    if isinstance(snapshot.content, UnsafePath):
        return StateFileStatus.UNSAFE
    if isinstance(snapshot.content, JsonFlaw):
        return StateFileStatus.MALFORMED
    if snapshot.content.state not in states:
        return StateFileStatus.UNKNOWN
    same = snapshot.base is not None and snapshot.base.sha == hash_content(snapshot.data)
    return StateFileStatus.SAME if same else StateFileStatus.OTHER


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """A recovery worked out: the snapshot afterwards, the last row, and the rows before with snapshots."""

    snapshot: FolderSnapshot
    row: RecoveryRow
    steps: tuple[tuple[RecoveryRow, FolderSnapshot], ...] = ()
    trouble: Trouble | None = None

    @property
    def pending(self) -> bytes:
        """Return the history line of a turn that is committed but not yet applied; empty if none."""
        for _, snapshot in self.steps:
            if isinstance(snapshot.intent, redo_log.Intent) and isinstance(self.snapshot.head, redo_log.Head):
                line = snapshot.intent.line.encode()
                return line if redo_log.read_checksum(line) == self.snapshot.head.chain else b""
        return b""


def plan_recovery(snapshot: FolderSnapshot, shape: StateFileFormat, states: Collection[str]) -> RecoveryPlan:
    """Work out the recovery of this snapshot. Writes nothing."""
    steps: list[tuple[RecoveryRow, FolderSnapshot]] = []
    while (row := find_recovery_row(classify_snapshot(snapshot, states))).action not in FINAL_ACTIONS:
        steps.append((row, snapshot))
        snapshot = _snapshot_after(row, snapshot, shape)
    trouble = None if row.action is RecoveryAction.SWEEP else _describe_trouble(row, snapshot, shape.name)
    return RecoveryPlan(snapshot, row, tuple(steps), trouble)


def perform_recovery(workspace: Snapshot, plan: RecoveryPlan, shape: StateFileFormat) -> None:
    """Carry out the plan. Raises `NewerFormat`, and writes nothing, if a newer program was here."""
    if plan.row.action is RecoveryAction.REFUSE:
        raise NewerFormat(_NEWER_TROUBLE.message, _NEWER_TROUBLE.repair)
    for row, snapshot in plan.steps:
        _perform_row(workspace, row, snapshot, shape)
    if plan.row.action in {RecoveryAction.SWEEP, RecoveryAction.TELL}:
        redo_log.remove_leftovers(workspace)


def _snapshot_after(row: RecoveryRow, snapshot: FolderSnapshot, shape: StateFileFormat) -> FolderSnapshot:
    match row.action, snapshot.intent:
        case RecoveryAction.SET_HEAD_ASIDE, _:
            return replace(snapshot, head=None)
        case RecoveryAction.SET_INTENT_ASIDE, _:
            mark = _build_mark(row, snapshot, shape.name)
            return replace(snapshot, intent=None, staged=True, mark=mark)
        case RecoveryAction.SET_STATE_ASIDE, _:
            mark = _build_mark(row, snapshot, shape.name)
            return replace(snapshot, data=None, content=None, mark=mark)
        case RecoveryAction.REDO, redo_log.Intent() as intent:
            data, head = intent.document.encode(), intent.head.with_recorded_calls(snapshot.head)
            return replace(snapshot, head=head, intent=None, data=data, content=shape.read(data), mark=None)
        case RecoveryAction.FINISH, _:
            return replace(snapshot, intent=None, mark=None)
        case _:
            return replace(snapshot, mark=None)


def _build_mark(row: RecoveryRow, snapshot: FolderSnapshot, name: str) -> redo_log.TroubleMark:
    subject = redo_log.TroubleSubject
    about = subject.STATE if row.action is RecoveryAction.SET_STATE_ASIDE else subject.INTENT
    return redo_log.TroubleMark(about, _describe_trouble(row, snapshot, name))


def _perform_row(
    workspace: Snapshot, row: RecoveryRow, snapshot: FolderSnapshot, shape: StateFileFormat
) -> None:
    match row.action, snapshot.intent:
        case RecoveryAction.SET_HEAD_ASIDE, _:
            redo_log.quarantine_file(workspace, redo_log.HEAD_FILE)
        case RecoveryAction.SET_INTENT_ASIDE, _:
            mark = _build_mark(row, snapshot, shape.name)
            redo_log.replace_file(workspace, redo_log.TROUBLE_FILE, redo_log.seal_record(mark))
            quarantine_intent(workspace)
        case RecoveryAction.SET_STATE_ASIDE, _:
            mark = _build_mark(row, snapshot, shape.name)
            redo_log.replace_file(workspace, redo_log.TROUBLE_FILE, redo_log.seal_record(mark))
            redo_log.quarantine_file(workspace, shape.name)
        case RecoveryAction.REDO, redo_log.Intent() as intent:
            redo_log.carry_out_intent(workspace, shape.name, intent, snapshot.head, again=True)
        case RecoveryAction.FINISH, redo_log.Intent() as intent:
            redo_log.ensure_line(workspace, intent.line.encode())
            redo_log.clear_intent(workspace)
        case _:
            redo_log.clear_trouble(workspace)


def quarantine_intent(workspace: Snapshot) -> None:
    """Move an intent that cannot be carried out into quarantine, after the bytes staged for it."""
    for name in workspace.names(redo_log.STAGE_FOLDER):
        redo_log.quarantine_file(workspace, f"{redo_log.STAGE_FOLDER}/{name}")
    redo_log.quarantine_file(workspace, redo_log.INTENT_FILE)


def _describe_trouble(row: RecoveryRow, snapshot: FolderSnapshot, name: str) -> Trouble:
    content, base = snapshot.content, snapshot.base
    if row.action is RecoveryAction.REFUSE:
        return _NEWER_TROUBLE
    if snapshot.mark is not None and row.id in {"diverged", "damaged"}:
        return snapshot.mark.trouble
    if isinstance(content, UnsafePath) and row.id == "unsafe":
        return Trouble(TroubleCode.DAMAGED, content.message, content.repair)
    if isinstance(content, JsonFlaw):
        why = content.sentence
    elif isinstance(content, StateFileContent):
        why = f"names the state {content.state!a}, which the workflow does not have"
    else:
        why = "cannot be read"
    repair = "run `handrail repair --adopt STATE` with the state that the files are in"
    if base is not None:
        repair = f"run `handrail repair --restore {base.revision}` to go back to the last turn, or {repair}"
    code, message = _TROUBLE_TEXTS[row.id]
    return Trouble(code, message.format(name=name, why=why), repair)
