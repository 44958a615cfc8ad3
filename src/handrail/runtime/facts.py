"""Read facts from the documents of a run, and try edits of them: files, criteria, work items, batches, plans.

Nothing is written. The tables `…_READERS` and `…_DRAFTERS` map the names that workflows use to functions.
A `FactReader` returns one fact; a `Drafter` returns the result of an edit for the decision to look at.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from handrail.documents import task_graph, work_items
from handrail.documents.criteria import MAX_CHARACTERS, Criterion, check_off_criteria, parse_criteria
from handrail.documents.front_matter import parse_front_matter
from handrail.documents.links import find_new_links, format_link_line, limit_links
from handrail.documents.plan import edit
from handrail.documents.plan.edit import mark_task
from handrail.documents.plan.format import format_plan, to_description
from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS, Dialect, PlanConfig
from handrail.documents.plan.model import (
    Header,
    Plan,
    PlanProblem,
    PlanRefusal,
    PlanState,
    count_tasks,
    is_parent,
    list_task_paths,
)
from handrail.documents.plan.model import Task as PlanTask
from handrail.documents.plan.parse import parse_plan
from handrail.documents.plan.stages import Phase, detect_stage, list_missing_parts, measure_progress
from handrail.documents.task_graph import Batch, Task, TaskGraph
from handrail.engine.facts import Value
from handrail.engine.model import Transition, Workflow
from handrail.engine.paths import get_skill
from handrail.runtime.errors import Unreadable
from handrail.runtime.gather import Drafter, DraftResult, FactContext, FactReader
from handrail.runtime.resolve import find_destination, join_text_parts
from handrail.workflows.registry import (
    BATCH_VARIABLE,
    BATCHES_VARIABLE,
    CHANGED_FILE_PATH,
    DESCRIPTION_PATH,
    DESIGN_FILE,
    ITEM_VARIABLE,
    OK_FACT,
    PLAN_DIALECTS,
    PLAN_FILE_AND_TEXT,
    PROBLEMS_FACT,
    TASK_GRAPH_FILE,
)
from handrail.workflows.templates import quote_text

# A longer text is cut where it is quoted, and the quote names the whole file.
MAX_QUOTED_BYTES: Final = 32 * 1024
MAX_SLUG_LENGTH: Final = 64
# The slug of a text without a letter or digit.
UNTITLED: Final = "untitled"
_NON_SLUG: Final = re.compile(r"[^a-z0-9]+")
_CHECK_OFF_DRAFT: Final = "criteria.check_off"
_LAYERS_DRAFT: Final = "taskgraph.layers"
_RESULTS_FILE: Final = "task-results.md"
_MAX_LISTED_CRITERIA: Final = 100
_MAX_CRITERION_CHARACTERS: Final = 300
_MAX_LISTED_TASKS: Final = 10
_VALIDATION_FAILED: Final = "commit validation failed"
_CONFIG_BY_DIALECT: Final = {str(config.dialect): config for config in (COMMIT_MESSAGE, COMMITS)}
_ERROR_KIND_BY_CODE: Final[Mapping[str, str]] = {
    "no_tasks_found": "no tasks found",
    "not_all_tasks_complete": "not all tasks complete",
    "task_ambiguous": "task not found",
    "task_not_found": "task not found",
}


def get_template_text(workflow: Workflow, name: str) -> str:
    """Return a text of the workflow as one file; empty if there is none of this name."""
    text = workflow.texts.get(name)
    return join_text_parts(text.parts) if text else ""


def _read_document(context: FactContext, path: str) -> str:
    """Read a file as text that encodes back to the same bytes, UTF-8 or not; empty if it does not exist.

    Raises `Unreadable` if the file has more than `MAX_CHARACTERS` bytes.
    """
    data = context.snapshot.read(path) or b""
    if len(data) > MAX_CHARACTERS:
        repair = "move what does not belong there into a file of its own, and keep the rest"
        raise Unreadable(f"{path} has {len(data)} bytes; {MAX_CHARACTERS} can be read", repair)
    return data.decode("utf-8", "surrogateescape")


def _find_drafting_rows(context: FactContext, kind: str) -> Iterator[Transition]:
    """Yield the rows of the open states that wait for the event and try an edit of this kind."""
    for step in context.run.open:
        for row in context.workflow.index.get((step.state, context.event.trigger), ()):
            if any(draft_kind == kind for _, draft_kind in row.drafts):
                yield row


def _is_blank(context: FactContext, of: tuple[str, ...]) -> bool:
    data = context.snapshot.read(of[0])
    return data is not None and not data.decode("utf-8-sig", "replace").strip()


def _is_untouched(context: FactContext, of: tuple[str, ...]) -> bool:
    path, name = of
    text = get_template_text(context.workflow, name)
    return name in context.workflow.texts and context.snapshot.read(path) == text.encode()


def _quote_from_file(context: FactContext, path: str, text: str) -> str:
    """Quote text from a file of the run, marked so that the agent does not take it for instructions."""
    label = f"{context.workflow.folder}/{path}".removeprefix("/")
    return quote_text(text, label, context.boundary, MAX_QUOTED_BYTES)


def _quote_file(context: FactContext, of: tuple[str, ...]) -> str:
    data = context.snapshot.read(of[0])
    return "" if data is None else _quote_from_file(context, of[0], data.decode("utf-8", "replace"))


def _read_criteria(context: FactContext, of: tuple[str, ...]) -> tuple[Criterion, ...]:
    path, name = of
    return parse_criteria(_read_document(context, path), get_template_text(context.workflow, name))


def _find_new_links(context: FactContext, of: tuple[str, ...]) -> tuple[str, ...]:
    plan, refs = of
    return find_new_links(_read_document(context, plan), _read_document(context, refs))


def _quote_new_links(context: FactContext, of: tuple[str, ...]) -> str:
    lines = "\n".join(map(format_link_line, limit_links(_find_new_links(context, of))))
    return _quote_from_file(context, of[0], lines) if lines else ""


def make_slug(text: str) -> str:
    """Return a slug: lower-case letters without accents, digits, and single hyphens between them."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NON_SLUG.sub("-", plain.casefold()).strip("-")[:MAX_SLUG_LENGTH].rstrip("-") or UNTITLED


