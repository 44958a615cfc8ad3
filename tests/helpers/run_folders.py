"""What tests of runs in files share: a small workflow's states, a folder under way, and a turn like A2."""

import hashlib
import json
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from handrail.documents.state_file import HistoryItem, StateFile
from handrail.engine.model import Authority, Lifecycle, Run, Step
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.ports.turn import Workspace
from handrail.runtime.records import ChangedContent as FinalValue
from handrail.runtime.records import OpenedStep, Origin, RecordedCall, StoredRun, Trouble, Turn
from handrail.stores.files.file_runs import FileRuns
from helpers.simulated_disk import PowerLoss, SimulatedWorkspace, act_at_change, cut_power

AT: Final = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
RUN: Final = "6f1c2a30-9d5e-4a51-8f0e-2b8a5d3c7e10"
IDLE: Final = Run(RUN, "spells", "digest", vars={"back": None})
ORIGIN: Final = Origin("spells", Authority.FILES, project="/project", goal="a goal")
STATES: Final = frozenset({"EDITING", "DRAFTING", "EXECUTED", "OVER"})
PLAN, PLANNED = b"- [ ] it works\n", b"- [x] it works\n"
TASK, NEXT_TASK, RESULTS = b"---\ntask_name: a\n---\nold", b"---\ntask_name: \n---\n", b"it works"
ARCHIVE = "tasks/task-a-2026-03-01-1230"


def open_folder_runs(
    workspace: Workspace, *, seconds: float = 5.0, signs: Collection[str] | None = None
) -> FileRuns:
    """The store of a folder."""
    return FileRuns(workspace, StateFile(), IDLE, ORIGIN, STATES, ends={"OVER"}, signs=signs, seconds=seconds)


def load_run(runs: FileRuns) -> StoredRun:
    """The run of the folder."""
    stored = runs.load("")
    assert stored is not None
    return stored


def move_run(run: Run, state: str) -> Run:
    """The run in a new step."""
    number = run.steps + 1
    return replace(run, lifecycle=Lifecycle.RUNNING, open=(Step(number, state, 1),), steps=number)


def build_turn(stored: StoredRun, state: str, finals: tuple[FinalValue, ...] = (), note: str = "") -> Turn:
    """A turn that leads to a state. Its token, reply and mark name the revision that it leaves."""
    source = stored.run.open[0].state if stored.run.open else "nowhere"
    return Turn(
        stored,
        move_run(stored.run, state),
        AT + timedelta(seconds=stored.revision),
        RecordedCall(f"token {stored.revision}", "request", f"reply {stored.revision} to {state}".encode()),
        opened=(OpenedStep(stored.run.steps + 1, state, "writer"),),
        entries=(Entry(EntryKind.STEP_STARTED, step=state),),
        finals=finals,
        passages=(HistoryItem(source, state, "Go", note),),
        marks={"left": stored.revision},
    )


def take_turn_to(runs: FileRuns, state: str, finals: tuple[FinalValue, ...] = (), note: str = "") -> bool:
    """Take a turn that leads to a state."""
    with runs.hold_lock("", 0):
        return runs.commit(build_turn(load_run(runs), state, finals, note))


def build_final(path: str, before: bytes | None, after: bytes | None) -> FinalValue:
    """A final value, from the bytes that were seen."""
    return FinalValue(path, None if before is None else hashlib.sha256(before).hexdigest(), after)


A2: Final = (
    build_final("plan.md", PLAN, PLANNED),
    build_final("task.md", TASK, NEXT_TASK),
    build_final("task-results.md", RESULTS, None),
    build_final(f"{ARCHIVE}/task.md", None, TASK),
    build_final(f"{ARCHIVE}/task-results.md", None, RESULTS),
)
"""Archive two files into a new folder, rewrite the plan, begin a new task file."""

FILES_BEFORE: Final = {"plan.md": PLAN, "task.md": TASK, "task-results.md": RESULTS}
FILES_AFTER: Final = {
    "plan.md": PLANNED,
    "task.md": NEXT_TASK,
    f"{ARCHIVE}/task.md": TASK,
    f"{ARCHIVE}/task-results.md": RESULTS,
}

