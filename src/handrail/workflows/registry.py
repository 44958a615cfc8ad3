"""Declare what a workflow may name: facts, drafts and effects. An unknown name fails at load.

The declarations are pure. A fact's `reader` and `of` say how the runtime reads it; an effect's class says
what the runtime does.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from msgspec import Struct, field

from handrail.documents.plan.grammar import Dialect
from handrail.documents.work_items import ITEM_TYPES
from handrail.engine.facts import Fact, Kind, Provenance, Type
from handrail.engine.model import Archive, Authority, Describe, Effect, Write

OK_FACT = "ok"
PROBLEMS_FACT = "problems"

# The file of a plan, and the name of the workflow text it starts as.
PLAN_FILE_AND_TEXT = ("plan.md", "plan")

# The path under which the description of a commit is read.
DESCRIPTION_PATH = "description"

# The path under which the first changed file of that commit is read; nothing if no file changed.
CHANGED_FILE_PATH = "changed"

# The name prefix of facts and drafts of a commit description, and the dialect it is read in.
PLAN_DIALECTS: Mapping[str, str] = {"plan": Dialect.PLANNER, "commit": Dialect.COMMITS}

# The file whose links are handed on, and the list of those already handed on.
LINK_FILES = ("plan.md", "atlassian/refs")

# The files of a session: the design document with its work items, and the task graph.
DESIGN_FILE = "documents/design.md"
TASK_GRAPH_FILE = "documents/task-graph.md"

# The variables of a session that facts are read from.
ITEM_VARIABLE = "currentItem"
BATCHES_VARIABLE = "batches"
BATCH_VARIABLE = "currentBatch"


class DraftKind(Struct, frozen=True):
    """A trial edit: the facts it yields besides `ok` and `problems`, and the values it makes."""

    name: str
    about: str
    facts: Mapping[str, Type] = field(default_factory=dict)
    values: tuple[str, ...] = ("text",)


class Param(Struct, frozen=True):
    """A key of an effect: `path`, `paths`, `draft` (a value of one), `template` (a text) or `flag`."""

    kind: str
    required: bool = False


class EffectKind(Struct, frozen=True):
    """An effect: its keys (the first is its name), and the authorities that allow it."""

    name: str
    about: str
    params: Mapping[str, Param]
    authorities: tuple[Authority, ...]
    build: Callable[[Mapping[str, object]], Effect]
    one_of: frozenset[str] = frozenset()


class Registry(Struct, frozen=True):
    """Everything a workflow may name, by name."""

    facts: Mapping[str, Fact]
    drafts: Mapping[str, DraftKind]
    effects: Mapping[str, EffectKind]


def build_registry(
    facts: tuple[Fact, ...], drafts: tuple[DraftKind, ...], effects: tuple[EffectKind, ...]
) -> Registry:
    """Build a registry of these declarations."""
    return Registry(
        {fact.name: fact for fact in facts},
        {draft.name: draft for draft in drafts},
        {effect.name: effect for effect in effects},
    )


def _declare_boolean(name: str, about: str, reader: str, *of: str) -> Fact:
    kind, domain = Type(Kind.BOOL), (True, False)
    return Fact(name, kind, Provenance.OBSERVED, about, domain, closed=True, reader=reader, of=of)


def _declare_count(name: str, about: str, reader: str, *of: str) -> Fact:
    return Fact(name, Type(Kind.INT), Provenance.OBSERVED, about, (0, 1, 2), reader=reader, of=of)


def _declare_text(name: str, about: str, reader: str, *of: str, kind: Kind = Kind.STRING) -> Fact:
    return Fact(name, Type(kind), Provenance.OBSERVED, about, reader=reader, of=of)


def _declare_untouched(name: str, path: str, text: str) -> Fact:
    about = f"`{path}` is, byte for byte, the text `{text}`"
    return _declare_boolean(name, about, "file.untouched", path, text)


def _declare_plan_facts(name: str, dialect: str) -> Iterator[Fact]:
    """Yield the facts of a commit description that is read as a plan document of a dialect."""
    document, text, texts, count = f"the plan document of `{dialect}`", Kind.STRING, Kind.STRINGS, Kind.INT
    facts = {
        "stage": (text, f"how far {document} has come; if the text is none, why it is not read"),
        "tasks": (count, f"tasks of {document}, on all levels"),
        "open": (count, f"tasks of {document} that are not complete"),
        "waiting": (count, f"open tasks with none below them, of {document}"),
        "current": (text, f"the path of the first open task with none below it, of {document}"),
        "left": (texts, f"ten paths of open tasks with none below them, of {document}"),
        "boxes": (texts, f"each task of {document} by its path, behind its box"),
        "lacking": (texts, f"which parts {document} has not: description, constraints, tasks"),
        "problems": (texts, f"why the text is not {document}, each with its line and its repair"),
        "shown": (text, "the commit description between boundaries, untrusted, cut if long"),
    }
    for fact, (kind, about) in facts.items():
        declare = _declare_count if kind is count else partial(_declare_text, kind=kind)
        yield declare(f"{name}.{fact}", about, f"plan.{fact}", DESCRIPTION_PATH, dialect)


_TASK_FILES = {
    "plan": "plan.md",
    "task": "task.md",
    "results": "task-results.md",
    "comments": "comments.md",
    "review_task": "review-task.md",
    "review_results": "review-task-results.md",
}
_QUOTED = "between boundaries, as untrusted data, cut if long; empty without it"
_ITEM_SOURCE = (DESIGN_FILE, ITEM_VARIABLE)

FACTS = (
    *(_declare_boolean(f"{n}.exists", f"`{f}` is there", "file.exists", f) for n, f in _TASK_FILES.items()),
    _declare_untouched("task.untouched", "task.md", "task"),
    _declare_untouched("review_task.untouched", "review-task.md", "review-task"),
    _declare_boolean(
        "comments.empty", "`comments.md` holds nothing but white space", "file.blank", "comments.md"
    ),
    *(
        _declare_text(f"{name}.quoted", f"the text of `{file}` {_QUOTED}", "file.quoted", file)
        for name, file in _TASK_FILES.items()
    ),
    _declare_count(
        "criteria.total", "acceptance criteria in `plan.md`", "criteria.total", *PLAN_FILE_AND_TEXT
    ),
    _declare_count(
        "criteria.unchecked",
        "acceptance criteria not checked off yet",
        "criteria.unchecked",
        *PLAN_FILE_AND_TEXT,
    ),
    _declare_count(
        "links.new",
        "links to Jira and Confluence in `plan.md` that are not in `atlassian/refs`",
        "links.new",
        *LINK_FILES,
    ),
    _declare_text(
        "links.quoted",
        "these links, each with the name for its file, between boundaries, as many as are handed on at once",
        "links.quoted",
        *LINK_FILES,
    ),
    _declare_text(
        "task.name",
        "the task's name from the front matter of `task.md`, as a slug, or `untitled`",
        "frontmatter.slug",
        *("task.md", "task_name"),
    ),
    _declare_boolean("design.exists", f"`{DESIGN_FILE}` is there", "file.exists", DESIGN_FILE),
    _declare_boolean("task_graph.exists", f"`{TASK_GRAPH_FILE}` is there", "file.exists", TASK_GRAPH_FILE),
    Fact(
        "skill.expected",
        Type(Kind.STRING),
        Provenance.MEASURED,
        "the skill of the state that the run is in, or empty",
        reader="state.skill",
    ),
    Fact(
        "item.number",
        Type(Kind.INT, optional=True),
        Provenance.OBSERVED,
        "the number of the current work item, or null: that of the run if it is pending, else the first",
        domain=(1, 2, None),
        reader="items.number",
        of=_ITEM_SOURCE,
    ),
    Fact(
        "item.type",
        Type(Kind.STRING),
        Provenance.OBSERVED,
        "the type of the current work item in the design document; `code` if there is none",
        domain=ITEM_TYPES,
        closed=True,
        reader="items.type",
        of=_ITEM_SOURCE,
    ),
    _declare_boolean("items.remaining", "a work item is still pending", "items.remaining", DESIGN_FILE),
    _declare_count("items.total", "work items in the design document", "items.total", DESIGN_FILE),
    _declare_count("items.documented", "work items that are documented", "items.documented", DESIGN_FILE),
    _declare_text(
        "items.problems",
        "what is wrong with the work items of the design document, each with its line",
        "items.problems",
        DESIGN_FILE,
        kind=Kind.STRINGS,
    ),
    _declare_boolean(
        "batches.remaining",
        "a task batch is still to be done; where a row makes the batches, one of those it would make",
        "batches.remaining",
    ),
    Fact(
        "batch.next",
        Type(Kind.INT, optional=True),
        Provenance.MEASURED,
        "the number, from 0, of the first batch that is not completed, or null",
        domain=(0, 1, None),
        reader="batches.next",
    ),
    *(fact for name, dialect in PLAN_DIALECTS.items() for fact in _declare_plan_facts(name, dialect)),
)

_TASK_DRAFT_FACTS: Mapping[str, Type] = {
    "batches": Type(Kind.JSON, optional=True),
    "completed": Type(Kind.STRINGS),
    "pending": Type(Kind.STRINGS),
}

_PLAN_DRAFT_FACTS: Mapping[str, Type] = {
    "stage": Type(Kind.STRING),
    "error": Type(Kind.STRING),
    "notes": Type(Kind.STRINGS),
    "before": Type(Kind.STRINGS),
}

# The edits of a plan document, in either dialect; the fact `before` lists the tasks that were complete.
_PLAN_EDITS: Mapping[str, str] = {
    "finished": "the plan document that says that it is complete",
    "new": "a new plan document with the goal that came with the event",
    "unfinished": "the plan document that does not say that it is complete",
    "with_constraints": "the plan document with the constraints that came with the event",
    "with_description": "the plan document with the description, and the constraints if any, that came",
    "with_goal": "the plan document with the goal that came; with `keep`, over a text that is none",
    "with_mark": "the plan document with the task that came with the event complete, or open",
    "with_tasks": "the plan document with the tasks that came with the event",
    "written_anew": "the plan document that the message is which came with the event, all of it or nothing",
}

DRAFTS = (
    DraftKind(
        "criteria.check_off",
        "check off in `plan.md` the criteria that `task-results.md` lists as satisfied",
        facts={"checked": Type(Kind.STRINGS), "unmatched": Type(Kind.STRINGS), "quoted": Type(Kind.STRING)},
    ),
    DraftKind(
        "items.document",
        "set the status line of the run's work item to documented",
        facts={"total": Type(Kind.INT), "documented": Type(Kind.INT)},
    ),
    DraftKind(
        "taskgraph.layers",
        "layer the task graph into batches; without one, a task for each documented work item",
        facts={"batches": Type(Kind.JSON, optional=True), "pending": Type(Kind.STRINGS)},
        values=(),
    ),
    DraftKind(
        "tasks.update",
        "set the task that came with the event to the status that came with it",
        facts=_TASK_DRAFT_FACTS,
        values=(),
    ),
    DraftKind(
        "batch.complete",
        "complete the current batch, if all its tasks are",
        facts=_TASK_DRAFT_FACTS,
        values=(),
    ),
    *(
        DraftKind(f"{name}.{edit}", f"{about}; of the dialect `{dialect}`", facts=_PLAN_DRAFT_FACTS)
        for name, dialect in PLAN_DIALECTS.items()
        for edit, about in _PLAN_EDITS.items()
    ),
)


def _build_write(arguments: Mapping[str, object]) -> Effect:
    return Write(
        path=str(arguments["write"]),
        source=str(arguments.get("from", "")),
        template=str(arguments.get("template", "")),
        if_absent=arguments.get("if_absent") is True,
    )


def _build_archive(arguments: Mapping[str, object]) -> Effect:
    paths = arguments["archive"]
    return Archive(tuple(map(str, paths)) if isinstance(paths, list) else (str(paths),), str(arguments["to"]))


def _build_describe(arguments: Mapping[str, object]) -> Effect:
    return Describe(str(arguments["describe"]), arguments.get("anew") is True)


EFFECTS = (
    EffectKind(
        "write",
        "write a file from a draft's text or from a template; with `if_absent`, leave one that is there",
        {
            "write": Param("path", required=True),
            "from": Param("draft"),
            "template": Param("template"),
            "if_absent": Param("flag"),
        },
        (Authority.FILES,),
        _build_write,
        one_of=frozenset({"from", "template"}),
    ),
    EffectKind(
        "archive",
        "move files into a new folder; nothing is ever overwritten, and a missing file is passed over",
        {"archive": Param("paths", required=True), "to": Param("path", required=True)},
        (Authority.FILES,),
        _build_archive,
    ),
    EffectKind(
        "describe",
        "replace the commit description by a draft's text; with `anew`, leave it and begin another with that",
        {"describe": Param("draft", required=True), "anew": Param("flag")},
        (Authority.DESCRIPTION,),
        _build_describe,
    ),
)

BUILT_IN_REGISTRY = build_registry(FACTS, DRAFTS, EFFECTS)
