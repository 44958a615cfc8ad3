"""The plan document in a commit description: how far it has come, and edits of it tried on paper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from handrail.documents.quote import bounded
from handrail.engine.facts import Value
from handrail.plan import edit
from handrail.plan.format import as_description, format_plan
from handrail.plan.grammar import COMMIT_MESSAGE, COMMITS, Config, Dialect
from handrail.plan.mark import mark_task
from handrail.plan.model import Header, Plan, Refused, State
from handrail.plan.parse import parse
from handrail.plan.problems import Problem
from handrail.plan.stage import Phase, detect_stage, lacking, progress
from handrail.plan.tasks import counts, is_parent, paths
from handrail.shell.facts import Asked, Drafted, Drafter, Reader
from handrail.shell.readers import QUOTED
from handrail.workflows.registry import CHANGED, DESCRIPTION, DIALECTS, OK, PROBLEMS

INVALID: Final = "commit validation failed"
"""What kind of error it is if a text is no valid plan, or would be none."""

_LISTED: Final = 10
_CONFIGS: Final = {str(config.dialect): config for config in (COMMIT_MESSAGE, COMMITS)}
_KINDS: Final[Mapping[str, str]] = {
    "no_tasks_found": "no tasks found",
    "not_all_tasks_complete": "not all tasks complete",
    "task_ambiguous": "task not found",
    "task_not_found": "task not found",
}


def text_of(asked: Asked, path: str = DESCRIPTION) -> str:
    """The description as it was seen."""
    return (asked.sight.read(path) or b"").decode("utf-8", "replace")


def state_of(plan: Plan, config: Config = COMMIT_MESSAGE) -> str:
    """The state that a run is in by its text: how far the plan has come, or why the text is none."""
    if plan.problems or plan.state in {State.UNKNOWN, State.HALTED}:
        return f"text-{plan.state}"
    if config.dialect is Dialect.PLANNER:
        return f"stage-{detect_stage(plan)}"
    stands = progress(plan)
    parts: tuple[str, ...] = ()
    if stands.phase is Phase.PLANNING:
        parts = lacking(plan)[:1]
    elif stands.phase is Phase.EXECUTING:
        parts = ("open",) if stands.current else ("ticked",)
    return "-".join(("phase", stands.phase, *parts))


def _read(asked: Asked, config: Config) -> Plan:
    """The plan; whether files were changed is asked only where it matters: where there is no text at all."""
    text = text_of(asked)
    asks = config.dialect is Dialect.COMMITS and not text.strip()
    return _parsed(text, config, changed=asks and asked.sight.read(CHANGED) is not None)


@lru_cache(maxsize=4)
def _parsed(text: str, config: Config, *, changed: bool) -> Plan:
    """The plan of a text; a turn asks for many facts of the same one."""
    return parse(text, config, has_modifications=changed)


def _plan(asked: Asked, of: tuple[str, ...]) -> Plan:
    return _read(asked, _CONFIGS[of[1]])


def _stage(asked: Asked, of: tuple[str, ...]) -> Value:
    return state_of(_plan(asked, of), _CONFIGS[of[1]])


def _tasks(asked: Asked, of: tuple[str, ...]) -> Value:
    return counts(_plan(asked, of).tasks or ())[0]


def _open(asked: Asked, of: tuple[str, ...]) -> Value:
    total, ticked = counts(_plan(asked, of).tasks or ())
    return total - ticked


def _leaves(asked: Asked, of: tuple[str, ...]) -> list[str]:
    """The paths of the open tasks that have none below them."""
    tasks = _plan(asked, of).tasks or ()
    ways = zip(tasks, paths(tasks), strict=True)
    return [way for i, (task, way) in enumerate(ways) if not task.ticked and not is_parent(tasks, i)]


def _waiting(asked: Asked, of: tuple[str, ...]) -> Value:
    return len(_leaves(asked, of))


def _current(asked: Asked, of: tuple[str, ...]) -> Value:
    return next(iter(_leaves(asked, of)), "")


def _left(asked: Asked, of: tuple[str, ...]) -> Value:
    found = _leaves(asked, of)
    more = [f"and {len(found) - _LISTED} more"] if len(found) > _LISTED else []
    return found[:_LISTED] + more


def _boxes(asked: Asked, of: tuple[str, ...]) -> Value:
    tasks = _plan(asked, of).tasks or ()
    return [f"[{'x' if task.ticked else ' '}] {way}" for task, way in zip(tasks, paths(tasks), strict=True)]


def _lacking(asked: Asked, of: tuple[str, ...]) -> Value:
    return list(lacking(_plan(asked, of)))


def _shown(asked: Asked, of: tuple[str, ...]) -> Value:
    return bounded(text_of(asked), of[0], asked.boundary, QUOTED, kind="the commit")


def problems_of(plan: Plan) -> list[str]:
    """Why a text is no plan, each with its line and its repair."""
    return [_told(one) for one in plan.problems]


def _problems(asked: Asked, of: tuple[str, ...]) -> Value:
    return problems_of(_plan(asked, of))


def _told(problem: Problem) -> str:
    place = f"line {problem.line}: " if problem.line else ""
    return f"{place}{problem.message}; {problem.repair}"


@dataclass(frozen=True, slots=True)
class _Edit:
    """What an edit is made of: the text that was seen and the plan in it, and what came with the event."""

    text: str
    plan: Plan
    payload: Mapping[str, Any]
    config: Config

    def listed(self, name: str) -> list[Any]:
        """A list that came with the event; an empty one if none did."""
        given = self.payload.get(name)
        return given if isinstance(given, list) else []


def _goal(of: _Edit, before: Header | None = None) -> Header:
    """The goal that came with the event; what that leaves out is as it was before."""
    nested = of.config.dialect is Dialect.PLANNER
    given = of.payload.get("goal") if nested else of.payload
    goal: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    name = "title" if nested else "summary"
    kind, scope, breaking, title = (goal.get(key) for key in ("type", "scope", "breaking", name))
    old = before or Header("")
    return Header(
        old.type if kind is None else str(kind),
        old.scope if scope is None else str(scope) or None,
        old.breaking if breaking is None else breaking is True,
        old.title if title is None else str(title),
    )


def _new(of: _Edit) -> Plan | Refused:
    return edit.with_goal(Plan(State.EMPTY), _goal(of), of.config)


def _with_goal(of: _Edit) -> Plan | Refused:
    if of.plan.state in {State.EMPTY, State.PARSED} or of.payload.get("keep") is not True:
        before = of.plan.header if of.config.dialect is Dialect.COMMITS else None
        return edit.with_goal(of.plan, _goal(of, before), of.config)
    made, below = _new(of), as_description(of.text, of.config)
    if isinstance(made, Refused) or below is None:
        return made
    return edit.with_description(made, below, of.config)


def _with_description(of: _Edit) -> Plan | Refused:
    made = edit.with_description(of.plan, str(of.payload.get("description", "")), of.config)
    constraints = of.payload.get("constraints")
    if isinstance(made, Refused) or not isinstance(constraints, list):
        return made
    return edit.with_constraints(made, constraints, of.config)


def _with_constraints(of: _Edit) -> Plan | Refused:
    return edit.with_constraints(of.plan, of.listed("constraints"), of.config)


def _with_tasks(of: _Edit) -> Plan | Refused:
    name = "plan" if of.config.dialect is Dialect.PLANNER else "tasks"
    return edit.with_tasks(of.plan, of.listed(name), of.config)


def _with_mark(of: _Edit) -> Plan | Refused:
    completed = of.payload.get("completed") is not False
    return mark_task(of.plan, str(of.payload.get("task_id", "")), of.config, completed=completed)


def _finished(of: _Edit) -> Plan | Refused:
    return edit.finished(of.plan, of.config)


def _unfinished(of: _Edit) -> Plan | Refused:
    return edit.unfinished(of.plan, of.config)


def _written_anew(of: _Edit) -> Plan | Refused:
    return edit.written_anew(str(of.payload.get("message", "")), of.config)


def _drafter(edited: Callable[[_Edit], Plan | Refused], config: Config) -> Drafter:
    """The edit as a draft: the text it makes, or why it makes none."""

    def drafted(asked: Asked) -> Drafted:
        text, before = text_of(asked), _read(asked, config)
        made = edited(_Edit(text, before, asked.event.payload, config))
        tasks = before.tasks or ()
        complete = [way for task, way in zip(tasks, paths(tasks), strict=True) if task.ticked]
        if isinstance(made, Refused):
            facts = {**_refused(made), "stage": state_of(before, config), "before": complete}
            return Drafted(facts, {"text": text})
        notes = [one.message for one in made.warnings]
        facts = {OK: True, PROBLEMS: [], "error": "", "notes": notes, "before": complete}
        return Drafted({**facts, "stage": state_of(made, config)}, {"text": str(format_plan(made, config))})

    return drafted


def _refused(refused: Refused) -> dict[str, Value]:
    found = [f"{one.field}: {one.message} ({one.code})" for one in refused.findings]
    told = [*map(_told, refused.problems), *found]
    kind = next((_KINDS[one.code] for one in refused.problems if one.code in _KINDS), INVALID)
    return {OK: False, PROBLEMS: told, "error": kind, "notes": []}


PLAN_READERS: Final[Mapping[str, Reader]] = {
    "plan.boxes": _boxes,
    "plan.current": _current,
    "plan.lacking": _lacking,
    "plan.left": _left,
    "plan.open": _open,
    "plan.problems": _problems,
    "plan.shown": _shown,
    "plan.stage": _stage,
    "plan.tasks": _tasks,
    "plan.waiting": _waiting,
}
"""How facts of the plan document are read, by the name of their reader."""

_EDITS: Final[Mapping[str, Callable[[_Edit], Plan | Refused]]] = {
    "finished": _finished,
    "new": _new,
    "unfinished": _unfinished,
    "with_constraints": _with_constraints,
    "with_description": _with_description,
    "with_goal": _with_goal,
    "with_mark": _with_mark,
    "with_tasks": _with_tasks,
    "written_anew": _written_anew,
}

PLAN_DRAFTERS: Final[Mapping[str, Drafter]] = {
    f"{name}.{kind}": _drafter(edited, _CONFIGS[dialect])
    for name, dialect in DIALECTS.items()
    for kind, edited in _EDITS.items()
}
"""How edits of it are tried, by the name of their kind."""
