"""Moves of a session on any workspace: laid out, made and judged. A sample: one of each kind of change.

The move itself is the real one, with ids and a clock that are the same each time.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from handrail.app.run_folders import RunFolder
from handrail.documents.state_file import CollabStateFile
from handrail.engine.model import Event
from handrail.runtime.ports.turn import Workspace
from handrail.runtime.status import inspect_run
from handrail.runtime.system import LocalFeed
from handrail.runtime.turn import Call, take_turn
from handrail.runtime.world import World
from handrail.stores.files.file_runs import FileRuns
from helpers.run_folders import check_chain
from helpers.skill_sessions import BUG_DONE, FLOW, TO_BATCHES, TO_FIRST_ITEM, write_design
from helpers.task_project import format_outcome
from helpers.turns import KEY, CountedIds, ManualClock

PLACE: Final = RunFolder(Path("/project"), FLOW, "demo", "skills")
DESIGN: Final = "documents/design.md"
LATER: Final = 1 << 32
"""The ids of whoever calls again begin here."""

_OLD: Final = {"phase": "implementation", "currentItem": 1, "hasSnapshot": True, "theme": "dark"}


def open_session_runs(workspace: Workspace) -> FileRuns:
    """The store of a session; wherever it is, its run is the same."""
    shape = CollabStateFile(PLACE.phases, PLACE.adopts)
    return FileRuns(
        workspace, shape, PLACE.new_run, PLACE.origin, PLACE.state_names, ends=PLACE.end_states, signs=()
    )


def build_world(workspace: Workspace, ids: int = 0) -> World:
    runs, counted = open_session_runs(workspace), CountedIds(ids, ids)
    return World(runs, ManualClock(), counted, LocalFeed(), KEY, lambda *_: FLOW, runs, lifetime=None)


def build_completed_event(skill: str) -> Event:
    return Event("complete_skill", {"skill": skill})


@dataclass(frozen=True, slots=True)
class Move:
    """A move: the skills before it, its event, the state it leads to, and what else it leaves.

    `old` is a state file that is there without a history; `documented` says that it documents the item.
    """

    name: str
    before: tuple[str, ...]
    event: Event
    states: tuple[str, str]
    documented: bool = False
    leaves: Mapping[str, Any] = field(default_factory=dict)
    old: Mapping[str, Any] | None = None

    def lay_out(self, workspace: Workspace) -> str:
        """Put the files there and walk up to the move; the token that it is made with."""
        workspace.mkdir("")
        workspace.mkdir("documents")
        workspace.sync("")
        workspace.write(
            DESIGN, self._design(taken=False).encode() if self.old else write_design(["bugfix"]).encode()
        )
        workspace.sync("documents")
        if self.old is not None:
            workspace.write("collab-state.json", json.dumps(self.old).encode())
            workspace.sync("")
        for number, skill in enumerate(self.before):
            take_turn(
                build_world(workspace, (3 + number) * LATER),
                Call("", build_completed_event(skill)),
                format_outcome,
            )
        outcome = inspect_run(build_world(workspace, 2 * LATER), open_session_runs(workspace).load_current())
        return next(iter((outcome.tokens or {}).values()))

    def take(self, workspace: Workspace, token: str, ids: int = 0) -> Mapping[str, Any]:
        return take_turn(build_world(workspace, ids), Call("", self.event, token=token), format_outcome)

    def judged(self, workspace: Workspace) -> str:
        """`before` or `after` if all that is there says the same of the move; else what is there."""
        stored = open_session_runs(workspace).load_current()
        if stored.trouble:
            return f"trouble: {stored.trouble}"
        answer = json.loads(workspace.read("collab-state.json") or b"{}")
        found = (
            stored.revision,
            [step.state for step in stored.run.open],
            (workspace.read(DESIGN) or b"").decode(),
            check_chain(workspace.read(".handrail/history.jsonl") or b""),
            answer.get("state"),
        )
        turns = len(self.before)
        written = self.states[0] if turns else None
        if found == (turns, self._open(turns), self._design(taken=False), [*range(1, turns + 1)], written):
            return "before"
        turns += 1
        after = (turns, [self.states[1]], self._design(taken=True), [*range(1, turns + 1)], self.states[1])
        saved = {name: answer.get(name) for name in self.leaves}
        return "after" if (found, saved) == (after, self.leaves) else f"a third state: {found}, {saved}"

    def _open(self, turns: int) -> list[str]:
        return [self.states[0]] if turns or self.old else []

    def _design(self, *, taken: bool) -> str:
        done = self.documented and taken
        past = bool(self.old) or "systematic-debugging" in self.before
        return write_design(["bugfix"], documented=[1] if done or past else [])


_BATCH: Final = {
    "id": "batch-1",
    "tasks": [{"id": "item-1", "status": "pending", "dependsOn": []}],
    "status": "pending",
}
_DONE: Final = {
    **_BATCH,
    "tasks": [{"id": "item-1", "status": "completed", "dependsOn": []}],
    "status": "in_progress",
}

MOVES: Final = (
    Move("first", (), build_completed_event("collab-start"), ("collab-start", "gather-goals")),
    Move(
        "documents",
        TO_FIRST_ITEM,
        build_completed_event("systematic-debugging"),
        ("systematic-debugging", "clear-post-item"),
        documented=True,
        leaves={"currentItem": None, "documentedItems": 1},
    ),
    Move(
        "batches",
        (*BUG_DONE, "ready-to-implement"),
        build_completed_event("collab-clear"),
        ("clear-pre-execute", "execute-batch"),
        leaves={"batches": [_BATCH], "currentBatch": 0, "pendingTasks": ["item-1"]},
    ),
    Move(
        "task",
        TO_BATCHES,
        Event("update_task_status", {"task_id": "item-1", "status": "completed"}),
        ("execute-batch", "execute-batch"),
        leaves={"batches": [_DONE], "completedTasks": ["item-1"], "pendingTasks": []},
    ),
    Move(
        "adopts",
        (),
        build_completed_event("collab-clear"),
        ("clear-pre-execute", "execute-batch"),
        leaves={"theme": "dark", "hasSnapshot": True, "currentItem": None, "batches": [_BATCH]},
        old=_OLD,
    ),
)
