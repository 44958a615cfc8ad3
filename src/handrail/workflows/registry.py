"""What a workflow may name: facts, drafts, effects and filters. A name that is not here fails at load.

The declarations are pure: a fact's `reader` and `of` say how the shell reads it, an effect's class says what
the shell performs.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from handrail.engine.facts import Fact, Kind, Provenance, Type
from handrail.engine.model import Archive, Authority, Describe, Effect, Write
from handrail.plan.grammar import Dialect

OK = "ok"
PROBLEMS = "problems"
PLAN = ("plan.md", "plan")
"""The file of a plan, and the text of a workflow it begins as."""

DESCRIPTION = "description"
"""By what path the description of a commit is read."""

CHANGED = "changed"
"""By what path it is read which file was changed first in that commit; there is nothing if none was."""

DIALECTS: Mapping[str, str] = {"plan": Dialect.PLANNER, "commit": Dialect.COMMITS}
"""How the facts and drafts are called of a description that is read by the rules of a dialect."""

LINKS = ("plan.md", "atlassian/refs")
"""The file whose links are handed on, and the list of those that were."""


DESIGN = "documents/design.md"
GRAPH = "documents/task-graph.md"
"""The files of a session: the design document with its work items, and the task graph."""

ITEM = "currentItem"
BATCHES = "batches"
BATCH = "currentBatch"
"""The variables of a session that are read for facts."""


class DraftKind(Struct, frozen=True):
    """An edit tried on paper: the facts it yields besides `ok` and `problems`, and the values it makes."""

    name: str
    about: str
    facts: Mapping[str, Type] = field(default_factory=dict)
    values: tuple[str, ...] = ("text",)


class Param(Struct, frozen=True):
    """A key of an effect: `path`, `paths`, `draft` (a value of one), `template` (a text) or `flag`."""

    kind: str
    required: bool = False


class EffectKind(Struct, frozen=True):
    """Something that can be done: its keys (the first is its name), and where the state must live for it."""

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


def registry(
    facts: tuple[Fact, ...], drafts: tuple[DraftKind, ...], effects: tuple[EffectKind, ...]
) -> Registry:
    """A registry of these declarations."""
    return Registry(
        {fact.name: fact for fact in facts},
        {draft.name: draft for draft in drafts},
        {effect.name: effect for effect in effects},
    )


def _yes_or_no(name: str, about: str, reader: str, *of: str) -> Fact:
    kind, domain = Type(Kind.BOOL), (True, False)
    return Fact(name, kind, Provenance.OBSERVED, about, domain, closed=True, reader=reader, of=of)


def _exists(name: str, path: str) -> Fact:
    return _yes_or_no(name, f"`{path}` is there", "file.exists", path)


def _count(name: str, about: str, reader: str, *of: str) -> Fact:
    return Fact(name, Type(Kind.INT), Provenance.OBSERVED, about, (0, 1, 2), reader=reader, of=of)


def _quoted(name: str, path: str) -> Fact:
    about = f"the text of `{path}` between boundaries, as untrusted data, cut if long; empty without it"
    return Fact(name, Type(Kind.STRING), Provenance.OBSERVED, about, reader="file.quoted", of=(path,))


def _untouched(name: str, path: str, text: str) -> Fact:
    return _yes_or_no(name, f"`{path}` is, byte for byte, the text `{text}`", "file.untouched", path, text)


def _described(name: str, dialect: str) -> tuple[Fact, ...]:
    """The facts of a commit description that is read as a plan document of a dialect."""
    of = (DESCRIPTION, dialect)

    def told(fact: str, kind: Kind, about: str) -> Fact:
        return Fact(f"{name}.{fact}", Type(kind), Provenance.OBSERVED, about, reader=f"plan.{fact}", of=of)

    document, texts = f"the plan document of `{dialect}`", Kind.STRINGS
    return (
        told("stage", Kind.STRING, f"how far {document} has come; if the text is none, why it is not read"),
        _count(f"{name}.tasks", f"tasks of {document}, on all levels", "plan.tasks", *of),
        _count(f"{name}.open", f"tasks of {document} that are not complete", "plan.open", *of),
        _count(f"{name}.waiting", f"open tasks with none below them, of {document}", "plan.waiting", *of),
        told(
            "current",
            Kind.STRING,
            f"the path of the first open task with none below it, of {document}",
        ),
        told(
            "left",
            texts,
            f"ten paths of open tasks with none below them, of {document}",
        ),
        told("boxes", texts, f"each task of {document} by its path, behind its box"),
        told("lacking", texts, f"which parts {document} has not: description, constraints, tasks"),
        told("problems", texts, f"why the text is not {document}, each with its line and its repair"),
        told("shown", Kind.STRING, "the commit description between boundaries, untrusted, cut if long"),
    )


FACTS = (
    _exists("plan.exists", "plan.md"),
    _exists("task.exists", "task.md"),
    _exists("results.exists", "task-results.md"),
    _exists("comments.exists", "comments.md"),
    _exists("review_task.exists", "review-task.md"),
    _exists("review_results.exists", "review-task-results.md"),
    _untouched("task.untouched", "task.md", "task"),
    _untouched("review_task.untouched", "review-task.md", "review-task"),
    _yes_or_no("comments.empty", "`comments.md` holds nothing but white space", "file.blank", "comments.md"),
    _quoted("plan.quoted", "plan.md"),
    _quoted("task.quoted", "task.md"),
    _quoted("results.quoted", "task-results.md"),
    _quoted("comments.quoted", "comments.md"),
    _quoted("review_task.quoted", "review-task.md"),
    _quoted("review_results.quoted", "review-task-results.md"),
    _count("criteria.total", "acceptance criteria in `plan.md`", "criteria.total", *PLAN),
    _count("criteria.unchecked", "acceptance criteria not checked off yet", "criteria.unchecked", *PLAN),
    _count(
        "links.new",
        "links to Jira and Confluence in `plan.md` that are not in `atlassian/refs`",
        "links.new",
        *LINKS,
    ),
    Fact(
        "links.quoted",
        Type(Kind.STRING),
        Provenance.OBSERVED,
        "these links, each with the name for its file, between boundaries, as many as are handed on at once",
        reader="links.quoted",
        of=LINKS,
    ),
    Fact(
        "task.name",
        Type(Kind.STRING),
        Provenance.OBSERVED,
        "the task's name from the front matter of `task.md`, as a slug, or `untitled`",
        reader="frontmatter.slug",
        of=("task.md", "task_name"),
    ),
    _exists("design.exists", DESIGN),
    _exists("task_graph.exists", GRAPH),
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
        of=(DESIGN, ITEM),
    ),
    Fact(
        "item.type",
        Type(Kind.STRING),
        Provenance.OBSERVED,
        "the type of the current work item in the design document; `code` if there is none",
        domain=("code", "task", "bugfix"),
        closed=True,
        reader="items.type",
        of=(DESIGN, ITEM),
    ),
    _yes_or_no("items.remaining", "a work item is still pending", "items.remaining", DESIGN),
    _count("items.total", "work items in the design document", "items.total", DESIGN),
    _count("items.documented", "work items that are documented", "items.documented", DESIGN),
    Fact(
        "items.problems",
        Type(Kind.STRINGS),
        Provenance.OBSERVED,
        "what is wrong with the work items of the design document, each with its line",
        reader="items.problems",
        of=(DESIGN,),
    ),
    _yes_or_no(
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
    *(fact for name, dialect in DIALECTS.items() for fact in _described(name, dialect)),
)

_TASKS: Mapping[str, Type] = {
    "batches": Type(Kind.JSON, optional=True),
    "completed": Type(Kind.STRINGS),
    "pending": Type(Kind.STRINGS),
}

_PLANNED: Mapping[str, Type] = {
    "stage": Type(Kind.STRING),
    "error": Type(Kind.STRING),
    "notes": Type(Kind.STRINGS),
    "before": Type(Kind.STRINGS),
}

_EDITS: Mapping[str, str] = {
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
"""What can be made of a plan document, in either dialect; `before` are the tasks that were complete."""

DRAFTS = (
    DraftKind(
        "criteria.check_off",
        "check off in `plan.md` the criteria that `task-results.md` lists as satisfied",
        facts={
            "checked": Type(Kind.STRINGS),
            "unmatched": Type(Kind.STRINGS),
            "quoted": Type(Kind.STRING),
        },
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
        facts=_TASKS,
        values=(),
    ),
    DraftKind(
        "batch.complete",
        "complete the current batch, if all its tasks are",
        facts=_TASKS,
        values=(),
    ),
    *(
        DraftKind(f"{name}.{edit}", f"{about}; of the dialect `{dialect}`", facts=_PLANNED)
        for name, dialect in DIALECTS.items()
        for edit, about in _EDITS.items()
    ),
)


def _write(given: Mapping[str, object]) -> Effect:
    return Write(
        path=str(given["write"]),
        source=str(given.get("from", "")),
        template=str(given.get("template", "")),
        if_absent=given.get("if_absent") is True,
    )


def _archive(given: Mapping[str, object]) -> Effect:
    paths = given["archive"]
    return Archive(tuple(map(str, paths)) if isinstance(paths, list) else (str(paths),), str(given["to"]))


def _describe(given: Mapping[str, object]) -> Effect:
    return Describe(str(given["describe"]), given.get("anew") is True)


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
        _write,
        one_of=frozenset({"from", "template"}),
    ),
    EffectKind(
        "archive",
        "move files into a new folder; nothing is ever overwritten, and a missing file is passed over",
        {"archive": Param("paths", required=True), "to": Param("path", required=True)},
        (Authority.FILES,),
        _archive,
    ),
    EffectKind(
        "describe",
        "replace the commit description by a draft's text; with `anew`, leave it and begin another with that",
        {"describe": Param("draft", required=True), "anew": Param("flag")},
        (Authority.DESCRIPTION,),
        _describe,
    ),
)

BUILT_IN = registry(FACTS, DRAFTS, EFFECTS)
"""What every workflow may name."""
