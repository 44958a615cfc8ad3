"""The public Python API for the skills workflow: its states, their conditions, and the next state.

Everything is read from the workflow that comes with Handrail; sessions are not touched. Conditions are
mappings such as `{"type": "item_type", "value": "code"}`. These names and this import path are stable.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import handrail
from handrail.app.catalog import read_source
from handrail.documents.task_graph import find_next_batch, is_batch_list
from handrail.documents.work_items import parse_work_items
from handrail.engine.guards import Guard, Verdict, evaluate_guard
from handrail.engine.paths import get_skill, group_rows_by_state, list_targets
from handrail.workflows.load import load_workflow

Condition: TypeAlias = Mapping[str, str]
_FILE: Final = "workflows/library/skills/skills/workflow.yaml"
_ALWAYS: Final = "always"
_ITEM_TYPE: Final = "item_type"
_ITEM: Final = "item.type"

# The two condition types of each boolean fact: for True and for False.
_YES_OR_NO: Final[Mapping[str, tuple[str, str]]] = {
    "items.remaining": ("items_remaining", "no_items_remaining"),
    "batches.remaining": ("batches_remaining", "no_batches_remaining"),
}


class AmbiguousSkill(ValueError):  # noqa: N818 - not a failure: only the stored state identifies one
    """Several states have this skill, so its name alone does not identify a state."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A transition to another state, and its condition."""

    to: str
    condition: Condition


@dataclass(frozen=True, slots=True)
class WorkflowState:
    """A state: its skill, and its transitions in order. `skill` is None if runs pass straight through."""

    id: str
    skill: str | None
    transitions: tuple[Transition, ...]


@dataclass(frozen=True, slots=True)
class TransitionContext:
    """The values that conditions test."""

    current_item_type: str | None = None
    items_remaining: bool = False
    batches_remaining: bool = False


def get_workflow_states() -> tuple[WorkflowState, ...]:
    """Return every state, in the order of the workflow."""
    return tuple(_states().values())


def get_state(state: str) -> WorkflowState | None:
    """Return the state with this id, or None."""
    return _states().get(state)


def get_skill_for_state(state: str) -> str | None:
    """Return the skill of a state; None if it has none or does not exist."""
    found = get_state(state)
    return found.skill if found else None


state_to_skill = get_skill_for_state


def skill_to_state(skill: str) -> str | None:
    """Return the state with this skill, or None. Raises `AmbiguousSkill` if several states have it."""
    found = [state.id for state in get_workflow_states() if state.skill == skill]
    if len(found) > 1:
        raise AmbiguousSkill(f"{len(found)} states have the skill `{skill}`: {', '.join(found)}")
    return next(iter(found), None)


def evaluate_condition(condition: Condition, context: TransitionContext) -> bool:
    """True if a condition holds. Raises `ValueError` for an unknown type of condition."""
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
    """Return the target of the first transition whose condition holds; None if there is none."""
    found = get_state(state)
    ways = found.transitions if found else ()
    return next((way.to for way in ways if evaluate_condition(way.condition, context)), None)


def build_transition_context(state: Mapping[str, object], design_doc: str | None = None) -> TransitionContext:
    """Build the context of a session from its parsed state file and the text of its design document.

    Without the document, the counts in the state file decide if items remain. Raises `ValueError`, with the
    line, if the items of the document cannot be parsed.
    """
    batches = state.get("batches")
    left = isinstance(batches, list) and is_batch_list(batches) and find_next_batch(batches) is not None
    if design_doc is None:
        total, documented = state.get("totalItems"), state.get("documentedItems") or 0
        remain = isinstance(total, int) and isinstance(documented, int) and documented < total
        return TransitionContext(None, remain, left)
    items = parse_work_items(design_doc)
    if items.problems:
        raise ValueError("; ".join(items.problems))
    current = items.find_current(state.get("currentItem"))
    return TransitionContext(current.type if current else None, bool(items.pending), left)


@cache
def _states() -> Mapping[str, WorkflowState]:
    workflow = load_workflow(read_source(Path(handrail.__file__).parent / _FILE)).workflow
    if workflow is None:
        raise ValueError(f"{_FILE} has problems; install Handrail anew")
    rows = group_rows_by_state(workflow)
    states = {}
    for name in workflow.states:
        transitions = tuple(
            Transition(target, condition)
            for row in rows[name]
            for target in list_targets(workflow, row)
            for condition in _list_conditions(row.when)
        )
        states[name] = WorkflowState(name, get_skill(workflow, name) or None, transitions)
    return states


def _list_conditions(when: tuple[Guard, ...]) -> Iterator[Condition]:
    """Yield the conditions that open a row: one for each fact value that its guard accepts."""
    if not when:
        yield {"type": _ALWAYS}
    for guard in when:
        (fact,) = guard.facts
        for value in fact.domain:
            if evaluate_guard(guard, {fact.name: value}).verdict is not Verdict.HOLDS:
                continue
            if fact.name == _ITEM:
                yield {"type": _ITEM_TYPE, "value": str(value)}
            else:
                yes, no = _YES_OR_NO[fact.name]
                yield {"type": yes if value else no}