def _read_slug(context: FactContext, of: tuple[str, ...]) -> str:
    path, key = of
    text = (context.snapshot.read(path) or b"").decode("utf-8", "replace")
    value = parse_front_matter(text).fields.get(key, "")
    return make_slug(value if isinstance(value, str) else "")


FILE_READERS: Final[Mapping[str, FactReader]] = {
    "criteria.total": lambda context, of: len(_read_criteria(context, of)),
    "criteria.unchecked": lambda context, of: sum(not one.checked for one in _read_criteria(context, of)),
    "file.blank": _is_blank,
    "file.exists": lambda context, of: context.snapshot.read(of[0]) is not None,
    "file.quoted": _quote_file,
    "file.untouched": _is_untouched,
    "frontmatter.slug": _read_slug,
    "links.new": lambda context, of: len(_find_new_links(context, of)),
    "links.quoted": _quote_new_links,
}


def _draft_check_off(context: FactContext) -> DraftResult:
    """Check off the criteria that the results list, with links to where this turn puts the results."""
    path, name = PLAN_FILE_AND_TEXT
    problems: list[str] = []
    link = _RESULTS_FILE
    try:
        rows = _find_drafting_rows(context, _CHECK_OFF_DRAFT)
        places = sorted({find_destination(context, row, _RESULTS_FILE) for row in rows})
        if len(places) > 1:
            problems = [f"{_RESULTS_FILE} would be kept as {' or '.join(places)}; a link can name one"]
        link = places[0] if places else _RESULTS_FILE
    except KeyError as unknown:
        problems = [f"where {_RESULTS_FILE} is kept depends on {unknown}, which is no fact"]
    if context.snapshot.read(path) is None:
        problems.append(f"{path} is not there")
    plan, results = _read_document(context, path), _read_document(context, _RESULTS_FILE)
    check = check_off_criteria(plan, results, link, get_template_text(context.workflow, name))
    checked, unmatched = _shorten_criteria(check.checked), _shorten_criteria(check.unmatched)
    lines = [
        f"{what} `{path}`: {json.dumps(texts, ensure_ascii=False)}"
        for what, texts in (("checked off in", checked), ("found nowhere in", unmatched))
    ]
    quoted = _quote_from_file(context, _RESULTS_FILE, "\n".join(lines))
    facts = {"checked": checked, "unmatched": unmatched, "quoted": quoted}
    return DraftResult({OK_FACT: not problems, PROBLEMS_FACT: problems, **facts}, {"text": check.text})


