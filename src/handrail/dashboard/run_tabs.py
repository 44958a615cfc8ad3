"""The tabs of a run's page: now, plan, graph, timeline, history and artifacts.

Each tab is a `Tab` with a function that builds the values for its template. `load_run_snapshot` reads the run
where it is kept: in the store, in files, or in a commit. Nothing here changes a run.
"""

import dataclasses
import difflib
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, assert_never
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup, escape
from msgspec.structs import replace
from starlette.datastructures import QueryParams

from handrail.app.actions import inspection_command, is_mirrored
from handrail.app.faces import load_message_catalog
from handrail.app.plan_view import AUTO_DIALECT, PlanText, format_plan_problems, parse_plan_text
from handrail.app.run_folders import load_installed_workflow, locate_run_folder
from handrail.app.run_pictures import build_graph_marks, build_run_graph, build_stretches, reconstruct_run
from handrail.app.run_view import CODE_MEANINGS, AwaitedThing, event_cells
from handrail.dashboard.rendering import escape_lines, render_markdown
from handrail.dashboard.viewer import Dashboard, Viewer
from handrail.documents import task_graph, work_items
from handrail.documents.criteria import MAX_CHARACTERS, Criterion, parse_criteria, strip_result_links
from handrail.documents.front_matter import parse_front_matter
from handrail.documents.plan.model import list_task_paths
from handrail.documents.plan.stages import is_finished, measure_progress
from handrail.documents.task_graph import Batch
from handrail.documents.work_items import WorkItems
from handrail.drawing.graph import MAX_OVERVIEW_NODES, Graph, Shape, build_neighbourhood, build_overview
from handrail.drawing.layout import lay_out_graph
from handrail.drawing.marks import RunMarks, explain_reasons
from handrail.drawing.svg import draw_graph_svg
from handrail.drawing.text import escape_xml
from handrail.drawing.timeline import (
    BAR_KINDS,
    RefusedCall,
    TimelineOptions,
    WaitBar,
    assign_refusals,
    build_rows,
    draw_timeline_svg,
)
from handrail.engine.decide import Exit
from handrail.engine.facts import Value
from handrail.engine.lifecycle import is_terminal
from handrail.engine.model import (
    Actor,
    Authority,
    Option,
    Run,
    State,
    Stay,
    ToDerived,
    ToState,
    ToVariable,
    Transition,
    Workflow,
)
from handrail.runtime.entries import EntryKind
from handrail.runtime.errors import Fault, Unreadable
from handrail.runtime.facts import get_template_text
from handrail.runtime.ports.open_store import CommitRun
from handrail.runtime.ports.queries import (
    MAX_EXCERPT_BYTES,
    PAGE_SIZE,
    ArtifactRow,
    RunQueries,
    RunRow,
    StepRow,
    iterate_pages,
)
from handrail.runtime.ports.turn import Files
from handrail.runtime.records import JournalEntry
from handrail.runtime.status import inspect_run
from handrail.workflows.registry import (
    BATCH_VARIABLE,
    BATCHES_VARIABLE,
    DESCRIPTION_PATH,
    DESIGN_FILE,
    ITEM_VARIABLE,
    PLAN_FILE_AND_TEXT,
)
from handrail.workflows.templates import MessageCatalog


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab: its name in the URL and in the catalogue, its template, and the function that fills that.

    `fits` says which runs have the tab.
    """

    name: str
    template: str
    build_context: Callable[[Viewer, RunRow, QueryParams], Mapping[str, object]]
    fits: Callable[[RunRow], bool] = lambda _: True


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run with its workflow, its journal, and the facts that are known.

    `files` has the files of a run that is kept in files, or the text of one in a commit. It is None for a run
    of the store, and for a mirrored run that cannot be read from here; then its variables are unknown too.
    """

    workflow: Workflow
    run: Run
    journal: tuple[JournalEntry, ...]
    facts: Mapping[str, Value] = field(default_factory=dict)
    files: Files | None = None


