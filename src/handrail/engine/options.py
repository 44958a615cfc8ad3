"""What may be called now: the triggers that would not be refused, told without a payload."""

from collections.abc import Mapping

from handrail.engine.asking import door
from handrail.engine.facts import Value
from handrail.engine.guards import ERROR, FAILS, HOLDS, Verdict
from handrail.engine.known import Stand
from handrail.engine.lifecycle import CONTINUE, START, TABLE, after
from handrail.engine.model import Event, Option, Run, Step, ToVariable, Transition, Who, Workflow


def options(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> tuple[Option, ...]:
    """The triggers open to a run, over all its open steps, in the order of the workflow's rows.

    A trigger is open if a row of it neither fails nor refuses before it looks at what comes with the event.
    """
    if after(run.lifecycle, CONTINUE) is None:
        return ()
    found = {}
    for step in here(workflow, run, facts):
        for state, trigger in workflow.index:
            if state != step.state or trigger is None:
                continue
            if not _shut(_deciding(Stand(workflow, Event(trigger), facts, run, step)), run):
                tool = workflow.tools.get(trigger)
                found[trigger] = Option(trigger, tool.who if tool else Who.AGENT)
    return tuple(found.values())


def outside(run: Run) -> tuple[Option, ...]:
    """What the lifecycle allows for a run that is not under way."""
    return tuple(Option(word, Who.AGENT if word == START else Who.PERSON) for word in TABLE[run.lifecycle])


def here(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> tuple[Step, ...]:
    """The open steps; where the state is derived, one that exists for this question only."""
    if workflow.derive:
        state = facts.get(workflow.derive)
        return (Step(0, state if isinstance(state, str) else "", 1),)
    return run.open


def closed(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> Mapping[str, str]:
    """The tools that would be refused now, in their order, each with the text of the row that refuses it.

    The text is empty where no row says why. A tool that only reads is never refused.
    """
    found = {}
    for step in here(workflow, run, facts):
        for trigger in (name for name, tool in workflow.tools.items() if not tool.reads):
            decides = _deciding(Stand(workflow, Event(trigger), facts, run, step))
            if _shut(decides, run):
                found[trigger] = decides[0].refuse if decides else ""
    return found


def _shut(decides: tuple[Transition, Verdict] | None, run: Run) -> bool:
    return decides is None or decides[1] is ERROR or _refuses(*decides, run)


def _deciding(stand: Stand) -> tuple[Transition, Verdict] | None:
    """The first row that says whether a trigger is open, whatever comes with the event; None if none does."""
    met = door(stand.workflow, stand.step.state, stand.event.trigger)
    for asking in met.rows if met else ():
        row, verdict = asking.row, asking.when(stand)
        if verdict is ERROR or (
            verdict is not FAILS and not (row.accept and _refuses(row, verdict, stand.run))
        ):
            return row, verdict
    return None


def _refuses(row: Transition, verdict: Verdict, run: Run) -> bool:
    """True if the row, once taken, refuses: it says so, or it goes to the state of an empty variable."""
    nowhere = isinstance(row.to, ToVariable) and run.vars.get(row.to.name) is None
    return (bool(row.refuse) or nowhere) and verdict is HOLDS