def _shorten_criteria(criteria: Sequence[str]) -> list[str]:
    """Limit the number and length of criteria for display, and say how many more there are."""
    most = _MAX_CRITERION_CHARACTERS
    shown = [text if len(text) <= most else f"{text[:most]}…" for text in criteria[:_MAX_LISTED_CRITERIA]]
    more = len(criteria) - _MAX_LISTED_CRITERIA
    return [*shown, f"… and {more} more"] if more > 0 else shown


CRITERIA_DRAFTERS: Final[Mapping[str, Drafter]] = {_CHECK_OFF_DRAFT: _draft_check_off}


def _read_items(context: FactContext, of: tuple[str, ...]) -> work_items.WorkItems:
    return work_items.parse_work_items(_read_document(context, of[0]))


def _read_current_item(context: FactContext, of: tuple[str, ...]) -> work_items.WorkItem | None:
    return _read_items(context, of).find_current(context.run.vars.get(of[1]))


def _read_item_number(context: FactContext, of: tuple[str, ...]) -> Value:
    current = _read_current_item(context, of)
    return current.number if current else None


def _read_item_type(context: FactContext, of: tuple[str, ...]) -> Value:
    current = _read_current_item(context, of)
    return current.type if current and current.type in work_items.ITEM_TYPES else work_items.ITEM_TYPES[0]


def _run_batches(context: FactContext) -> list[Batch]:
    """Return the batches of the run; empty if it has none yet."""
    batches = context.run.vars.get(BATCHES_VARIABLE)
    return batches if isinstance(batches, list) and task_graph.is_batch_list(batches) else []


def _has_remaining_batches(context: FactContext) -> bool:
    """True if a batch remains.

    If a row that may be taken now creates the batches, look at those instead of the batches of the run.
    """
    creating = next(_find_drafting_rows(context, _LAYERS_DRAFT), None)
    batches = _build_layers(context)[0] if creating else _run_batches(context)
    return task_graph.find_next_batch(batches) is not None


def _draft_documented_item(context: FactContext) -> DraftResult:
    """Mark the current item of the run as documented in the design document."""
    design, number = _read_document(context, DESIGN_FILE), context.run.vars.get(ITEM_VARIABLE)
    text = work_items.mark_documented(design, number)
    parsed = work_items.parse_work_items(design if text is None else text)
    problems = list(parsed.problems)
    if text is None:
        problems.append(f"{DESIGN_FILE} has no item {number} any more, which is the one that was worked on")
    counts = {"total": len(parsed.items), "documented": sum(item.documented for item in parsed.items)}
    return DraftResult({OK_FACT: not problems, PROBLEMS_FACT: problems, **counts}, {"text": text or design})


def _draft_layers(context: FactContext) -> DraftResult:
    """Create the batches of the task graph, all pending."""
    batches, problems = _build_layers(context)
    pending = task_graph.list_task_ids(batches, completed=False)
    return DraftResult(
        {OK_FACT: not problems, PROBLEMS_FACT: problems, "batches": batches, "pending": pending}
    )