def load_run_snapshot(board: Dashboard, row: RunRow) -> RunSnapshot:
    """Load the run of a row, with all that is known of it now.

    Raises a `Fault` if its workflow cannot be read. If a mirrored run cannot be read where it is kept, return
    it as the store mirrors it.
    """
    recorded = load_recorded_run(board, row)
    if not is_mirrored(row):
        world = board.app.world
        stored = world.runs.load(row.id)
        if stored is None:
            return recorded
        return dataclasses.replace(recorded, run=stored.run, facts=inspect_run(world, stored).facts or {})
    load = _load_from_files if row.authority is Authority.FILES else _load_from_commit
    try:
        return load(board, row, recorded) or recorded
    except Fault:
        return recorded


def load_recorded_run(board: Dashboard, row: RunRow) -> RunSnapshot:
    """Load the run of a row from the records of the store only.

    Raises a `Fault` if its workflow cannot be read.
    """
    records = board.app.runs
    journal = tuple(iterate_pages(partial(records.journal, run=row.id)))
    if not is_mirrored(row):
        stored = board.app.world.runs.load(row.id)
        if stored is None:
            raise Unreadable("the run is not there any more", "reload the page")
        workflow = board.app.world.workflow_of(stored.run.digest, stored.run.workflow)
    else:
        workflow = load_installed_workflow(row)
    run = reconstruct_run(workflow, row, records.open_steps(row.id), journal)
    return RunSnapshot(workflow, run, journal, {workflow.derive: row.state} if workflow.derive else {})


def _load_from_files(board: Dashboard, row: RunRow, recorded: RunSnapshot) -> RunSnapshot | None:
    folder = locate_run_folder(row, recorded.workflow)
    if folder is None:
        return None
    runs, world = board.app.open_run_folder(folder)
    with runs.take_snapshot():
        stored = runs.load_current()
        if stored.run.id != row.id or not stored.revision:
            return None
        inspected = inspect_run(world, stored)
    run = inspected.stored.run if inspected.stored else stored.run
    return dataclasses.replace(recorded, run=run, facts=inspected.facts or {}, files=world.workspace)


def _load_from_commit(board: Dashboard, row: RunRow, recorded: RunSnapshot) -> RunSnapshot | None:
    """Load the text of a commit only. Do not ask which files have changed: asking may write."""
    if not Path(row.project).is_dir():
        return None
    commit: CommitRun = board.app.project_runs.open_commit_run(
        Path(row.project), board.app.world, recorded.workflow
    )
    commit.load(row.id)
    return dataclasses.replace(recorded, files=commit) if commit.mirror_id == row.id else None


# How many entries are searched at most; older ones are left out.
_MAX_SEARCHED_ENTRIES: Final = 5000

# The kinds of entries that are hidden unless they are asked for.
_ROUTINE_KINDS: Final = frozenset(
    {
        EntryKind.TOKEN_GENERATED,
        EntryKind.TOKEN_VALIDATED,
        EntryKind.TOKEN_EXPIRED,
        EntryKind.ARTIFACT_STORED,
        EntryKind.COMMENT_TOLD,
    }
)
# The kinds of entries that the filter `failed` shows.
_FAILURE_KINDS: Final = frozenset({EntryKind.ERROR_OCCURRED, EntryKind.STEP_FAILED})
# Who must act, the most urgent first.
_ACTORS: Final = (AwaitedThing.PERSON, AwaitedThing.FACTS, AwaitedThing.OUTPUT, AwaitedThing.CALL)


