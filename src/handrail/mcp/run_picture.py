"""The picture of a run in a chat: its graph, cut to what can be read there, with captions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from handrail.app.faces import RunStatus, load_message_catalog
from handrail.app.run_pictures import build_graph_marks, build_run_graph
from handrail.documents.text import escape_for_terminal
from handrail.drawing.graph import Graph, build_neighbourhood, build_overview
from handrail.drawing.layout import lay_out_graph
from handrail.drawing.marks import RunMarks
from handrail.drawing.svg import draw_graph_svg
from handrail.runtime.records import JournalEntry
from handrail.workflows.templates import MessageCatalog

MAX_NODES: Final = 12
"""The most nodes for which a graph is drawn whole: with more, they are too small to read in a chat."""


def build_picture(status: RunStatus, goal: str, journal: Sequence[JournalEntry]) -> Mapping[str, Any]:
    """Return the picture with its captions. Text inside the SVG is escaped; the captions are plain text."""
    t, workflow, run = load_message_catalog(), status.workflow, status.run
    marks = build_graph_marks(workflow, run, status.facts, journal)
    graph = _crop_graph(t, build_run_graph(t, workflow, marks), marks)
    about = (workflow.name, t(f"mark.{run.lifecycle}"), ", ".join(marks.current))
    return {
        "title": escape_for_terminal(goal or workflow.name),
        "about": escape_for_terminal(" · ".join(filter(None, about))),
        "ticked": status.done,
        "total": status.total,
        "progress": t("plan.progress", done=status.done, total=status.total),
        "svg": draw_graph_svg(t, graph, lay_out_graph(graph), marks, standalone=False),
    }


def _crop_graph(t: MessageCatalog, graph: Graph, marks: RunMarks) -> Graph:
    """Reduce a graph to what fits in a chat: the overview, or the states around the current ones."""
    if len(graph.nodes) <= MAX_NODES:
        return graph
    if not marks.current:
        return build_overview(t, graph, most=MAX_NODES)
    wide = build_neighbourhood(t, graph, marks.current, 2)
    return wide if len(wide.nodes) <= MAX_NODES else build_neighbourhood(t, graph, marks.current, 1)
