"""Handrail: a step is one decision of the engine, with its guards and what it says of the move."""

from handrail.engine.decide import decide
from handrail.engine.model import Accepted, Actor, Event, Run, Workflow
from handrail.workflows.load import WorkflowSource, load_workflow
from peers.loop import serve
from peers.work import STATES


def workflow() -> Workflow:
    """A ring, two rows with a guard each between neighbours."""
    lines = ["workflow: ring", "version: 1", "authority: files", "tools: {go: {who: person}}", "vars:"]
    lines += ["  ready: {type: bool, default: true}", "  rounds: {type: int, default: 0}", "states:"]
    lines += [f"  state_{number}: {{about: Part {number}}}" for number in range(STATES)]
    lines += ["  over: {terminal: true}", "transitions:"]
    for n in range(STATES):
        after = (n + 1) % STATES
        lines += [
            f"  - {{id: A{n}, from: state_{n}, trigger: go, when: ['run.vars.rounds > 9'], to: over}}",
            f"  - {{id: B{n}, from: state_{n}, trigger: go, when: [run.vars.ready], to: state_{after}}}",
        ]
    loaded = load_workflow(WorkflowSource("ring.yaml", "\n".join(lines)))
    if loaded.workflow is None:
        raise SystemExit(f"the workflow of this benchmark must be sound: {loaded.problems}")
    return loaded.workflow


class Walk:
    """A run that goes round and round."""

    def __init__(self) -> None:
        self._ring = workflow()
        self.run = Run("r", self._ring.name, self._ring.digest)
        self.move(Event("start", by=Actor.PERSON))
        self._go = Event("go", by=Actor.PERSON)

    def move(self, event: Event) -> None:
        """Decide, and stand where the decision leads."""
        decision = decide(self._ring, self.run, event, {})
        if not isinstance(decision, Accepted):
            raise SystemExit(f"the event was refused: {decision}")
        self.run = decision.run

    def go(self) -> None:
        """To the next state."""
        self.move(self._go)


if __name__ == "__main__":
    serve(Walk().go)
