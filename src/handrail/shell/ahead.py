"""What lies ahead of a run whose state is read from a text: what is open there, and what keeps the rest."""

from collections.abc import Mapping
from dataclasses import dataclass

from handrail.engine.model import Event, State
from handrail.engine.options import closed
from handrail.shell.facts import Gathered, Sight
from handrail.shell.records import Stored
from handrail.shell.resolve import Values, said
from handrail.shell.standing import look
from handrail.shell.turn import Outcome
from handrail.shell.world import World


@dataclass(frozen=True, slots=True)
class Ahead:
    """How the run is shown, its state and what that says, and what the rows say that refuse a trigger."""

    shown: Outcome
    state: State
    says: Mapping[str, str]
    closed: Mapping[str, Mapping[str, str]]


def ahead(world: World, stored: Stored, left: Mapping[str, bytes | None]) -> Ahead:
    """What lies ahead by the files as they are, or as a turn will have `left` them."""
    shown = look(world, stored, Sight(world.workspace, left))
    workflow, run, facts = world.workflow_of(stored), (shown.stored or stored).run, shown.facts or {}
    state, at = workflow.states[str(facts[workflow.derive])], world.clock.now()
    values = Values(workflow, run, Event(""), Gathered(facts, {}), run)

    def told(name: str) -> Mapping[str, str]:
        return said(workflow, name, values, at) if name else {}

    shut = {trigger: told(name) for trigger, name in closed(workflow, run, facts).items()}
    return Ahead(shown, state, told(state.say), shut)
