"""One cast for each row of the workflow that a word can take, on any workspace: laid out, cast and judged.

The cast itself is the real one, with ids and a clock that are the same each time: a cast that is cut off and
one that is not write the same bytes as far as they come. Whoever casts later has other ids, so that a reply
tells whether it was given then or now.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from pathlib import Path
from typing import Any, Final

from handrail.app.run_folders import RunFolder
from handrail.documents.state_file import StateFile
from handrail.engine.model import Accepted, Actor, Event, Stay
from handrail.runtime.ports.turn import Workspace
from handrail.runtime.status import inspect_run
from handrail.runtime.system import LocalFeed
from handrail.runtime.turn import Call, Outcome, take_turn
from handrail.runtime.world import World
from handrail.stores.files.file_runs import FileRuns
from handrail.stores.files.snapshot import parent_folder
from helpers.run_folders import check_chain
from helpers.simulated_disk import SimulatedWorkspace
from helpers.spell_table import (
    Line,
    apply_effects,
    build_files,
    load_spells,
    parse_context,
    read_lines,
    split_cell,
)
from helpers.task_project import format_outcome
from helpers.turns import KEY, NOW, CountedIds, ManualClock

FLOW: Final = load_spells()
HOME: Final = ".handrail/"
HISTORY: Final = f"{HOME}history.jsonl"
LATER: Final = 1 << 32
"""The ids of whoever casts again begin here."""


class Past(Enum):
    """What a cast finds: no folder yet, files that somebody brought, or those and a history of ours."""

    NOTHING = auto()
    BROUGHT = auto()
    UNDER_WAY = auto()


_NAMES: Final = re.compile(r"[^+~>/ ]")
_PLACE: Final = RunFolder(Path("/project"), FLOW)
_TOLD: Final = [{"timestamp": "2026-02-28T09:00:00Z", "transition": "A → B", "trigger": "Lumos"}]


def open_spell_runs(workspace: Workspace) -> FileRuns:
    """The store of a folder; wherever it is, its run is the same."""
    return FileRuns(workspace, StateFile(), _PLACE.new_run, _PLACE.origin, FLOW.states)


def build_world(workspace: Workspace, ids: int = 0) -> World:
    runs, counted = open_spell_runs(workspace), CountedIds(ids, ids)
    return World(runs, ManualClock(), counted, LocalFeed(), KEY, lambda *_: FLOW, runs, lifetime=None)


@dataclass(frozen=True, slots=True)
class Cast:
    """A cast of a row: its line of the table, and what it finds; only under way is it not the first turn."""

    row: str
    line: Line
    past: Past
    before: Mapping[str, bytes] = field(init=False)
    after: Mapping[str, bytes] = field(init=False)

    def __post_init__(self) -> None:
        """Work out the files of the user: as they are, and as the table says that the cast leaves them."""
        object.__setattr__(self, "before", build_files(self.line.files))
        object.__setattr__(self, "after", apply_effects(self.before, self.line.effects))

    @property
    def event(self) -> Event:
        payload = {"resume": True} if self.line.spell.endswith(" resume") else {}
        return Event(self.line.trigger, payload, by=Actor.PERSON, note="as agreed")

    def lay_out(self, workspace: Workspace) -> str:
        """Put the files there; the token that the cast is made with."""
        if self.past is Past.NOTHING:
            return issue_token(workspace)
        workspace.mkdir("")
        for path, data in {**self.before, "state.json": json.dumps(self._brought()).encode()}.items():
            _make(workspace, parent_folder(path))
            workspace.write(path, data)
            workspace.sync(parent_folder(path))
        if self.past is Past.UNDER_WAY:
            open_spell_runs(workspace).repair(NOW, adopt=self.line.state)
        return issue_token(workspace)

    def _brought(self) -> dict[str, Any]:
        """The state file that somebody brought, with a key that is not ours; none if there is nothing."""
        known = parse_context(self.line.context)
        given = {"team": "blue", "current_state": self.line.state, "context": known, "history": _TOLD}
        return {} if self.past is Past.NOTHING else given

    def take(self, workspace: Workspace, with_token: str, ids: int = 0) -> Mapping[str, Any]:
        return take_turn(build_world(workspace, ids), Call("", self.event, token=with_token), format_outcome)

    def judged(self, workspace: Workspace, files: Mapping[str, bytes]) -> str:
        """`before` or `after` if all that is in a folder says the same of the cast; else what is there."""
        runs = open_spell_runs(workspace)
        stored, spent = runs.load_current(), runs.find_recorded_call("", self._turns)
        if stored.trouble:
            return f"trouble: {stored.trouble}"
        own = {path: data for path, data in files.items() if not path.startswith(HOME)}
        document = json.loads(own.pop("state.json", b"{}"))
        answer = (
            own,
            document,
            stored.revision,
            [step.state for step in stored.run.open],
            check_chain(files.get(HISTORY, b"")),
            spent is not None,
        )
        if answer == (self.before, *self._standing(taken=False)):
            return "before"
        if answer == (self.after, *self._standing(taken=True)):
            return "after"
        return f"a third state: {answer}"

    @property
    def _turns(self) -> int:
        """How many turns the history has before it."""
        return int(self.past is Past.UNDER_WAY)

    def _standing(self, *, taken: bool) -> tuple[object, ...]:
        """State file, revision, open states, turns of the history, whether a reply is kept."""
        line, turns, document = self.line, self._turns + int(taken), self._brought()
        at = {"timestamp": "2026-03-01T12:00:00Z"}
        history: list[dict[str, str]] = [*document.get("history", [])]
        if self.past is Past.UNDER_WAY:
            history.append({**at, "transition": f"{line.state} → {line.state}", "trigger": "repair"})
        if taken:
            history.append({**at, "transition": line.history, "trigger": line.trigger, "note": "as agreed"})
            document |= {"current_state": line.next, "context": parse_context(line.after)}
        if document:
            document["history"] = history
        states = [document["current_state"]] if document else []
        return document, turns, states, list(range(1, turns + 1)), taken

    def lost(self, files: Mapping[str, bytes]) -> list[str]:
        """The files of the user whose bytes are nowhere in a folder, as they were or as they shall be."""
        there, after = set(files.values()), self.after
        known = {path: {data, after.get(path, data)} for path, data in self.before.items()}
        return [path for path, either in known.items() if not either & there]


def list_casts(past: Past) -> list[Cast]:
    """One for each row that a word can take and that is kept: of its lines, the one that changes most.

    Where there is nothing, only lines without files and in the first state are.
    """
    found: dict[str, Line] = {}
    for line in read_lines():
        if line.unwritten or (past is Past.NOTHING and line[:1] + line[2:4] != (FLOW.initial, "-", "-")):
            continue
        row = _row(line)
        if row not in found or _weight(line) > _weight(found[row]):
            found[row] = line
    return [Cast(row, line, past) for row, line in sorted(found.items())]


def select_changing_casts(every: Iterable[Cast]) -> list[Cast]:
    return [cast for cast in every if cast.line.effects != "-"]


def select_one_of_each_kind(every: Iterable[Cast]) -> list[Cast]:
    """The first of each kind: those of one kind move, rewrite and make as many files, and folders."""
    found: dict[str, Cast] = {}
    for cast in every:
        found.setdefault(_NAMES.sub("", cast.line.effects), cast)
    return [*found.values()]


def list_acting_rows() -> list[str]:
    """The rows of the workflow that have an effect or move a state."""
    return [row.id for row in FLOW.rows if row.do or not isinstance(row.to, Stay)]


def issue_token(workspace: Workspace) -> str:
    """A token for the run as it stands; nothing is written."""
    outcome = inspect_run(build_world(workspace, 2 * LATER), open_spell_runs(workspace).load_current())
    (one,) = (outcome.tokens or {}).values()
    return one


def find_leftovers(files: Mapping[str, bytes]) -> Iterator[str]:
    """What a recovery has left lying about: an intent, staged bytes, copies of what nobody edited."""
    for path in files:
        name = path.removeprefix(HOME)
        if name != path and (name == "intent.json" or name.startswith(("stage/", "conflict-"))):
            yield path


def _weight(line: Line) -> tuple[int, int]:
    return len(split_cell(line.effects)), len(split_cell(line.files))


@cache
def _row(line: Line) -> str:
    workspace, rows = SimulatedWorkspace(), list[str]()
    cast = Cast("", line, Past.BROUGHT)
    made = cast.lay_out(workspace)

    def heard(outcome: Outcome) -> Mapping[str, Any]:
        assert isinstance(outcome.decision, Accepted)
        rows.extend(move.row for move in outcome.decision.moves)
        return {}

    take_turn(build_world(workspace), Call("", cast.event, token=made), heard)
    return rows[0]


def _make(workspace: Workspace, folder: str) -> None:
    if folder:
        _make(workspace, parent_folder(folder))
        workspace.mkdir(folder)
        workspace.sync(parent_folder(folder))
