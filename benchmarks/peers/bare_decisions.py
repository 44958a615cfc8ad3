"""The floor: a step is a look into a dict and the guards it finds, and nothing is said of the move."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from peers.loop import serve
from peers.work import STATES


@dataclass(slots=True)
class Model:
    """What guards read."""

    state: str = "state_0"
    ready: bool = True
    rounds: int = 0


Rows: TypeAlias = Sequence[tuple[Callable[[Model], bool], str]]
ROWS: Final[Mapping[tuple[str, str], Rows]] = {
    (f"state_{n}", "go"): (
        (lambda model: model.rounds > 9, "over"),
        (lambda model: model.ready, f"state_{(n + 1) % STATES}"),
    )
    for n in range(STATES)
}


def go(model: Model) -> None:
    """To the next state."""
    for guard, to in ROWS[model.state, "go"]:
        if guard(model):
            model.state = to
            return


def main() -> None:
    """Serve."""
    model = Model()
    serve(lambda: go(model))


if __name__ == "__main__":
    main()
