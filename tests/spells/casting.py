"""One cast for each row of the workflow that changes files, on any workspace: laid out, cast and judged.

The cast itself is the real one, with ids and a clock that are the same each time: a cast that is cut off and
one that is not write the same bytes as far as they come. Whoever casts later has other ids, so that a reply
tells whether it was given then or now.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from handrail.documents.statefile import StateFile
from handrail.engine.model import Accepted, Event, Who
from handrail.shell.apply import above
from handrail.shell.folders import Folder
from handrail.shell.ports import Workspace
from handrail.shell.standing import look
from handrail.shell.system import LocalFeed
from handrail.shell.turn import Call, Outcome, take_turn
from handrail.shell.world import World
from handrail.stores.files import FileRuns
from spells.scene import Line, context, laid_out, left, lines, spells, words
from stores.folders import chained
from stores.simulated import Simulated
from tasks import plain
from turns import KEY, NOW, CountedIds, HandClock

FLOW: Final = spells()
HOME: Final = ".handrail/"
HISTORY: Final = f"{HOME}history.jsonl"
LATER: Final = 1 << 32
"""The ids of whoever casts again begin here."""

_NAMES: Final = re.compile(r"[^+~>/ ]")
_PLACE: Final = Folder(Path("/project"), FLOW)
_TOLD: Final = [{"timestamp": "2026-02-28T09:00:00Z", "transition": "A → B", "trigger": "Lumos"}]


def runs_in(workspace: Workspace) -> FileRuns:
    """The store of a folder; wherever it is, its run is the same."""
    return FileRuns(workspace, StateFile(), _PLACE.new, _PLACE.origin, FLOW.states)


def world(workspace: Workspace, ids: int = 0) -> World:
    """The world of a cast."""
    runs, counted = runs_in(workspace), CountedIds(ids, ids)
    return World(runs, HandClock(), counted, LocalFeed(), KEY, lambda _: FLOW, workspace, lifetime=None)


@dataclass(frozen=True, slots=True)
class Cast:
    """A cast of a row: its line of the table, and whether the run has a history already.

    Without one, the state file is somebody's, and this is the first turn here.
    """

    row: str
    line: Line
    under_way: bool
    before: Mapping[str, bytes] = field(init=False)
    after: Mapping[str, bytes] = field(init=False)

    def __post_init__(self) -> None:
        """Work out the files of the user: as they are, and as the table says that the cast leaves them."""
        object.__setattr__(self, "before", laid_out(self.line.files))
        object.__setattr__(self, "after", left(self.before, self.line.effects))

    @property
    def event(self) -> Event:
        """What is cast."""
        payload = {"resume": True} if self.line.spell.endswith(" resume") else {}
        return Event(self.line.trigger, payload, by=Who.PERSON, note="as agreed")

    def lay_out(self, workspace: Workspace) -> str:
        """Put the files there; the token that the cast is made with."""
        given = {"team": "blue", "current_state": self.line.state, "context": context(self.line.context)}
        document = json.dumps({**given, "history": _TOLD}).encode()
        workspace.mkdir("")
        for path, data in {**self.before, "state.json": document}.items():
            _make(workspace, above(path))
            workspace.write(path, data)
            workspace.sync(above(path))
        if self.under_way:
            runs_in(workspace).repair(NOW, adopt=self.line.state)
        return token(workspace)

    def take(self, workspace: Workspace, with_token: str, ids: int = 0) -> Mapping[str, Any]:
        """Cast it; the reply."""
        return take_turn(world(workspace, ids), Call("", self.event, token=with_token), plain)

    def judged(self, workspace: Workspace, files: Mapping[str, bytes]) -> str:
        """`before` or `after` if all that is in a folder says the same of the cast; else what is there."""
        runs = runs_in(workspace)
        stored, spent = runs.standing(), runs.spent("", int(self.under_way))
        if stored.trouble:
            return f"trouble: {stored.trouble}"
        own = {path: data for path, data in files.items() if not path.startswith(HOME)}
        document = json.loads(own.pop("state.json", b"{}"))
        told = (
            own,
            document,
            stored.revision,
            [step.state for step in stored.run.open],
            chained(files.get(HISTORY, b"")),
            spent is not None,
        )
        if told == (self.before, *self._standing(taken=False)):
            return "before"
        if told == (self.after, *self._standing(taken=True)):
            return "after"
        return f"a third state: {told}"

    def _standing(self, *, taken: bool) -> tuple[object, ...]:
        """State file, revision, open states, turns of the history, whether a reply is kept."""
        line, turns = self.line, int(self.under_way) + int(taken)
        at = {"timestamp": "2026-03-01T12:00:00Z"}
        history: list[dict[str, str]] = [*_TOLD]
        if self.under_way:
            history.append({**at, "transition": f"{line.state} → {line.state}", "trigger": "repair"})
        if taken:
            history.append({**at, "transition": line.history, "trigger": line.trigger, "note": "as agreed"})
        state = line.next if taken else line.state
        known = context(line.after if taken else line.context)
        document = {"team": "blue", "current_state": state, "context": known, "history": history}
        return document, turns, [state], list(range(1, turns + 1)), taken

    def lost(self, files: Mapping[str, bytes]) -> list[str]:
        """The files of the user whose bytes are nowhere in a folder, as they were or as they shall be."""
        there, after = set(files.values()), self.after
        known = {path: {data, after.get(path, data)} for path, data in self.before.items()}
        return [path for path, either in known.items() if not either & there]


def casts(*, under_way: bool) -> list[Cast]:
    """One for each row that changes files: of the lines that it takes, the one that changes most."""
    found: dict[str, Line] = {}
    for line in lines():
        if line.effects == "-" or line.refused:
            continue
        row = _row(line)
        if row not in found or _weight(line) > _weight(found[row]):
            found[row] = line
    return [Cast(row, line, under_way) for row, line in sorted(found.items())]


def kinds(every: Iterable[Cast]) -> list[Cast]:
    """The first of each kind: those of one kind move, rewrite and make as many files, and folders."""
    found: dict[str, Cast] = {}
    for cast in every:
        found.setdefault(_NAMES.sub("", cast.line.effects), cast)
    return [*found.values()]


def with_effects() -> list[str]:
    """The rows of the workflow that change files."""
    return sorted(row.id for row in FLOW.rows if row.do)


def token(workspace: Workspace) -> str:
    """A token for the run as it stands; nothing is written."""
    told: Mapping[str, Any] = look(world(workspace, 2 * LATER), runs_in(workspace).standing(), plain)
    (one,) = told["tokens"]
    return str(one)


def unfinished(files: Mapping[str, bytes]) -> Iterator[str]:
    """What a recovery has left lying about: an intent, staged bytes, copies of what nobody edited."""
    for path in files:
        name = path.removeprefix(HOME)
        if name != path and (name == "intent.json" or name.startswith(("stage/", "conflict-"))):
            yield path


def _weight(line: Line) -> tuple[int, int]:
    return len(words(line.effects)), len(words(line.files))


def _row(line: Line) -> str:
    """The row that takes a line."""
    workspace, rows = Simulated(), list[str]()
    cast = Cast("", line, under_way=False)
    made = cast.lay_out(workspace)

    def heard(outcome: Outcome) -> Mapping[str, Any]:
        assert isinstance(outcome.decision, Accepted)
        rows.extend(move.row for move in outcome.decision.moves)
        return {}

    take_turn(world(workspace), Call("", cast.event, token=made), heard)
    return rows[0]


def _make(workspace: Workspace, folder: str) -> None:
    if folder:
        _make(workspace, above(folder))
        workspace.mkdir(folder)
        workspace.sync(above(folder))
