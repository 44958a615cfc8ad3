"""A workflow with three hundred states in groups, and one whose words mean harm."""

from collections.abc import Iterator
from typing import Final

import msgspec

STATES: Final = 300
_PHASES: Final = 30


def build_large_text() -> str:
    """Three hundred states in a row, ten to a phase, with a way back at the end of each phase."""
    names = [f"state-{number:03d}" for number in range(STATES)]
    states = {
        name: {"agent": "implementer", "task": "Go on.", "phase": f"phase-{number * _PHASES // STATES:02d}"}
        for number, name in enumerate(names)
    }
    answer = {
        "workflow": "large",
        "version": 1,
        "authority": "sql",
        "states": {**states, "done": {"terminal": True}},
        "transitions": list(_rows([*names, "done"])),
    }
    return msgspec.yaml.encode(answer).decode()


def _rows(names: list[str]) -> Iterator[dict[str, object]]:
    for number, name in enumerate(names[:-1]):
        if number % 10 == 9:
            back = names[number - 9]
            when = ["output.confidence < 0.5"]
            yield {"id": f"B{number}", "from": name, "trigger": "continue", "accept": when, "to": back}
        yield {"id": f"R{number}", "from": name, "trigger": "continue", "to": names[number + 1]}