def _build_layers(context: FactContext) -> tuple[list[Batch], list[str]]:
    """Return the batches, or the problems. A missing task list is a problem, not an empty result."""
    for path in (TASK_GRAPH_FILE, DESIGN_FILE):
        graph = task_graph.parse_task_graph(_read_document(context, path))
        if graph is not None:
            break
    else:
        items = work_items.parse_work_items(_read_document(context, DESIGN_FILE)).items
        graph = TaskGraph(tuple(Task(f"item-{item.number}") for item in items if item.documented))
    if graph.problems:
        return [], [f"{path}: {problem}" for problem in graph.problems]
    if not graph.tasks:
        files = f"{TASK_GRAPH_FILE} or {DESIGN_FILE}"
        return [], [f"there is neither a task graph in {files}, nor an item that is documented"]
    return task_graph.layer_tasks(graph.tasks), []


def _draft_task_update(context: FactContext) -> DraftResult:
    """Set the status of one task in the batches."""
    payload = context.event.payload
    updated = task_graph.update_task(
        _run_batches(context), str(payload.get("task_id", "")), str(payload.get("status", ""))
    )
    if isinstance(updated, str):
        return _batches_draft_result(_run_batches(context), [updated])
    return _batches_draft_result(updated)


def _draft_batch_completion(context: FactContext) -> DraftResult:
    """Complete the current batch."""
    batches, number = _run_batches(context), context.run.vars.get(BATCH_VARIABLE)
    if not isinstance(number, int) or number >= len(batches):
        return _batches_draft_result(batches, ["there is no current batch"])
    return _batches_draft_result(
        task_graph.complete_batch(batches, number), task_graph.describe_open_tasks(batches[number])
    )


def _batches_draft_result(batches: Sequence[Batch], problems: Sequence[str] = ()) -> DraftResult:
    facts: dict[str, Value] = {"batches": list(batches)}
    for name, completed in (("completed", True), ("pending", False)):
        facts[name] = task_graph.list_task_ids(batches, completed=completed)
    return DraftResult({OK_FACT: not problems, PROBLEMS_FACT: list(problems), **facts})


ITEM_READERS: Final[Mapping[str, FactReader]] = {
    "batches.next": lambda context, _: task_graph.find_next_batch(_run_batches(context)),
    "batches.remaining": lambda context, _: _has_remaining_batches(context),
    "items.documented": lambda context, of: sum(item.documented for item in _read_items(context, of).items),
    "items.number": _read_item_number,
    "items.problems": lambda context, of: list(_read_items(context, of).problems),
    "items.remaining": lambda context, of: bool(_read_items(context, of).pending),
    "items.total": lambda context, of: len(_read_items(context, of).items),
    "items.type": _read_item_type,
    "state.skill": lambda context, _: next(
        (get_skill(context.workflow, step.state) for step in context.run.open), ""
    ),
}

ITEM_DRAFTERS: Final[Mapping[str, Drafter]] = {
    "batch.complete": _draft_batch_completion,
    "items.document": _draft_documented_item,
    _LAYERS_DRAFT: _draft_layers,
    "tasks.update": _draft_task_update,
}


def _read_description(context: FactContext) -> str:
    return (context.snapshot.read(DESCRIPTION_PATH) or b"").decode("utf-8", "replace")


def detect_plan_state(plan: Plan, config: PlanConfig = COMMIT_MESSAGE) -> str:
    """Return the state of a run derived from its plan: its progress, or why the text is not a plan."""
    if plan.problems or plan.state in {PlanState.UNKNOWN, PlanState.HALTED}:
        return f"text-{plan.state}"
    if config.dialect is Dialect.PLANNER:
        return f"stage-{detect_stage(plan)}"
    progress = measure_progress(plan)
    parts: tuple[str, ...] = ()
    if progress.phase is Phase.PLANNING:
        parts = list_missing_parts(plan)[:1]
    elif progress.phase is Phase.EXECUTING:
        parts = ("open",) if progress.current else ("ticked",)
    return "-".join(("phase", progress.phase, *parts))


