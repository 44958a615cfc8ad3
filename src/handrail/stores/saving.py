"""From a turn to what the folder will hold: head, line of the history and state file."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from handrail.documents.statefile import Passage, Standing
from handrail.documents.strict import Flaw
from handrail.engine.model import Run
from handrail.shell.apply import digest
from handrail.shell.faults import Unreadable, UnsafePath
from handrail.shell.folders import HOME
from handrail.shell.ports import StateShape
from handrail.shell.records import Final, Spent, Stored
from handrail.stores.intent import Saving
from handrail.stores.layout import Head, Line
from handrail.stores.mend import Settled
from handrail.stores.sealed import seal, sum_of
from handrail.telemetry.entries import Entry


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a run, as a turn or a repair has it: the run as it is loaded again, and the rest."""

    after: Stored
    at: datetime
    document: bytes
    entries: tuple[Entry, ...]
    spent: Spent | None = None
    finals: tuple[Final, ...] = ()


def check(finals: Sequence[Final], state: str) -> None:
    """Raise `UnsafePath` for final values of files that are the store's own, or of one file twice."""
    paths = [final.path for final in finals]
    for path in paths:
        if path == state or path.partition("/")[0] == HOME or paths.count(path) > 1:
            raise UnsafePath(
                f"`{path}` cannot be written by a turn: it is the store's own, or written twice",
                "name another file in the workflow",
            )


def standing_state(run: Run, passages: Sequence[Passage], old: Standing | None) -> str:
    """The state that the state file names: that of the open step, or the one in which the run ended."""
    if run.open:
        return run.open[0].state
    if passages:
        return passages[-1].target
    if old is None:
        raise ValueError("a turn that opens no step and goes no way leaves nothing to write down")
    return old.state


def repaired(stored: Stored, run: Run, at: datetime) -> Stored:
    """The run as it is loaded again after a repair; a step that was not open until then is opened by it."""
    known = {**stored.opened, **{step.number: at for step in run.open if step not in stored.run.open}}
    opened = {step.number: known[step.number] for step in run.open if step.number in known}
    return replace(stored, run=run, revision=stored.revision + 1, opened=opened)


def saving(settled: Settled, change: Change, shape: StateShape) -> Saving:
    """What is saved. Raises `Unreadable` if the state file could not be read again."""
    old, new = settled.sight.standing, shape.read(change.document)
    if isinstance(new, Flaw):
        raise Unreadable(
            f"`{shape.name}` could not be read again with what this turn writes into it: {new.sentence}",
            f"make `{shape.name}` smaller or simpler, or do without what this call brings",
        )
    sha, base, after = str(digest(change.document)), settled.sight.base, change.after
    unchanged = base is not None and base.sha == digest(settled.sight.data)
    known = old.history if isinstance(old, Standing) and unchanged else ()
    kept = len(known) if new.history[: len(known)] == known else 0
    chain = base.chain if base else ""
    line = seal(
        Line(
            after.revision,
            change.at,
            change.entries,
            chain,
            after.run,
            sha,
            new.body,
            kept,
            new.history[kept:],
        )
    )
    head = Head(
        after.revision,
        sha,
        after.run,
        after.origin,
        after.started or change.at,
        change.at,
        sum_of(line),
        after.opened,
        {} if change.spent is None else {after.revision - 1: change.spent},
    )
    return Saving(head, line, change.document, digest(settled.sight.data), change.finals)
