"""Where a run stands, as a client that shows pages is handed it beside the answer of a tool."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from handrail.faces.board.texts import catalogue
from handrail.faces.mcp.face import Stand
from handrail.shell.pictured import graph_with, marks_of
from handrail.shell.records import Written
from handrail.shell.view import Records, every
from handrail.workflows.catalogue import Catalogue
from handrail.workflows.characters import safe
from handrail.workflows.draw.graph import Graph
from handrail.workflows.draw.layout import layout_of
from handrail.workflows.draw.marks import Marks
from handrail.workflows.draw.overview import around, overview
from handrail.workflows.draw.svg import svg

WHOLE: Final = 12
"""Up to so many nodes a graph is drawn whole: more are too small to read in a chat."""

STANDS: Final = "handrail/stands"
"""Where the answer of a tool has what the page shows, in its `_meta`."""


def shown_in(records: Records, stand: Stand) -> dict[str, Any]:
    """The `_meta` of an answer after which a run stands so."""
    row = records.run(stand.id)
    journal = tuple(every(partial(records.journal, run=stand.id))) if row else ()
    return {STANDS: shown(stand, row.goal if row else "", journal)}


def shown(stand: Stand, goal: str, journal: Sequence[Written]) -> Mapping[str, Any]:
    """The picture with its captions. All text in the picture is escaped; the rest is plain text."""
    t, workflow, run = catalogue(), stand.workflow, stand.run
    marks = marks_of(workflow, run, stand.facts, journal)
    graph = _near(t, graph_with(t, workflow, marks), marks)
    about = (workflow.name, t(f"mark.{run.lifecycle}"), ", ".join(marks.current))
    return {
        "title": safe(goal or workflow.name),
        "about": safe(" · ".join(filter(None, about))),
        "ticked": stand.done,
        "total": stand.total,
        "progress": t("plan.progress", done=stand.done, total=stand.total),
        "svg": svg(t, graph, layout_of(graph), marks, standalone=False),
    }


def _near(t: Catalogue, graph: Graph, marks: Marks) -> Graph:
    """As much of a graph as a chat has room for."""
    if len(graph.nodes) <= WHOLE:
        return graph
    if not marks.current:
        return overview(t, graph, most=WHOLE)
    wide = around(t, graph, marks.current, 2)
    return wide if len(wide.nodes) <= WHOLE else around(t, graph, marks.current, 1)
