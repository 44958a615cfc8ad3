"""The pure decision, nothing stored: against a dict with two guards, and against other state machines.

A ring of twelve states with two guarded rows for each event. Everybody is measured by the same loop in a
process of its own. Only ours reads its guards from text, keeps the run it was given as it was, and says which
rows were taken.
"""

from typing import Final

from peer import OURS, Side, compared
from rounds import report

FLOOR: Final = "A dict and two guards"


def main(steps: int = 2000, rounds: int = 9) -> None:
    """Print the figures."""
    sides = (
        Side(OURS, "handrail_decisions", theirs=False),
        Side(FLOOR, "bare_decisions", theirs=False),
        Side("transitions", "machines", ("transitions",), "decision_x_transitions", 3),
        Side("python-statemachine", "machines", ("statemachine",), "decision_x_python_statemachine", 25),
    )
    taken = compared("A decision, microseconds", sides, steps, rounds)
    report("decision_x_dict_and_guards", taken[OURS] / taken[FLOOR], 10)


if __name__ == "__main__":
    main()