def build_history_context(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:
    """Build the context of the history: the matching entries before number `before`, the newest first."""
    records = viewer.board.app.runs
    entries = deque(iterate_pages(partial(records.journal, run=row.id)), _MAX_SEARCHED_ENTRIES)
    only, text = query.get("only", ""), query.get("q", "").strip()
    matching = [one for one in reversed(entries) if _is_match(one, only, text)]
    before = query.get("before", "")
    if before.isascii() and before.isdecimal():
        matching = [one for one in matching if one.number < int(before[:18])]
    return {
        "entries": matching[:PAGE_SIZE],
        "more": matching[PAGE_SIZE - 1].number if len(matching) > PAGE_SIZE else 0,
        "only": only,
        "text": text,
        "meanings": CODE_MEANINGS,
        "failed": _FAILURE_KINDS,
    }


def _is_match(record: JournalEntry, only: str, text: str) -> bool:
    if only == "failed" and record.entry.kind not in _FAILURE_KINDS:
        return False
    if only == "" and not text and record.entry.kind in _ROUTINE_KINDS:
        return False
    return text.lower() in " ".join(event_cells(record)).lower()


HISTORY_TAB: Final = Tab("history", "history.html", build_history_context)


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word that a person says to the agent, and what it does."""

    word: str
    about: str


@dataclass(frozen=True, slots=True)
class MirroredRunHelp:
    """How to move a mirrored run: the words that count now, and the `command` that shows its status."""

    words: tuple[SpokenWord, ...]
    command: str


def describe_mirrored_run(board: Dashboard, row: RunRow) -> MirroredRunHelp | None:
    """Say how to move a run that the store only mirrors; None for a run of this store.

    If the run cannot be read from here, no words are known.
    """
    if not is_mirrored(row):
        return None
    words: tuple[SpokenWord, ...] = ()
    with suppress(Fault):
        if row.authority is Authority.FILES:
            words = _list_words(board, row, load_installed_workflow(row))
    hidden = replace(row, project=board.app.projects.hide(row.project))
    return MirroredRunHelp(words, inspection_command(hidden))


def _list_words(board: Dashboard, row: RunRow, workflow: Workflow) -> tuple[SpokenWord, ...]:
    """Return the words that a person may say now without being refused."""
    folder = locate_run_folder(row, workflow)
    if folder is None:
        return ()
    runs, world = board.app.open_run_folder(folder)
    with runs.take_snapshot():
        stored = runs.load(row.id)
        options: tuple[Option, ...] = inspect_run(world, stored).options if stored and stored.revision else ()
    tools = (workflow.tools[one.trigger] for one in options if one.trigger in workflow.tools)
    return tuple(
        SpokenWord(tool.name, tool.about.partition(". ")[0]) for tool in tools if tool.who is Actor.PERSON
    )


def build_now_context(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:
    """Build the context of the first tab: the run's steps and waits, and the words to say to its agent."""
    view = viewer.board.app.view(row)
    kinds = {wait.what for wait in view.waits}
    return {
        "whole": view,
        "words": suggest_words(row),
        "meanings": CODE_MEANINGS,
        "actor": next((str(kind) for kind in _ACTORS if kind in kinds), "nobody"),
        "acted": query,
        "elsewhere": describe_mirrored_run(viewer.board, row),
    }


def suggest_words(row: RunRow) -> str:
    """Return what a person says to the agent of a run so that it goes on; empty if the run is over."""
    if is_terminal(row.lifecycle):
        return ""
    t, name = load_message_catalog(), f"say.{row.face}"
    return t(name if name in t else "say.other", run=row.id)


NOW_TAB: Final = Tab("now", "now.html", build_now_context)
_WIDE_PIXELS: Final = 1040.0
# The two widths in which the timeline is drawn; the page shows the one that fits.
_NARROW_PIXELS: Final = 400.0
_NO_TIME: Final = timedelta()


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A row of the table: its text, its anchor on the page, its state, and its numbers.

    `waited` has the time waited for each kind: the agent, a person and so on.
    """

    text: str
    place: str
    state: str
    began: datetime
    lasts: bool
    waited: Mapping[str, timedelta]
    refused: int

    @property
    def total(self) -> timedelta:
        """The sum of all times waited."""
        return sum(self.waited.values(), _NO_TIME)


def build_timeline_context(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:
    """Build the context of the timeline: the picture in two widths, and its numbers.

    With `linear`, idle times are not shortened.
    """
    hide = viewer.board.app.projects.hide
    try:
        loaded = load_recorded_run(viewer.board, row)
    except Fault as fault:
        return {"fault": (hide(fault.message), hide(fault.repair))}
    stretches, refused = build_stretches(loaded.workflow, loaded.journal, viewer.board.app.now())
    lines, linear = tuple(_build_rows(stretches, refused)), "linear" in query
    wide, narrow = (
        draw_timeline_svg(
            load_message_catalog(),
            row.workflow,
            stretches,
            refused,
            TimelineOptions(width, linear, standalone=False, links=True),
        )
        for width in (_WIDE_PIXELS, _NARROW_PIXELS)
    )
    kinds = tuple(kind for kind in BAR_KINDS if any(kind in line.waited for line in lines))
    return {
        "fault": None,
        "linear": linear,
        "kinds": kinds,
        "lines": lines,
        "sums": {kind: sum((one.waited.get(kind, _NO_TIME) for one in lines), _NO_TIME) for kind in kinds},
        "whole": sum((line.total for line in lines), _NO_TIME),
        "refusals": sum(line.refused for line in lines),
        "wide": Markup(wide),  # noqa: S704 - well-formed, all text escaped
        "narrow": Markup(narrow),  # noqa: S704 - well-formed, all text escaped
    }


def _build_rows(stretches: Sequence[WaitBar], refused: Sequence[RefusedCall]) -> Iterator[TimelineRow]:
    rows = build_rows(load_message_catalog(), stretches)
    flags = assign_refusals(rows, refused)
    for index, row in enumerate(rows):
        states = {one.state for one in row.stretches}
        waits: dict[str, timedelta] = {}
        for one in row.stretches:
            waits[one.kind] = waits.get(one.kind, _NO_TIME) + (one.ended - one.began)
        yield TimelineRow(
            row.text,
            row.link,
            states.pop() if len(states) == 1 else "",
            row.stretches[0].began,
            any(one.lasts for one in row.stretches),
            waits,
            len(flags.get(index, ())),
        )


TIMELINE_TAB: Final = Tab("timeline", "timeline.html", build_timeline_context)
# Matches a text that is meant to be rendered as Markdown; code and diffs do not match.
_MARKDOWN_SIGN: Final = re.compile(r"^(#{1,6} |```|\|.+\||> |[*] |\d+[.] )|\]\(", re.MULTILINE)
# How many lines of each text are compared: many more could take minutes.
_MAX_COMPARED_LINES: Final = 2000


def build_artifacts_context(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:
    """Build the context of the artifacts: the list, and the text of number `n`, or of the last one.

    The text is rendered unless `raw` is set. With `from`, the context also has the changes since that one.
    """
    records = viewer.board.app.runs
    listed = list(iterate_pages(partial(records.artifacts, row.id)))
    chosen = _find_artifact(listed, query.get("n", "")) or (listed[-1] if listed else None)
    other = _find_artifact(listed, query.get("from", ""))
    text = _load_text(records, row, chosen)
    data = _format_if_json(text)
    plain = "raw" in query or len(text) > MAX_EXCERPT_BYTES or bool(data) or not _MARKDOWN_SIGN.search(text)
    return {
        "artifacts": listed,
        "chosen": chosen,
        "other": other,
        "raw": "raw" in query,
        "text": escape_lines((data if "raw" not in query else "") or text[:MAX_EXCERPT_BYTES]),
        "cut": len(text) > MAX_EXCERPT_BYTES,
        "html": None if plain else render_markdown(text),
        "changes": _diff_lines(_load_text(records, row, other), text) if other else None,
    }


def _find_artifact(listed: list[ArtifactRow], number: str) -> ArtifactRow | None:
    return next((one for one in listed if str(one.number) == number), None)


def _load_text(records: RunQueries, row: RunRow, artifact: ArtifactRow | None) -> str:
    content = records.content(row.id, artifact.number) if artifact else None
    return content or ""


def _format_if_json(text: str) -> str:
    """Indent a text that is a JSON object or list; empty if it is not, or too long."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > MAX_EXCERPT_BYTES:
        return ""
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return ""


def _diff_lines(old: str, new: str) -> list[tuple[str, str]]:
    """Return the lines of a diff, each with its kind: `added`, `gone`, `same` or `place`."""
    before, after = (escape_lines(text).split("\n")[:_MAX_COMPARED_LINES] for text in (old, new))
    kinds = {"+": "added", "-": "gone", "@": "place", " ": "same"}
    lines = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return [(kinds[line[0]], line if line[0] == "@" else line[1:]) for line in lines]


ARTIFACTS_TAB: Final = Tab("artifacts", "artifacts.html", build_artifacts_context)
WHOLE, OVERVIEW, AROUND = "whole", "overview", "around"
VIEWS: Final = (WHOLE, OVERVIEW, AROUND)
# How many transitions away from the current state the view `around` reaches.
_AROUND_HOPS: Final = 2
# How many visits and artifacts of a state are shown, the newest ones.
_MAX_VISITS: Final = 12
_NOTE_PREFIX: Final = "state.note."
_cached_layout: Final = lru_cache(maxsize=32)(lay_out_graph)


@dataclass(frozen=True, slots=True)
class GraphView:
    """The view of the graph that the URL asks for: its kind, the opened groups, and the chosen state."""

    view: str
    opened: tuple[str, ...]
    state: str

    def url(self, *, view: str = "", opened: Sequence[str] | None = None, state: str | None = None) -> str:
        """Return the URL of the same page with another view."""
        groups = self.opened if opened is None else opened
        chosen = self.state if state is None else state
        given = [("view", view or self.view), *(("open", one) for one in groups)]
        return "?" + urlencode([*given, *([("state", chosen)] if chosen else [])])

    @property
    def without(self) -> Mapping[str, str]:
        """The URL that closes each opened group, by the name of the group."""
        return {one: self.url(opened=[name for name in self.opened if name != one]) for one in self.opened}


@dataclass(frozen=True, slots=True)
class OutgoingRow:
    """A row out of a state: its guards, its target, and if the run is there, whether it is open and why.

    `kind` says what `target` is: the name of a `state`, or of the variable (`returns`) or fact (`derives`)
    that has its name. For `stays` and `refuses`, it is empty.
    """

    row: Transition
    guards: tuple[str, ...]
    kind: str
    target: str
    way: Exit | None
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StateDetails:
    """A state: what it asks for, the rows out of it, and the run's visits to it with their artifacts.

    `task` is the task of its brief. `notes` are its extra fields that the catalogue has a title for; `texts`
    are the extra fields with several words, which faces show.
    """

    state: State
    task: Markup
    notes: tuple[tuple[str, str], ...]
    texts: tuple[Markup, ...]
    current: bool
    often: int
    rows: tuple[OutgoingRow, ...]
    visits: tuple[StepRow, ...]
    artifacts: tuple[ArtifactRow, ...]


def build_graph_context(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:
    """Build the context of the graph: the picture, and the details of the chosen state."""
    t, hide = load_message_catalog(), viewer.board.app.projects.hide
    try:
        snapshot = load_run_snapshot(viewer.board, row)
    except Fault as fault:
        return {"fault": (hide(fault.message), hide(fault.repair))}
    marks = build_graph_marks(snapshot.workflow, snapshot.run, snapshot.facts, snapshot.journal)
    whole, derives = build_run_graph(t, snapshot.workflow, marks), bool(snapshot.workflow.derive)
    graph = dataclasses.replace(whole, notes=()) if derives else whole
    usual = WHOLE if len(graph.nodes) <= MAX_OVERVIEW_NODES else OVERVIEW
    wanted, state = query.get("view", ""), query.get("state", "")
    view = GraphView(
        wanted if wanted in VIEWS else usual,
        tuple(dict.fromkeys(query.getlist("open"))),
        state if state in snapshot.workflow.states else "",
    )
    drawn = _select_part(t, graph, marks, view)
    picture = draw_graph_svg(t, drawn, _cached_layout(drawn), marks, standalone=False, links="g")
    return {
        "fault": None,
        "seen": view,
        "views": VIEWS,
        "derives": derives,
        "large": len(graph.nodes) > MAX_OVERVIEW_NODES,
        "states": tuple(snapshot.workflow.states),
        "groups": any(node.shape is Shape.GROUP for node in drawn.nodes),
        "picture": _link_states(picture, view),
        "chosen": _load_state_details(viewer, row, snapshot, marks, view.state),
        "near": not is_mirrored(row) or snapshot.files is not None,
        "initial": snapshot.workflow.initial,
    }


def _select_part(t: MessageCatalog, graph: Graph, marks: RunMarks, view: GraphView) -> Graph:
    kept = (*marks.current, *([view.state] if view.state else []))
    match view.view:
        case "overview":
            return build_overview(t, graph, kept, view.opened)
        case "around":
            return build_neighbourhood(t, graph, kept, _AROUND_HOPS) if kept else graph
        case _:
            return graph


def _link_states(picture: str, view: GraphView) -> Markup:
    """Point the links of the picture to this page, and mark the chosen state.

    All text in a picture is escaped, so whatever looks like an attribute is one.
    """
    base = escape(view.url(state=""))
    linked = picture.replace(' href="#state=', f' href="{base}&amp;state=')
    linked = linked.replace(' href="#group=', f' href="{base}&amp;open=')
    attribute = f' data-state="{escape_xml(view.state)}"'
    return Markup(linked.replace(attribute, f"{attribute} data-chosen"))  # noqa: S704 - well-formed, all text escaped


def _load_state_details(
    viewer: Viewer, row: RunRow, snapshot: RunSnapshot, marks: RunMarks, name: str
) -> StateDetails | None:
    if not name:
        return None
    records, workflow = viewer.board.app.runs, snapshot.workflow
    steps = [one for one in iterate_pages(partial(records.steps, row.id)) if one.state == name]
    artifacts = [one for one in iterate_pages(partial(records.artifacts, row.id)) if one.step == name]
    state = workflow.states[name]
    extra = [(key, value) for key, value in state.extra.items() if isinstance(value, str)]
    return StateDetails(
        state,
        render_markdown(state.brief.task if state.brief else ""),
        tuple((key, value) for key, value in extra if f"{_NOTE_PREFIX}{key}" in load_message_catalog()),
        tuple(render_markdown(value) for _, value in extra if " " in value),
        name in marks.current,
        marks.visits.get(name, 0),
        tuple(_list_outgoing_rows(workflow, marks, name)),
        tuple(steps[: -_MAX_VISITS - 1 : -1]),
        tuple(artifacts[: -_MAX_VISITS - 1 : -1]),
    )


def _list_outgoing_rows(workflow: Workflow, marks: RunMarks, name: str) -> Iterator[OutgoingRow]:
    ways = {way.row: way for way in marks.ways if way.source == name}
    for row in workflow.rows:
        if name in row.sources:
            way, guards = ways.get(row.id), tuple(guard.text for guard in (*row.when, *row.accept))
            why = explain_reasons(load_message_catalog(), way.why if way else ())
            yield OutgoingRow(row, guards, *_describe_target(row), way, why)


def _describe_target(row: Transition) -> tuple[str, str]:
    """Return the kind and the name of a row's target."""
    if row.refuse:
        return "refuses", ""
    match row.to:
        case ToState(name):
            return "state", name
        case ToVariable(name):
            return "returns", name
        case ToDerived(fact):
            return "derives", fact
        case Stay():
            return "stays", ""
        case _:
            assert_never(row.to)


GRAPH_TAB: Final = Tab("graph", "graph.html", build_graph_context)
# The extra field of a state that names the file it is about.
_FILE_NOTE: Final = "sign"
_FILE_EXISTS: Final = "file.exists"


@dataclass(frozen=True, slots=True)
class RunDocument:
    """A file of a run as a page shows it; `now` is True for the one that the run is about."""

    path: str
    html: Markup | None
    text: str
    now: bool


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan document as it was read, with its title, the path of each task, and its progress."""

    read: PlanText
    title: str
    paths: tuple[str, ...]
    current: str | None
    total: int
    ticked: int
    finished: bool
    wrong: str


@dataclass(frozen=True, slots=True)
class WorkItemsView:
    """The items of a design document and the batches of tasks, with the current item and batch."""

    items: WorkItems
    current: int | None
    batches: Sequence[Batch]
    batch: int | None
    tasks: int
    done: int


@dataclass(frozen=True, slots=True)
class RunTexts:
    """The files of a run by path. If they are not `near`, the texts are what the store last mirrored."""

    near: bool
    by_path: Mapping[str, str] = field(default_factory=dict)

    def text_of(self, path: str) -> str:
        """Return the text of a file; empty if there is none."""
        return self.by_path.get(path, "")


def build_plan_context(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:  # noqa: ARG001 - the signature of every tab
    """Build the context of the plan: the texts that the run works on."""
    hide = viewer.board.app.projects.hide
    try:
        snapshot = load_run_snapshot(viewer.board, row)
        texts = _load_texts(viewer.board.app.runs, row, snapshot)
    except Fault as fault:
        return {"fault": (hide(fault.message), hide(fault.repair))}
    described = row.authority is Authority.DESCRIPTION
    worked = not described and BATCHES_VARIABLE in snapshot.workflow.vars
    return {
        "fault": None,
        "near": texts.near,
        "described": described,
        "plan": _describe_plan(texts.text_of(DESCRIPTION_PATH)) if described and texts.near else None,
        "worked": _describe_work_items(snapshot, texts) if worked else None,
        "criteria": () if described or worked else _list_criteria(snapshot.workflow, texts),
        "documents": () if described else tuple(_list_documents(snapshot, texts)),
    }


def _load_texts(records: RunQueries, row: RunRow, snapshot: RunSnapshot) -> RunTexts:
    """Load the texts of a run. Raises a `Fault` if a file cannot be read."""
    if row.authority is Authority.DESCRIPTION:
        data = snapshot.files.read(DESCRIPTION_PATH) if snapshot.files else None
        return RunTexts(snapshot.files is not None, {DESCRIPTION_PATH: _decode_text(data or b"")})
    paths = tuple(
        dict.fromkeys(f.of[0] for f in snapshot.workflow.facts.values() if f.reader == _FILE_EXISTS)
    )
    if snapshot.files is None:
        numbers = {one.title: one.number for one in iterate_pages(partial(records.artifacts, row.id))}
        contents = {path: records.content(row.id, numbers[path]) for path in paths if path in numbers}
    else:
        read = {path: snapshot.files.read(path) for path in paths}
        contents = {path: None if data is None else _decode_text(data) for path, data in read.items()}
    texts = {path: text for path, text in contents.items() if text is not None}
    return RunTexts(snapshot.files is not None, texts)


def _decode_text(data: bytes) -> str:
    """Decode a file; of one that is too long to be parsed, only the beginning."""
    return data[:MAX_CHARACTERS].decode("utf-8", "replace")


def _describe_plan(text: str) -> PlanView | None:
    """Describe the plan in a text; None if the text is empty."""
    if not text.strip():
        return None
    read = parse_plan_text(text, DESCRIPTION_PATH, AUTO_DIALECT)
    progress = measure_progress(read.plan)
    return PlanView(
        read,
        text.partition("\n")[0],
        list_task_paths(read.plan.tasks or ()),
        progress.current,
        progress.total,
        progress.ticked,
        is_finished(read.plan),
        format_plan_problems(read),
    )


def _list_criteria(workflow: Workflow, texts: RunTexts) -> tuple[Criterion, ...]:
    path, name = PLAN_FILE_AND_TEXT
    criteria = parse_criteria(texts.text_of(path), get_template_text(workflow, name))
    return tuple(Criterion(strip_result_links(one.text), one.checked) for one in criteria)


def _describe_work_items(snapshot: RunSnapshot, texts: RunTexts) -> WorkItemsView:
    variables = snapshot.run.vars
    items, stored = work_items.parse_work_items(texts.text_of(DESIGN_FILE)), variables.get(BATCHES_VARIABLE)
    batches: Sequence[Batch] = stored if isinstance(stored, list) and task_graph.is_batch_list(stored) else ()
    current, batch = items.find_current(variables.get(ITEM_VARIABLE)), variables.get(BATCH_VARIABLE)
    done = task_graph.list_task_ids(batches, completed=True)
    return WorkItemsView(
        items,
        current.number if current and not current.documented else None,
        batches,
        batch if isinstance(batch, int) else None,
        len(done) + len(task_graph.list_task_ids(batches, completed=False)),
        len(done),
    )


def _list_documents(snapshot: RunSnapshot, texts: RunTexts) -> Iterator[RunDocument]:
    """Yield the files of a run, the one that it is about first."""
    worked = BATCHES_VARIABLE in snapshot.workflow.vars
    main = "" if worked else _find_main_file(snapshot, tuple(texts.by_path))
    for path, text in sorted(texts.by_path.items(), key=lambda one: one[0] != main):
        short = len(text) <= MAX_EXCERPT_BYTES
        html = render_markdown(parse_front_matter(text).body) if short else None
        yield RunDocument(path, html, escape_lines(text[:MAX_EXCERPT_BYTES]), path == main)


def _find_main_file(snapshot: RunSnapshot, paths: Sequence[str]) -> str:
    """Return the file that the run is about.

    It is the one that its state names, else the last one besides the plan, else the plan.
    """
    states = snapshot.workflow.states
    signs = {states[one.state].extra.get(_FILE_NOTE) for one in snapshot.run.open if one.state in states}
    others = [path for path in paths if path != PLAN_FILE_AND_TEXT[0]]
    return next((path for path in paths if path in signs), [PLAN_FILE_AND_TEXT[0], *others][-1])


# Runs that are kept in the store are not about a text: they have artifacts instead.
PLAN_TAB: Final = Tab("plan", "plan.html", build_plan_context, is_mirrored)
