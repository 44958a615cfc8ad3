import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.drawing.diagrams import format_dot, format_mermaid
from handrail.drawing.graph import Edge, Graph, LineStyle, Node, Shape
from handrail.drawing.marks import RunMarks
from handrail.engine.decide import Availability, Exit

GRAPH = Graph(
    "small",
    (
        Node("review/implement", initial=True),
        Node("route", Shape.ROUTER),
        Node("@end", Shape.TERMINAL, text="end"),
        Node("*", Shape.ANY, text="any of 5 states", members=("route",)),
        Node("v", Shape.BACK, text="back", members=("route",)),
    ),
    (
        Edge("review/implement", "route", ("accio · A1", "finite")),
        Edge("route", "@end"),
        Edge("*", "route", ("reparo",)),
        Edge("route", "v", line=LineStyle.RETURN),
    ),
)
ALPHABET = "ab \"'`#;%{}[]()<>|&\\\n\x00-."


def test_mermaid_names_nodes_by_number_and_quotes_what_is_written() -> None:
    assert format_mermaid(GRAPH) == (
        "flowchart TD\n"
        '    n0("review/implement")\n'
        '    n1{{"route"}}\n'
        '    n2(["end"])\n'
        '    n3["any of 5 states"]\n'
        '    n4["↩ back"]\n'
        "    start(( )) --> n0\n"
        '    n0 -->|"accio · A1<br/>finite"| n1\n'
        "    n1 --> n2\n"
        '    n3 -->|"reparo"| n1\n'
        "    n1 -.-> n4\n"
    )


def test_mermaid_marks_the_states_of_a_run_with_classes() -> None:
    ways = (Exit("route", "@end", "A1", None, Availability.OPEN),)
    lines = format_mermaid(GRAPH, RunMarks(("route",), {"review/implement": 1}, ways=ways)).splitlines()
    assert "    class n1 current" in lines
    assert "    class n0 visited" in lines
    assert "    class n2 possible" in lines
    assert "    class n3 open" in lines
    assert not any("blocked" in line for line in lines)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ('a"]; click n0 "javascript:x', "a#34;#93;#59; click n0 #34;javascript#58;x"),
        ("%%{init: 1}%%", "#37;#37;#123;init#58; 1#125;#37;#37;"),
        ("`**bold**`", "#96;#42;#42;bold#42;#42;#96;"),
        ("<b>&#35;", "#60;b#62;#38;#35;35#59;"),
        ("a\x00b", "a#92;u#123;0#125;b"),
        ("a\nb", "a b"),
        ("http://a.example", "http#58;//a.example"),
        ("1. first", "1#46; first"),
        ("--- x-y.z", "#45;#45;#45; x-y.z"),
    ],
)
def test_mermaid_writes_what_is_not_plain_as_its_number(name: str, written: str) -> None:
    assert format_mermaid(Graph("x", (Node(name),))) == f'flowchart TD\n    n0("{written}")\n'


def test_dot_quotes_everything() -> None:
    assert format_dot(GRAPH) == (
        'digraph "small" {\n'
        "  start [shape=point];\n"
        '  n0 [label="review/implement", shape=box, style=rounded];\n'
        "  start -> n0;\n"
        '  n1 [label="route", shape=hexagon];\n'
        '  n2 [label="end", shape=box, style=rounded, peripheries=2];\n'
        '  n3 [label="any of 5 states", shape=box, style="rounded,dotted"];\n'
        '  n4 [label="↩ back", shape=box, style="rounded,dotted"];\n'
        '  n0 -> n1 [label="accio · A1\\nfinite"];\n'
        "  n1 -> n2;\n"
        '  n3 -> n1 [label="reparo"];\n'
        "  n1 -> n4 [style=dashed];\n"
        "}\n"
    )


def test_dot_escapes_quotes_and_backslashes() -> None:
    assert '[label="a\\"b\\\\N", ' in format_dot(Graph('"\\', (Node('a"b\\N'),)))
    assert format_dot(Graph('"\\', ())) == 'digraph "\\"\\\\" {\n}\n'


@given(st.text(ALPHABET, min_size=1, max_size=30), st.text(ALPHABET, max_size=30))
@settings(derandomize=True, deadline=None, max_examples=80)
def test_no_name_or_label_breaks_out_of_its_quotes(name: str, label: str) -> None:
    graph = Graph(label, (Node(name),), (Edge(name, name, (label,)),))
    body = format_mermaid(graph).splitlines()[1:]
    assert len(body) == 2
    assert re.fullmatch(r'    n0\("[^"`%{}\[\]()|&\\]*"\)', body[0])
    assert re.fullmatch(r'    n0 -->\|"[^"`%{}\[\]()|&\\]*"\| n0', body[1])
    assert re.fullmatch(r'  n0 -> n0 \[label="(?:[^"\\\n]|\\.)*"\];', format_dot(graph).splitlines()[2])
