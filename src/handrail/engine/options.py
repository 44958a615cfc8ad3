"""What may be called now: the triggers that would not be refused, told without a payload."""

from collections.abc import Mapping

from handrail.engine.choose import Tried, possible
from handrail.engine.facts import Value
from handrail.engine.guards import Verdict
from handrail.engine.lifecycle import CONTINUE, START, TABLE, after
from handrail.engine.model import Event, Option, Run, Step, ToVariable, Who, Workflow
from handrail.engine.walk import World


def options(workflow: Workflow, run: Run, facts: Mapping[str, Value]) -> tuple[Option, ...]:
    """The triggers open to a run, over all its open steps, in the order of the workflow's rows.

    A trigger is open if a row of it neither fails nor refuses before it looks at what comes with the event.
    """
    if after(run.lifecycle, CONTINUE) is None:
        return ()
    found = {}
    for step in here(workflow, run, facts):
        for state, trigger in workflow.index:
            if state == step.state and trigger is not None and _open(workflow, run, step, trigger, facts):
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
            decides = _deciding(workflow, run, step, trigger, facts)
            if _shut(decides, run):
                found[trigger] = decides.row.refuse if decides else ""
    return found


def _open(workflow: Workflow, run: Run, step: Step, trigger: str, facts: Mapping[str, Value]) -> bool:
    return not _shut(_deciding(workflow, run, step, trigger, facts), run)


def _shut(decides: Tried | None, run: Run) -> bool:
    return decides is None or decides.verdict is Verdict.ERROR or _refuses(decides, run)


def _deciding(
    workflow: Workflow, run: Run, step: Step, trigger: str, facts: Mapping[str, Value]
) -> Tried | None:
    """The first row that says whether a trigger is open, whatever comes with the event; None if none does."""
    world = World(workflow, Event(trigger), facts)
    candidates, _ = possible(workflow.index.get((step.state, trigger), ()), world.seen_by(run, step))
    for tried in candidates:
        if tried.verdict is Verdict.ERROR or not (_refuses(tried, run) and tried.row.accept):
            return tried
    return None


def _refuses(tried: Tried, run: Run) -> bool:
    """True if the row, once taken, refuses: it says so, or it goes to the state of an empty variable."""
    row = tried.row
    nowhere = isinstance(row.to, ToVariable) and run.vars.get(row.to.name) is None
    return (bool(row.refuse) or nowhere) and tried.verdict is Verdict.HOLDS