def _read_plan(context: FactContext, config: PlanConfig) -> Plan:
    """Parse the plan. Look for changed files only if that matters: in the commits dialect without text."""
    text = _read_description(context)
    matters = config.dialect is Dialect.COMMITS and not text.strip()
    return _parse_plan(text, config, changed=matters and context.snapshot.read(CHANGED_FILE_PATH) is not None)


@lru_cache(maxsize=4)
def _parse_plan(text: str, config: PlanConfig, *, changed: bool) -> Plan:
    """Parse a plan. Cached, because a turn reads many facts of the same text."""
    return parse_plan(text, config, has_modifications=changed)


def _read_dialect_plan(context: FactContext, of: tuple[str, ...]) -> Plan:
    return _read_plan(context, _CONFIG_BY_DIALECT[of[1]])


def _read_tasks(context: FactContext, of: tuple[str, ...]) -> Sequence[PlanTask]:
    return _read_dialect_plan(context, of).tasks or ()


def _count_open_tasks(context: FactContext, of: tuple[str, ...]) -> int:
    total, ticked = count_tasks(_read_tasks(context, of))
    return total - ticked


def _list_open_leaves(context: FactContext, of: tuple[str, ...]) -> list[str]:
    """Return the paths of open tasks without subtasks."""
    tasks = _read_tasks(context, of)
    paths = zip(tasks, list_task_paths(tasks), strict=True)
    return [path for i, (task, path) in enumerate(paths) if not task.ticked and not is_parent(tasks, i)]


def _list_remaining_tasks(context: FactContext, of: tuple[str, ...]) -> Value:
    paths = _list_open_leaves(context, of)
    more = [f"and {len(paths) - _MAX_LISTED_TASKS} more"] if len(paths) > _MAX_LISTED_TASKS else []
    return paths[:_MAX_LISTED_TASKS] + more


def _list_checkboxes(context: FactContext, of: tuple[str, ...]) -> Value:
    tasks = _read_tasks(context, of)
    paths = zip(tasks, list_task_paths(tasks), strict=True)
    return [f"[{'x' if task.ticked else ' '}] {path}" for task, path in paths]


def describe_plan_problems(plan: Plan) -> list[str]:
    """Return why a text is not a valid plan: each problem with its line and its repair."""
    return [_describe_problem(problem) for problem in plan.problems]


def _describe_problem(problem: PlanProblem) -> str:
    place = f"line {problem.line}: " if problem.line else ""
    return f"{place}{problem.message}; {problem.repair}"


PLAN_READERS: Final[Mapping[str, FactReader]] = {
    "plan.boxes": _list_checkboxes,
    "plan.current": lambda context, of: next(iter(_list_open_leaves(context, of)), ""),
    "plan.lacking": lambda context, of: list(list_missing_parts(_read_dialect_plan(context, of))),
    "plan.left": _list_remaining_tasks,
    "plan.open": _count_open_tasks,
    "plan.problems": lambda context, of: describe_plan_problems(_read_dialect_plan(context, of)),
    "plan.shown": lambda context, of: quote_text(
        _read_description(context), of[0], context.boundary, MAX_QUOTED_BYTES, kind="the commit"
    ),
    "plan.stage": lambda context, of: detect_plan_state(
        _read_dialect_plan(context, of), _CONFIG_BY_DIALECT[of[1]]
    ),
    "plan.tasks": lambda context, of: count_tasks(_read_tasks(context, of))[0],
    "plan.waiting": lambda context, of: len(_list_open_leaves(context, of)),
}


@dataclass(frozen=True, slots=True)
class _PlanEdit:
    """The input of an edit: the current text, the plan parsed from it, and the payload of the event."""

    text: str
    plan: Plan
    payload: Mapping[str, Any]
    config: PlanConfig

    def read_list(self, name: str) -> list[Any]:
        """Return a list from the payload; empty if there is none."""
        values = self.payload.get(name)
        return values if isinstance(values, list) else []


def _read_goal(of: _PlanEdit, before: Header | None = None) -> Header:
    """Return the goal from the payload; parts that it leaves out come from `before`."""
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


