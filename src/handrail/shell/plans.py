"""The plan document in a commit description: how far it has come, and edits of it tried on paper."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from handrail.engine.facts import Value
from handrail.plan import edit
from handrail.plan.format import as_description, format_plan
from handrail.plan.mark import mark_task
from handrail.plan.model import Header, Plan, Refused, State
from handrail.plan.parse import parse
from handrail.plan.problems import Problem
from handrail.plan.stage import detect_stage
from handrail.plan.tasks import counts
from handrail.shell.facts import Asked, Drafted, Drafter, Reader
from handrail.workflows.registry import DESCRIPTION, OK, PROBLEMS

INVALID: Final = "commit validation failed"
"""What kind of error it is if a text is no valid plan, or would be none."""

_KINDS: Final[Mapping[str, str]] = {
    "no_tasks_found": "no tasks found",
    "not_all_tasks_complete": "not all tasks complete",
    "task_ambiguous": "task not found",
    "task_not_found": "task not found",
}


def text_of(asked: Asked, path: str = DESCRIPTION) -> str:
    """The description as it was seen."""
    return (asked.sight.read(path) or b"").decode("utf-8", "replace")


def state_of(plan: Plan) -> str:
    """The state that a run is in by its text: the stage of a plan, or why the text is none."""
    read = plan.state in {State.EMPTY, State.PARSED}
    return f"stage-{detect_stage(plan)}" if read else f"text-{plan.state}"


def _plan(asked: Asked, of: tuple[str, ...] = (DESCRIPTION,)) -> Plan:
    return parse(text_of(asked, of[0]))


def _stage(asked: Asked, of: tuple[str, ...]) -> Value:
    return state_of(_plan(asked, of))


def _tasks(asked: Asked, of: tuple[str, ...]) -> Value:
    return counts(_plan(asked, of).tasks or ())[0]


def _open(asked: Asked, of: tuple[str, ...]) -> Value:
    total, ticked = counts(_plan(asked, of).tasks or ())
    return total - ticked


def problems_of(plan: Plan) -> list[str]:
    """Why a text is no plan, each with its line and its repair."""
    return [_told(one) for one in plan.problems]


def _problems(asked: Asked, of: tuple[str, ...]) -> Value:
    return problems_of(_plan(asked, of))


def _told(problem: Problem) -> str:
    place = f"line {problem.line}: " if problem.line else ""
    return f"{place}{problem.message}; {problem.repair}"


def _goal(asked: Asked) -> Header:
    given = asked.event.payload.get("goal")
    goal: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    scope, title = (str(goal[name]) if name in goal else None for name in ("scope", "title"))
    return Header(str(goal.get("type", "")), scope, goal.get("breaking") is True, title)


def _new(asked: Asked) -> Plan | Refused:
    return edit.with_goal(Plan(State.EMPTY), _goal(asked))


def _with_goal(asked: Asked) -> Plan | Refused:
    plan, header = _plan(asked), _goal(asked)
    if plan.state in {State.EMPTY, State.PARSED} or asked.event.payload.get("keep") is not True:
        return edit.with_goal(plan, header)
    made = _new(asked)
    below = as_description(text_of(asked))
    return made if isinstance(made, Refused) or below is None else edit.with_description(made, below)


def _with_description(asked: Asked) -> Plan | Refused:
    payload = asked.event.payload
    made = edit.with_description(_plan(asked), str(payload.get("description", "")))
    constraints = payload.get("constraints")
    if isinstance(made, Refused) or not isinstance(constraints, list):
        return made
    return edit.with_constraints(made, constraints)


def _with_tasks(asked: Asked) -> Plan | Refused:
    given = asked.event.payload.get("plan")
    return edit.with_tasks(_plan(asked), given if isinstance(given, list) else [])


def _with_mark(asked: Asked) -> Plan | Refused:
    payload = asked.event.payload
    completed = payload.get("completed") is not False
    return mark_task(_plan(asked), str(payload.get("task_id", "")), completed=completed)


def _finished(asked: Asked) -> Plan | Refused:
    return edit.finished(_plan(asked))


def _drafter(edited: Callable[[Asked], Plan | Refused]) -> Drafter:
    """The edit as a draft: the text it makes, or why it makes none."""

    def drafted(asked: Asked) -> Drafted:
        made = edited(asked)
        if isinstance(made, Refused):
            return _refused(asked, made)
        notes = [one.message for one in made.warnings]
        facts = {OK: True, PROBLEMS: [], "stage": state_of(made), "error": "", "notes": notes}
        return Drafted(facts, {"text": str(format_plan(made))})

    return drafted


def _refused(asked: Asked, refused: Refused) -> Drafted:
    found = [f"{one.field}: {one.message} ({one.code})" for one in refused.findings]
    told = [*map(_told, refused.problems), *found]
    kind = next((_KINDS[one.code] for one in refused.problems if one.code in _KINDS), INVALID)
    facts = {OK: False, PROBLEMS: told, "stage": state_of(_plan(asked)), "error": kind, "notes": []}
    return Drafted(facts, {"text": text_of(asked)})


PLAN_READERS: Final[Mapping[str, Reader]] = {
    "plan.open": _open,
    "plan.problems": _problems,
    "plan.stage": _stage,
    "plan.tasks": _tasks,
}
"""How facts of the plan document are read, by the name of their reader."""

PLAN_DRAFTERS: Final[Mapping[str, Drafter]] = {
    "plan.finished": _drafter(_finished),
    "plan.new": _drafter(_new),
    "plan.with_description": _drafter(_with_description),
    "plan.with_goal": _drafter(_with_goal),
    "plan.with_mark": _drafter(_with_mark),
    "plan.with_tasks": _drafter(_with_tasks),
}
"""How edits of it are tried, by the name of their kind."""