STATE_BEFORE: Final = b"""{
  "current_state": "EXECUTED",
  "context": {},
  "history": [
    {
      "timestamp": "2026-03-01T12:30:00Z",
      "transition": "nowhere \xe2\x86\x92 EXECUTED",
      "trigger": "Go"
    }
  ]
}
"""
STATE_AFTER: Final = b"""{
  "current_state": "DRAFTING",
  "context": {},
  "history": [
    {
      "timestamp": "2026-03-01T12:30:00Z",
      "transition": "nowhere \xe2\x86\x92 EXECUTED",
      "trigger": "Go"
    },
    {
      "timestamp": "2026-03-01T12:30:01Z",
      "transition": "EXECUTED \xe2\x86\x92 DRAFTING",
      "trigger": "Go"
    }
  ]
}
"""
BEFORE: Final = {**FILES_BEFORE, "state.json": STATE_BEFORE}
AFTER: Final = {**FILES_AFTER, "state.json": STATE_AFTER}


def begin_folder(workspace: Workspace) -> FileRuns:
    """A folder at revision 1, in which the turn `A2` can be taken."""
    runs = open_folder_runs(workspace)
    for path, data in FILES_BEFORE.items():
        workspace.mkdir("")
        workspace.write(path, data)
    workspace.sync("")
    assert take_turn_to(runs, "EXECUTED")
    return runs


def create_simulated_folder() -> tuple[SimulatedWorkspace, FileRuns]:
    """Such a folder on a simulated disk, and its store."""
    workspace = SimulatedWorkspace()
    return workspace, begin_folder(workspace)


def create_stopped_folder(before: str) -> SimulatedWorkspace:
    """Such a folder whose process died in the turn A2 before this change."""
    workspace, runs = create_simulated_folder()
    workspace.before = act_at_change(before, cut_power)
    with suppress(PowerLoss):
        take_turn_to(runs, "DRAFTING", A2)
        raise AssertionError(f"there is no change {before}")
    return workspace.copy()


def get_trouble(runs: FileRuns) -> Trouble:
    """The trouble that the run is in."""
    trouble = load_run(runs).trouble
    assert trouble is not None
    return trouble


def judge_folder(runs: FileRuns, tree: dict[str, bytes], journal: bytes) -> str:
    """`before` or `after` if all that is there says the same of the turn A2; else what is wrong."""
    stored = load_run(runs)
    state = stored.run.open[0].state
    spent = runs.find_recorded_call(RUN, 1)
    reply = spent.reply if spent else b""
    chain = check_chain(journal)
    mark, times = stored.origin.metadata, (stored.started, stored.updated, stored.opened)
    if stored.trouble or stored.adopted:
        return f"trouble: {stored.trouble} {stored.adopted}"
    answer = (tree, stored.revision, state, reply, chain, mark, times)
    later = AT + timedelta(seconds=1)
    if answer == (BEFORE, 1, "EXECUTED", b"", [1], {"left": 0}, (AT, AT, {1: AT})):
        return "before"
    reply_after = b"reply 1 to DRAFTING"
    if answer == (AFTER, 2, "DRAFTING", reply_after, [1, 2], {"left": 1}, (AT, later, {2: later})):
        return "after"
    return f"a third state: {sorted(tree)} {stored.revision} {state} {reply!r} {chain}"


def check_chain(journal: bytes) -> list[int]:
    """The turns of the history, each under its checksum and hanging on the one before it."""
    last, turns = "", []
    for raw in journal.split(b"\n"):
        try:
            sealed = json.loads(raw)
        except ValueError:
            continue  # torn by a crash
        body = raw[len(b'{"sum":"","body":') + 64 : -1]
        assert hashlib.sha256(body).hexdigest() == sealed["sum"]
        assert sealed["body"]["prev"] == last
        if sealed["body"]["seq"]:
            last = sealed["sum"]
            turns.append(sealed["body"]["seq"])
    return turns
