"""The work of a step, the same for everybody: states in a ring, what a run remembers, what is handed in."""

from typing import Final

STATES: Final = 12
RUNS: Final = 50
"""How many runs a process moves, one after the other."""

NOTE: Final = "What the run has to remember, said at some length. "
REMEMBERED: Final = NOTE * 8
OUTPUT: Final[dict[str, object]] = {
    "summary": "The step is done; what was asked for is in the artifact, and what was found is below.",
    "artifacts": [{"type": "notes", "title": "Notes of the step", "content": "A line of the notes. " * 98}],
    "references": ["src/parser.py", "tests/test_parser.py"],
    "confidence": 0.9,
    "decisions": ["The parser stays as it is"],
    "findings": ["One file has two ends"],
}
