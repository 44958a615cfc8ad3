"""Write graphs and task batches as Mermaid, and graphs as DOT, for other programs to draw."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from handrail.drawing.graph import Edge, Graph, LineStyle, Shape
from handrail.drawing.layout import format_node_text
from handrail.drawing.marks import NO_MARKS, MarkIndex, RunMarks
from handrail.drawing.text import quote_dot_string, quote_mermaid_label, shorten_label

_BRACKETS = {
    Shape.STATE: ("(", ")"),
    Shape.ROUTER: ("{{", "}}"),
    Shape.TERMINAL: ("([", "])"),
    Shape.ANY: ("[", "]"),
    Shape.BACK: ("[", "]"),
    Shape.GROUP: ("[[", "]]"),
}
_MARK_CLASSES = {
    "current": "fill:#2563eb,stroke:#1d4ed8,color:#ffffff,stroke-width:3px",
    "visited": "fill:#dbe8ff,stroke:#7ba4ee,color:#1e293b",
    "possible": "stroke:#2563eb,stroke-width:2px,stroke-dasharray:4 3",
    "blocked": "stroke:#dc2626,stroke-dasharray:2 3",
    "open": "stroke:#2563eb,stroke-width:2px",
}
_DOT_SHAPES = {
    Shape.STATE: "shape=box, style=rounded",
    Shape.ROUTER: "shape=hexagon",
    Shape.TERMINAL: "shape=box, style=rounded, peripheries=2",
    Shape.ANY: 'shape=box, style="rounded,dotted"',
    Shape.BACK: 'shape=box, style="rounded,dotted"',
    Shape.GROUP: "shape=box3d",
}


def format_mermaid(graph: Graph, marks: RunMarks = NO_MARKS) -> str:
    """Return the graph as a Mermaid flowchart. Nodes are named n0, n1, …, so no name can break the syntax."""
    lines = [
        "flowchart TD",
        *_format_mermaid_nodes(graph),
        *_format_mermaid_edges(graph),
        *_format_mermaid_marks(graph, marks),
    ]
    return "\n    ".join(lines) + "\n"


def format_dot(graph: Graph) -> str:
    """Return the graph in Graphviz's DOT language. Nodes are named n0, n1, … as in `format_mermaid`."""
    names = _number_nodes(graph)
    lines = [f"digraph {quote_dot_string((graph.title,))} {{"]
    lines += ["  start [shape=point];"] * any(node.initial for node in graph.nodes)
    for node in graph.nodes:
        lines.append(
            f"  {names[node.id]} [label={quote_dot_string((format_node_text(node),))}"
            f", {_DOT_SHAPES[node.shape]}];"
        )
        lines += [f"  start -> {names[node.id]};"] * node.initial
    lines += [
        f"  {names[edge.source]} -> {names[edge.target]}{_format_dot_attributes(edge)};"
        for edge in graph.edges
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _number_nodes(graph: Graph) -> dict[str, str]:
    return {node.id: f"n{index}" for index, node in enumerate(graph.nodes)}


def _format_mermaid_nodes(graph: Graph) -> Iterator[str]:
    names = _number_nodes(graph)
    for node in graph.nodes:
        opening, closing = _BRACKETS[node.shape]
        yield f"{names[node.id]}{opening}{quote_mermaid_label((format_node_text(node),))}{closing}"
    for node in graph.nodes:
        if node.initial:
            yield f"start(( )) --> {names[node.id]}"


def _format_mermaid_edges(graph: Graph) -> Iterator[str]:
    names = _number_nodes(graph)
    for edge in graph.edges:
        arrow = "-.->" if edge.line is LineStyle.RETURN else "-->"
        label = f"|{quote_mermaid_label(shorten_label(edge.label))}|" if edge.label else ""
        yield f"{names[edge.source]} {arrow}{label} {names[edge.target]}"


def _format_mermaid_marks(graph: Graph, marks: RunMarks) -> Iterator[str]:
    names, marking = _number_nodes(graph), MarkIndex(marks)
    words = {node.id: marking.mark_node(node).words for node in graph.nodes}
    for word, look in _MARK_CLASSES.items():
        marked = [names[node.id] for node in graph.nodes if word in words[node.id]]
        if marked:
            yield f"classDef {word} {look}"
            yield f"class {','.join(marked)} {word}"


def _format_dot_attributes(edge: Edge) -> str:
    looks = [f"label={quote_dot_string(shorten_label(edge.label))}"] * bool(edge.label)
    looks += ["style=dashed"] * (edge.line is LineStyle.RETURN)
    return f" [{', '.join(looks)}]" if looks else ""


_STATUS_CLASSES: Final = {
    "in_progress": "fill:#dbe8ff,stroke:#2563eb,color:#1e293b",
    "completed": "fill:#dcfce7,stroke:#16a34a,color:#1e293b",
    "failed": "fill:#fee2e2,stroke:#dc2626,color:#1e293b",
}


def format_batches_mermaid(batches: Sequence[Mapping[str, Any]]) -> str:
    """Return the batches in order as Mermaid. Tasks are named t0, t1, …, so no id can break the syntax."""
    tasks = [task for batch in batches for task in batch["tasks"]]
    names = {task["id"]: f"t{number}" for number, task in enumerate(tasks)}
    lines = ["flowchart LR"]
    for number, batch in enumerate(batches):
        title = quote_mermaid_label((f"{batch['id']}, {batch['status']}",))
        lines.append(f"subgraph b{number}[{title}]")
        lines += [f"    {names[one['id']]}({quote_mermaid_label((one['id'],))})" for one in batch["tasks"]]
        lines.append("end")
    for task in tasks:
        known = [names[name] for name in task["dependsOn"] if name in names]
        lines += [f"{name} --> {names[task['id']]}" for name in known]
    for status, look in _STATUS_CLASSES.items():
        marked = [names[task["id"]] for task in tasks if task["status"] == status]
        if marked:
            lines += [f"classDef {status} {look}", f"class {','.join(marked)} {status}"]
    return "\n    ".join(lines) + "\n"
