"""The run of a folder, from what a recovery leaves: as the last turn left it, or as a state file says."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from handrail.documents.statefile import Standing
from handrail.engine.facts import Value
from handrail.engine.model import Lifecycle, Run, Step
from handrail.shell.records import Origin, Stored
from handrail.stores.layout import Head
from handrail.stores.mend import Settled
from handrail.stores.recovery import Action
from handrail.telemetry.entries import Entry, EntryKind


@dataclass(frozen=True, slots=True)
class Idle:
    """The run as it is when new, and the states in which it is over."""

    run: Run
    origin: Origin
    ends: Collection[str]


_SAID = {
    "edited": "the state file was changed since the last turn; it is taken as it stands",
    "found": "the state file was there without a history of its own; it is taken as it stands",
    "rebuilt": "what Handrail knew of the run was gone or damaged; it goes on from the history",
}

_KINDS = {
    "edited": EntryKind.STATE_ADOPTED,
    "found": EntryKind.STATE_ADOPTED,
    "rebuilt": EntryKind.STATE_REPAIRED,
}


def stored_of(settled: Settled, idle: Idle) -> Stored:
    """The run of the folder."""
    head, run = settled.sight.head, _run(settled, idle)
    stored = Stored(
        run,
        idle.origin,
        settled.sight.base.revision if settled.sight.base else 0,
        trouble=settled.trouble,
        adopted=_SAID.get(settled.row.id, ""),
    )
    if not isinstance(head, Head):
        return stored
    return replace(
        stored,
        origin=head.origin,
        started=head.started,
        updated=head.updated,
        active=head.updated,
        opened={step.number: head.opened[step.number] for step in run.open if step.number in head.opened},
    )


def entries(settled: Settled, stored: Stored) -> tuple[Entry, ...]:
    """What is entered with the next turn, if the run was not taken as the last turn left it."""
    kind = _KINDS.get(settled.row.id)
    if kind is None or not isinstance(settled.sight.standing, Standing):
        return ()
    data = {"why": settled.row.id, "revision": stored.revision}
    return (Entry(kind, step=settled.sight.standing.state, data=data),)


def taken(run: Run, idle: Idle, state: str, given: Mapping[str, Value]) -> Run:
    """The run, put into a state: in the step that is open there, or in a new one."""
    variables = {**idle.run.vars, **given}
    if state in idle.ends:
        return replace(run, lifecycle=Lifecycle.COMPLETED, open=(), vars=variables)
    lifecycle = Lifecycle.PAUSED if run.lifecycle is Lifecycle.PAUSED else Lifecycle.RUNNING
    if [step.state for step in run.open] == [state]:
        return replace(run, lifecycle=lifecycle, vars=variables)
    number, attempt = run.steps + 1, run.attempts.get(state, 0) + 1
    return replace(
        run,
        lifecycle=lifecycle,
        open=(Step(number, state, attempt),),
        steps=number,
        attempts={**run.attempts, state: attempt},
        vars=variables,
        reason="",
    )


def _run(settled: Settled, idle: Idle) -> Run:
    base, standing = settled.sight.base, settled.sight.standing
    known = base.run if base else idle.run
    if settled.row.action is Action.TELL:
        return replace(idle.run, id=known.id, steps=known.steps)
    if settled.row.id in {"edited", "found"} and isinstance(standing, Standing):
        return taken(known, idle, standing.state, standing.variables)
    return known
