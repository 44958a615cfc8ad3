"""State machines of others: a step fires one event, two rows with a guard each between neighbours."""

import sys
from collections.abc import Callable
from typing import Any

from peers.loop import serve
from peers.work import STATES

NAMES = tuple(f"state_{number}" for number in range(STATES))


class Model:
    """What guards read."""

    ready, rounds = True, 0

    def done(self) -> bool:
        """True if the run has gone round often enough."""
        return self.rounds > 9

    def is_ready(self) -> bool:
        """True if the run may go on."""
        return self.ready


def transitions() -> Callable[[], object]:
    """The machine of the package `transitions`."""
    from transitions import Machine  # noqa: PLC0415 - one of two packages is measured

    rows = []
    for number, name in enumerate(NAMES):
        rows += [
            {"trigger": "go", "source": name, "dest": "over", "conditions": "done"},
            {"trigger": "go", "source": name, "dest": NAMES[(number + 1) % STATES], "conditions": "is_ready"},
        ]
    model: Any = Model()
    Machine(model, states=[*NAMES, "over"], transitions=rows, initial=NAMES[0], auto_transitions=False)
    step: Callable[[], object] = model.go
    return step


def statemachine() -> Callable[[], object]:
    """The machine of the package `python-statemachine`."""
    from statemachine import State, StateMachine  # noqa: PLC0415 - the same

    states = {name: State(initial=not number) for number, name in enumerate(NAMES)}
    over, rows = State(final=True), []
    for number, name in enumerate(NAMES):
        rows += [
            states[name].to(over, cond="done"),
            states[name].to(states[NAMES[(number + 1) % STATES]], cond="is_ready"),
        ]
    go = rows[0]
    for row in rows[1:]:
        go |= row
    machine = type("Ring", (StateMachine,), {**states, "over": over, "go": go})(Model())
    step: Callable[[], object] = machine.go
    return step


if __name__ == "__main__":
    serve({"transitions": transitions, "statemachine": statemachine}[sys.argv[1]]())
