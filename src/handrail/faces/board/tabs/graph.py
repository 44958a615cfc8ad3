"""Graph: the workflow drawn as the run stands in it, and what there is to know of one of its states."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final, assert_never
from urllib.parse import urlencode

from markupsafe import Markup, escape
from starlette.datastructures import QueryParams

from handrail.engine.model import (
    Authority,
    State,
    Stay,
    ToDerived,
    ToState,
    ToVariable,
    Transition,
    Workflow,
)
from handrail.engine.ways import Way
from handrail.faces.board.boards import Viewer
from handrail.faces.board.markdown import rendered
from handrail.faces.board.tabs.tab import Tab
from handrail.faces.board.texts import catalogue
from handrail.faces.board.walked import Walked, walked
from handrail.shell.faults import Fault
from handrail.shell.pictured import graph_with, marks_of
from handrail.shell.view import ArtifactRow, RunRow, StepRow, every
from handrail.workflows.catalogue import Catalogue
from handrail.workflows.draw.escape import xml
from handrail.workflows.draw.graph import Graph, Shape
from handrail.workflows.draw.layout import layout_of
from handrail.workflows.draw.marks import Marks, because
from handrail.workflows.draw.overview import MOST, around, overview
from handrail.workflows.draw.svg import svg

WHOLE, OVERVIEW, AROUND = "whole", "overview", "around"
VIEWS: Final = (WHOLE, OVERVIEW, AROUND)
HOPS: Final = 2
"""How many ways from where the run stands is still around it."""

_VISITS: Final = 12
_NOTE: Final = "state.note."
_laid_out: Final = lru_cache(maxsize=32)(layout_of)


@dataclass(frozen=True, slots=True)
class Seen:
    """How the graph is looked at: as the URL says."""

    view: str
    opened: tuple[str, ...]
    state: str

    def url(self, *, view: str = "", opened: Sequence[str] | None = None, state: str | None = None) -> str:
        """The same page, looked at otherwise."""
        groups = self.opened if opened is None else opened
        chosen = self.state if state is None else state
        given = [("view", view or self.view), *(("open", one) for one in groups)]
        return "?" + urlencode([*given, *([("state", chosen)] if chosen else [])])

    @property
    def without(self) -> Mapping[str, str]:
        """The same page with each group closed that is opened."""
        return {one: self.url(opened=[name for name in self.opened if name != one]) for one in self.opened}


@dataclass(frozen=True, slots=True)
class Leaving:
    """A row out of a state: its guards, where it leads, and if the run is there, how it stands and why.

    `kind` says what the target is: a `state` by its name, what `returns` or `derives` the name of one, or
    nothing, if it `stays` or `refuses`.
    """

    row: Transition
    guards: tuple[str, ...]
    kind: str
    target: str
    way: Way | None
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A state: what it asks for, the rows out of it, and when the run was in it with what came of that.

    `task` is that of its brief. `notes` are what it has for faces to read, if that means something to people;
    `told` what faces tell.
    """

    state: State
    task: Markup
    notes: tuple[tuple[str, str], ...]
    told: tuple[Markup, ...]
    current: bool
    often: int
    rows: tuple[Leaving, ...]
    visits: tuple[StepRow, ...]
    artifacts: tuple[ArtifactRow, ...]


def told(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:
    """The picture, and the state that is named."""
    t, hide = catalogue(), viewer.board.naming.hide
    try:
        found = walked(viewer.board, row)
    except Fault as fault:
        return {"fault": (hide(fault.message), hide(fault.repair))}
    marks = marks_of(found.workflow, found.run, found.facts, found.journal)
    whole, derives = graph_with(t, found.workflow, marks), bool(found.workflow.derive)
    graph = replace(whole, notes=()) if derives else whole
    seen = _seen(query, found.workflow, graph)
    drawn = _part(t, graph, marks, seen)
    return {
        "fault": None,
        "seen": seen,
        "views": VIEWS,
        "derives": derives,
        "large": len(graph.nodes) > MOST,
        "states": tuple(found.workflow.states),
        "groups": any(node.shape is Shape.GROUP for node in drawn.nodes),
        "picture": _linked(svg(t, drawn, _laid_out(drawn), marks, standalone=False, links="g"), seen),
        "chosen": _chosen(viewer, row, found, marks, seen.state),
        "near": row.authority is Authority.SQL or found.files is not None,
        "initial": found.workflow.initial,
    }


def _seen(query: QueryParams, workflow: Workflow, graph: Graph) -> Seen:
    usual = WHOLE if len(graph.nodes) <= MOST else OVERVIEW
    view, state = query.get("view", ""), query.get("state", "")
    opened = tuple(dict.fromkeys(query.getlist("open")))
    return Seen(view if view in VIEWS else usual, opened, state if state in workflow.states else "")


def _part(t: Catalogue, graph: Graph, marks: Marks, seen: Seen) -> Graph:
    kept = (*marks.current, *([seen.state] if seen.state else []))
    match seen.view:
        case "overview":
            return overview(t, graph, kept, seen.opened)
        case "around":
            return around(t, graph, kept, HOPS) if kept else graph
        case _:
            return graph


def _linked(picture: str, seen: Seen) -> Markup:
    """The picture with links to this page in place of those into it, and the state that is chosen marked.

    All text in a picture is escaped, so whatever looks like an attribute is one.
    """
    here = escape(seen.url(state=""))
    linked = picture.replace(' href="#state=', f' href="{here}&amp;state=')
    linked = linked.replace(' href="#group=', f' href="{here}&amp;open=')
    named = f' data-state="{xml(seen.state)}"'
    return Markup(linked.replace(named, f"{named} data-chosen"))  # noqa: S704 - well-formed, all text escaped


def _chosen(viewer: Viewer, row: RunRow, found: Walked, marks: Marks, name: str) -> Chosen | None:
    if not name:
        return None
    records, workflow = viewer.board.serving.records, found.workflow
    steps = [one for one in every(partial(records.steps, row.id)) if one.state == name]
    made = [one for one in every(partial(records.artifacts, row.id)) if one.step == name]
    state = workflow.states[name]
    extra = [(key, value) for key, value in state.extra.items() if isinstance(value, str)]
    return Chosen(
        state,
        rendered(state.brief.task if state.brief else ""),
        tuple((key, value) for key, value in extra if f"{_NOTE}{key}" in catalogue()),
        tuple(rendered(value) for _, value in extra if " " in value),
        name in marks.current,
        marks.visits.get(name, 0),
        tuple(_leaving(workflow, marks, name)),
        tuple(steps[: -_VISITS - 1 : -1]),
        tuple(made[: -_VISITS - 1 : -1]),
    )


def _leaving(workflow: Workflow, marks: Marks, name: str) -> Iterator[Leaving]:
    ways = {way.row: way for way in marks.ways if way.source == name}
    for row in workflow.rows:
        if name in row.sources:
            guards = tuple(guard.text for guard in (*row.when, *row.accept))
            way = ways.get(row.id)
            yield Leaving(row, guards, *_target(row), way, because(catalogue(), way.why if way else ()))


def _target(row: Transition) -> tuple[str, str]:
    """What a row leads to, by its kind and its name."""
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


TAB: Final = Tab("graph", "graph.html", told)
