"""Workflows: every one there is, its source, its graph, and what is wrong with it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from handrail.engine.model import State, Transition, Workflow
from handrail.engine.problems import Problem
from handrail.faces.board.definitions import Shelved, Standing, shelved
from handrail.faces.board.looks import lines, page
from handrail.faces.board.texts import catalogue
from handrail.faces.cli.shown import row_line
from handrail.shell.catalog import DEFAULT, Found, Kind, Lost
from handrail.shell.checked import Checked, checked
from handrail.shell.shelf import SUPERVISOR
from handrail.workflows.draw.folds import graph_of
from handrail.workflows.draw.graph import Graph, Shape
from handrail.workflows.draw.layout import layout_of
from handrail.workflows.draw.overview import MOST, overview
from handrail.workflows.draw.svg import svg


@dataclass(frozen=True, slots=True)
class Listed:
    """A workflow in the list; one that cannot be read is `None`."""

    standing: Standing
    workflow: Workflow | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """A problem as a page tells it; `line` is where it stands in the source that is shown, if it does."""

    problem: Problem
    file: str
    message: str
    repair: str
    line: int


@dataclass(frozen=True, slots=True)
class Part:
    """A state with the rows that leave it."""

    state: State
    rows: tuple[str, ...]


def workflows(request: Request) -> Response:
    """Every workflow that a project sees."""
    among = shelved(request)
    listed = [_listed(among, one) for one in among.shelf.workflows()]
    lost = [Listed(among.lost(one), None, one.problems) for one in among.shelf.lost(Kind.WORKFLOW)]
    ordered = sorted([*listed, *lost], key=lambda one: one.standing.name)
    return page("workflows.html", viewer=among.viewer, among=among, listed=ordered)


def workflow(request: Request) -> Response:
    """One of them."""
    among, query = shelved(request), request.query_params
    name = str(request.path_params["name"])
    found, same = among.chosen(Kind.WORKFLOW, name, query.get("from", ""))
    if not same:
        return page("workflow_missing.html", 404, viewer=among.viewer, among=among, name=name)
    report = _report(among, found, same)
    flow = report.workflow
    graph = _graph(flow, query.getlist("open"), whole="whole" in query) if flow else None
    return page(
        "workflow.html",
        viewer=among.viewer,
        among=among,
        name=name,
        standing=_standing(among, found or same[0]),
        same=[_standing(among, one) for one in same],
        flow=flow,
        told=list(_told(among, report, found)),
        worst=next(iter(sorted({one.severity for one in report.problems})), "good"),
        picture=svg(catalogue(), graph, layout_of(graph), standalone=False, links="g") if graph else "",
        groups=[node for node in graph.nodes if node.shape is Shape.GROUP] if graph else [],
        parts=list(_parts(flow)) if flow else [],
        source=lines(found.source.text.removesuffix("\n")).split("\n") if found else [],
        beside=_beside(found),
        untrusted=among.untrusted(found) if found else None,
        opened=query.getlist("open"),
        folded=bool(query.getlist("open")) or "whole" in query,
        persona=lambda name: SUPERVISOR if name == DEFAULT else name,
    )


def _listed(among: Shelved, found: Found) -> Listed:
    report = checked(found.source, among.sources.get)
    return Listed(among.standing(found), report.workflow, report.problems)


def _standing(among: Shelved, one: Found | Lost) -> Standing:
    return among.standing(one) if isinstance(one, Found) else among.lost(one)


def _report(among: Shelved, found: Found | None, same: Sequence[Found | Lost]) -> Checked:
    """What `handrail workflows check` says of it."""
    if found is not None:
        return checked(found.source, among.sources.get)
    return Checked(None, tuple(problem for one in same if isinstance(one, Lost) for problem in one.problems))


def _told(among: Shelved, report: Checked, found: Found | None) -> Iterator[Told]:
    hide = among.viewer.board.naming.hide
    for one in report.problems:
        line = one.place.line if found and one.place.file == found.source.file else 0
        yield Told(one, hide(one.place.file), hide(one.message), hide(one.repair), line)


def _graph(flow: Workflow, opened: Collection[str], *, whole: bool) -> Graph:
    """The graph; if it is large, with some of its states drawn as one, unless that is not wanted."""
    graph = graph_of(catalogue(), flow)
    return graph if whole or len(graph.nodes) <= MOST else overview(catalogue(), graph, opened=opened)


def _parts(flow: Workflow) -> Iterator[Part]:
    for name, state in flow.states.items():
        leaving: Iterator[Transition] = (row for row in flow.rows if name in row.sources)
        yield Part(state, tuple(map(row_line, leaving)))


def _beside(found: Found | None) -> list[tuple[str, str]]:
    """The texts that stand beside a workflow, by name."""
    return [(name, lines(text)) for name, (_, text) in found.source.beside.items()] if found else []