def _start_plan(of: _PlanEdit) -> Plan | PlanRefusal:
    return edit.set_goal(Plan(PlanState.EMPTY), _read_goal(of), of.config)


def _edit_goal(of: _PlanEdit) -> Plan | PlanRefusal:
    if of.plan.state in {PlanState.EMPTY, PlanState.PARSED} or of.payload.get("keep") is not True:
        before = of.plan.header if of.config.dialect is Dialect.COMMITS else None
        return edit.set_goal(of.plan, _read_goal(of, before), of.config)
    made, below = _start_plan(of), to_description(of.text, of.config)
    if isinstance(made, PlanRefusal) or below is None:
        return made
    return edit.set_description(made, below, of.config)


def _edit_description(of: _PlanEdit) -> Plan | PlanRefusal:
    made = edit.set_description(of.plan, str(of.payload.get("description", "")), of.config)
    constraints = of.payload.get("constraints")
    if isinstance(made, PlanRefusal) or not isinstance(constraints, list):
        return made
    return edit.set_constraints(made, constraints, of.config)


def _edit_tasks(of: _PlanEdit) -> Plan | PlanRefusal:
    name = "plan" if of.config.dialect is Dialect.PLANNER else "tasks"
    return edit.set_tasks(of.plan, of.read_list(name), of.config)


def _edit_mark(of: _PlanEdit) -> Plan | PlanRefusal:
    completed = of.payload.get("completed") is not False
    return mark_task(of.plan, str(of.payload.get("task_id", "")), of.config, completed=completed)


def _make_drafter(edit_plan: Callable[[_PlanEdit], Plan | PlanRefusal], config: PlanConfig) -> Drafter:
    """Return a drafter for an edit. Its result has the new text, or the problems of the edit."""

    def draft_edit(context: FactContext) -> DraftResult:
        text, before = _read_description(context), _read_plan(context, config)
        made = edit_plan(_PlanEdit(text, before, context.event.payload, config))
        tasks = before.tasks or ()
        complete = [path for task, path in zip(tasks, list_task_paths(tasks), strict=True) if task.ticked]
        facts: dict[str, Value] = {OK_FACT: True, PROBLEMS_FACT: [], "error": "", "before": complete}
        if isinstance(made, PlanRefusal):
            codes = (problem.code for problem in made.problems)
            known = (_ERROR_KIND_BY_CODE[code] for code in codes if code in _ERROR_KIND_BY_CODE)
            findings = [f"{finding.field}: {finding.message} ({finding.code})" for finding in made.findings]
            facts |= {
                OK_FACT: False,
                PROBLEMS_FACT: [*map(_describe_problem, made.problems), *findings],
                "error": next(known, _VALIDATION_FAILED),
                "notes": [],
                "stage": detect_plan_state(before, config),
            }
            return DraftResult(facts, {"text": text})
        notes = [warning.message for warning in made.warnings]
        facts |= {"notes": notes, "stage": detect_plan_state(made, config)}
        return DraftResult(facts, {"text": str(format_plan(made, config))})

    return draft_edit


_PLAN_EDITS: Final[Mapping[str, Callable[[_PlanEdit], Plan | PlanRefusal]]] = {
    "finished": lambda of: edit.finish_plan(of.plan, of.config),
    "new": _start_plan,
    "unfinished": lambda of: edit.reopen_plan(of.plan, of.config),
    "with_constraints": lambda of: edit.set_constraints(of.plan, of.read_list("constraints"), of.config),
    "with_description": _edit_description,
    "with_goal": _edit_goal,
    "with_mark": _edit_mark,
    "with_tasks": _edit_tasks,
    "written_anew": lambda of: edit.parse_writable_plan(str(of.payload.get("message", "")), of.config),
}

PLAN_DRAFTERS: Final[Mapping[str, Drafter]] = {
    f"{name}.{kind}": _make_drafter(edit_plan, _CONFIG_BY_DIALECT[dialect])
    for name, dialect in PLAN_DIALECTS.items()
    for kind, edit_plan in _PLAN_EDITS.items()
}
