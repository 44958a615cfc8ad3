"""What a run that is completed comes to: its steps, artifacts, decisions and times, as its steps left them.

Nothing is composed here: every word is one that a step handed in.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from handrail.engine.facts import Value
from handrail.shell.records import Artifact
from handrail.shell.view import StepRow

TYPE: Final = "synthesis"
"""The type of the artifact that it is kept as."""

LONGEST_TITLE: Final = 120


def synthesised(steps: Sequence[StepRow], total_ms: int) -> dict[str, Value]:
    """The synthesis of these completed steps, the last of them at the end."""
    return {
        "outcome_summary": _summary(steps),
        "model_output": {
            "steps_completed": len(steps),
            "artifacts": [artifact for step in steps for artifact in _artifacts(step)],
            "decisions": [decision for step in steps for decision in _listed(step, "decisions")],
            "durations": {
                "total_ms": total_ms,
                "steps": [{"step_name": s.state, "duration_ms": s.duration_ms or 0} for s in steps],
            },
        },
    }


def as_artifact(given_id: str, steps: Sequence[StepRow], synthesis: Mapping[str, Value]) -> Artifact:
    """The artifact that the synthesis of these steps is kept as; it belongs to the last of them."""
    state, agent = (steps[-1].state, steps[-1].agent) if steps else ("", "")
    title = next(iter(_summary(steps).strip().splitlines()), "")[:LONGEST_TITLE]
    return Artifact(given_id, state, agent, TYPE, title, msgspec.json.encode(synthesis).decode())


def _summary(steps: Sequence[StepRow]) -> str:
    """The summary that the last step handed in; empty if it handed in none."""
    found = (steps[-1].output or {}).get("summary") if steps else None
    return found if isinstance(found, str) else ""


def _artifacts(step: StepRow) -> Iterator[Mapping[str, Value]]:
    """The artifacts of a step as its output names them."""
    for item in _listed(step, "artifacts"):
        if isinstance(item, Mapping) and "artifact_id" in item:
            named = {name: item.get(name) for name in ("artifact_id", "type", "title")}
            yield {**named, "step_name": step.state}


def _listed(step: StepRow, name: str) -> Sequence[Value]:
    found = (step.output or {}).get(name)
    return found if isinstance(found, list) else ()
