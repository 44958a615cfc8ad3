"""Graphs as text that other programs draw: Mermaid and DOT."""

from collections.abc import Iterator

from handrail.workflows.draw.escape import dot_string, mermaid_label
from handrail.workflows.draw.graph import Edge, Graph, Line, Shape
from handrail.workflows.draw.marks import NO_MARKS, Marking, Marks
from handrail.workflows.draw.sizes import node_text
from handrail.workflows.draw.words import caption

_BRACKETS = {
    Shape.STATE: ("(", ")"),
    Shape.ROUTER: ("{{", "}}"),
    Shape.TERMINAL: ("([", "])"),
    Shape.ANY: ("[", "]"),
    Shape.BACK: ("[", "]"),
    Shape.GROUP: ("[[", "]]"),
}
_CLASSES = {
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


def mermaid(graph: Graph, marks: Marks = NO_MARKS) -> str:
    """The graph as a Mermaid flowchart. Nodes are called n0, n1, ... in order, so no name can break it."""
    lines = ["flowchart TD", *_mermaid_nodes(graph), *_mermaid_edges(graph), *_mermaid_marks(graph, marks)]
    return "\n    ".join(lines) + "\n"


def dot(graph: Graph) -> str:
    """The graph in the language of Graphviz. Nodes are called n0, n1, ... as in `mermaid`."""
    names = _names(graph)
    lines = [f"digraph {dot_string((graph.title,))} {{"]
    lines += ["  start [shape=point];"] * any(node.initial for node in graph.nodes)
    for node in graph.nodes:
        lines.append(
            f"  {names[node.id]} [label={dot_string((node_text(node),))}, {_DOT_SHAPES[node.shape]}];"
        )
        lines += [f"  start -> {names[node.id]};"] * node.initial
    lines += [f"  {names[edge.source]} -> {names[edge.target]}{_dot_look(edge)};" for edge in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _names(graph: Graph) -> dict[str, str]:
    return {node.id: f"n{index}" for index, node in enumerate(graph.nodes)}


def _mermaid_nodes(graph: Graph) -> Iterator[str]:
    names = _names(graph)
    for node in graph.nodes:
        opening, closing = _BRACKETS[node.shape]
        yield f"{names[node.id]}{opening}{mermaid_label((node_text(node),))}{closing}"
    for node in graph.nodes:
        if node.initial:
            yield f"start(( )) --> {names[node.id]}"


def _mermaid_edges(graph: Graph) -> Iterator[str]:
    names = _names(graph)
    for edge in graph.edges:
        arrow = "-.->" if edge.line is Line.RETURN else "-->"
        label = f"|{mermaid_label(caption(edge.label))}|" if edge.label else ""
        yield f"{names[edge.source]} {arrow}{label} {names[edge.target]}"


def _mermaid_marks(graph: Graph, marks: Marks) -> Iterator[str]:
    names, marking = _names(graph), Marking(marks)
    words = {node.id: marking.node(node).words for node in graph.nodes}
    for word, look in _CLASSES.items():
        marked = [names[node.id] for node in graph.nodes if word in words[node.id]]
        if marked:
            yield f"classDef {word} {look}"
            yield f"class {','.join(marked)} {word}"


def _dot_look(edge: Edge) -> str:
    looks = [f"label={dot_string(caption(edge.label))}"] * bool(edge.label)
    looks += ["style=dashed"] * (edge.line is Line.RETURN)
    return f" [{', '.join(looks)}]" if looks else ""
