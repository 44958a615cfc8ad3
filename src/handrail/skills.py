"""The graph of the skills, for people who script it: its states, its conditions, and what follows what.

All of it is read from the workflow that comes with Handrail; nothing of a session is touched. Conditions are
mappings such as `{"type": "item_type", "value": "code"}`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import handrail
from handrail.documents.items import read
from handrail.documents.taskgraph import following, sound
from handrail.engine.explore import leaving, targets
from handrail.engine.facts import Value
from handrail.engine.guards import Guard, Verdict, judge
from handrail.engine.model import Transition as Row
from handrail.engine.model import Workflow
from handrail.engine.skills import skill_of
from handrail.shell.catalog import read_source
from handrail.workflows.load import load

Condition: TypeAlias = Mapping[str, str]

_FILE: Final = "workflows/library/skills/skills/workflow.yaml"
_ALWAYS: Final = "always"
_ITEM_TYPE: Final = "item_type"
_ITEM: Final = "item.type"
_YES_OR_NO: Final[Mapping[str, tuple[str, str]]] = {
    "items.remaining": ("items_remaining", "no_items_remaining"),
    "batches.remaining": ("batches_remaining", "no_batches_remaining"),
}
"""The conditions of each fact that is yes or no: if it is, and if it is not."""


class AmbiguousSkill(ValueError):  # noqa: N818 - no accident: only the stored state could tell
    """Several states have this skill, so its name alone does not say which of them is meant."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A way out of a state, and the condition that opens it."""

    to: str
    condition: Condition


@dataclass(frozen=True, slots=True)
class WorkflowState:
    """A state: its skill, or None where it is walked through at once, and its ways out in their order."""

    id: str
    skill: str | None
    transitions: tuple[Transition, ...]


@dataclass(frozen=True, slots=True)
class TransitionContext:
    """What conditions are about."""

    current_item_type: str | None = None
    items_remaining: bool = False
    batches_remaining: bool = False


def get_workflow_states() -> tuple[WorkflowState, ...]:
    """Every state, in the order of the workflow."""
    return tuple(_states().values())


def get_state(state: str) -> WorkflowState | None:
    """The state of this id, if there is one."""
    return _states().get(state)


def get_skill_for_state(state: str) -> str | None:
    """The skill of a state; None if it has none, or if there is no such state."""
    found = get_state(state)
    return found.skill if found else None


state_to_skill = get_skill_for_state


def skill_to_state(skill: str) -> str | None:
    """The state that has this skill, if one has. Raises `AmbiguousSkill` if several have."""
    found = [state.id for state in get_workflow_states() if state.skill == skill]
    if len(found) > 1:
        raise AmbiguousSkill(f"{len(found)} states have the skill `{skill}`: {', '.join(found)}")
    return next(iter(found), None)


def evaluate_condition(condition: Condition, context: TransitionContext) -> bool:
    """True if a condition holds. Raises `ValueError` for one of another type."""
    kind = condition["type"]
    holds = {
        _ALWAYS: True,
        _ITEM_TYPE: context.current_item_type is not None
        and context.current_item_type == condition.get("value"),
        "items_remaining": context.items_remaining,
        "no_items_remaining": not context.items_remaining,
        "batches_remaining": context.batches_remaining,
        "no_batches_remaining": not context.batches_remaining,
    }
    if kind not in holds:
        raise ValueError(f"there is no condition of the type `{kind}`; there are {', '.join(holds)}")
    return holds[kind]


def get_next_state(state: str, context: TransitionContext) -> str | None:
    """Where the first way out leads whose condition holds; None if there is none, or no such state."""
    found = get_state(state)
    ways = found.transitions if found else ()
    return next((way.to for way in ways if evaluate_condition(way.condition, context)), None)


def build_transition_context(state: Mapping[str, object], design_doc: str | None = None) -> TransitionContext:
    """The context of a session, from its state file as read and the text of its design document.

    Without the document, the counts of the state file say whether items remain. Raises `ValueError` if the
    items of the document cannot be read, with the line.
    """
    batches = state.get("batches")
    left = isinstance(batches, list) and sound(batches) and following(batches) is not None
    if design_doc is None:
        total, documented = state.get("totalItems"), state.get("documentedItems") or 0
        remain = isinstance(total, int) and isinstance(documented, int) and documented < total
        return TransitionContext(None, remain, left)
    items = read(design_doc)
    if items.problems:
        raise ValueError("; ".join(items.problems))
    current = items.current(state.get("currentItem"))
    return TransitionContext(current.type if current else None, bool(items.pending), left)


@cache
def _states() -> Mapping[str, WorkflowState]:
    workflow = _workflow()
    rows = leaving(workflow)
    return {
        name: WorkflowState(name, skill_of(workflow, name) or None, tuple(_ways(workflow, rows[name])))
        for name in workflow.states
    }


def _workflow() -> Workflow:
    loaded = load(read_source(Path(handrail.__file__).parent / _FILE))
    if loaded.workflow is None:
        raise ValueError(f"{_FILE} has problems; install Handrail anew")
    return loaded.workflow


def _ways(workflow: Workflow, rows: tuple[Row, ...]) -> Iterator[Transition]:
    for row in rows:
        for target in targets(workflow, row):
            yield from (Transition(target, condition) for condition in _conditions(row.when))


def _conditions(when: tuple[Guard, ...]) -> Iterator[Condition]:
    """The conditions that open a row: one for each value of the fact that its guard is about."""
    if not when:
        yield {"type": _ALWAYS}
    for guard in when:
        (fact,) = guard.facts
        for value in fact.domain:
            if judge(guard, {fact.name: value}).verdict is Verdict.HOLDS:
                yield _condition(fact.name, value)


def _condition(fact: str, value: Value) -> Condition:
    if fact == _ITEM:
        return {"type": _ITEM_TYPE, "value": str(value)}
    yes, no = _YES_OR_NO[fact]
    return {"type": yes if value else no}
