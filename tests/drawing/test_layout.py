from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.drawing.graph import Edge, Graph, Node, Shape
from handrail.drawing.layout import Box, Layout, Route, lay_out_graph, measure_label
from helpers.graphs import SKILLS, build_graph

LABELS = ((), ("go",), ("first line", "second", "third", "fourth"))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    names = [f"node-{number}" for number in range(draw(st.integers(1, 12)))]
    ends = st.tuples(st.sampled_from(names), st.sampled_from(names))
    pairs = draw(st.lists(ends, max_size=30, unique=True))
    shapes = st.sampled_from([Shape.STATE, Shape.ROUTER, Shape.TERMINAL])
    nodes = tuple(Node(name, draw(shapes), initial=name == "node-0") for name in names)
    edges = tuple(Edge(source, target, draw(st.sampled_from(LABELS))) for source, target in pairs)
    return Graph("drawn", nodes, edges)


thoroughly = settings(derandomize=True, deadline=None, max_examples=80)


def apart(one: Box, other: Box) -> bool:
    across = one.x + one.width <= other.x or other.x + other.width <= one.x
    return across or one.y + one.height <= other.y or other.y + other.height <= one.y


def pieces(route: Route) -> list[Box]:
    """The straight pieces of a route, as boxes without breadth."""
    return [
        Box(min(a[0], b[0]), min(a[1], b[1]), abs(a[0] - b[0]), abs(a[1] - b[1]))
        for a, b in pairwise(route.points)
    ]


def label_box(route: Route) -> Box:
    assert route.label is not None
    width, height = measure_label(route.edge)
    return Box(route.label[0] - width / 2, route.label[1] - height / 2, width, height)


@pytest.mark.unmeasured
@given(graphs())
@thoroughly
def test_every_node_gets_a_box_on_the_sheet_and_no_two_boxes_overlap(graph: Graph) -> None:
    layout = lay_out_graph(graph)
    assert set(layout.boxes) == {node.id for node in graph.nodes}
    assert all(apart(one, other) for one, other in combinations(layout.boxes.values(), 2))
    for box in layout.boxes.values():
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= layout.width
        assert box.y + box.height <= layout.height


@pytest.mark.unmeasured
@given(graphs())
@thoroughly
def test_every_edge_is_drawn_once_upright_or_level_from_border_to_border(graph: Graph) -> None:
    layout = lay_out_graph(graph)
    drawn_edges = sorted((route.edge.source, route.edge.target) for route in layout.routes)
    assert drawn_edges == sorted((edge.source, edge.target) for edge in graph.edges)
    for route in layout.routes:
        assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(route.points))
        if route.edge.source != route.edge.target:
            points = route.points[::-1] if route.back else route.points
            names = (route.edge.source, route.edge.target)
            upper, lower = (layout.boxes[name] for name in (names[::-1] if route.back else names))
            assert points[0][1] == upper.y + upper.height
            assert points[-1][1] == lower.y
            assert upper.x < points[0][0] < upper.x + upper.width
            assert lower.x < points[-1][0] < lower.x + lower.width


@pytest.mark.unmeasured
@given(graphs())
@thoroughly
def test_edges_go_down_except_those_that_break_a_cycle_which_go_up(graph: Graph) -> None:
    for route in lay_out_graph(graph).routes:
        if route.edge.source != route.edge.target:
            heights = [y for _, y in route.points]
            assert heights == sorted(heights, reverse=route.back)
            assert heights[0] != heights[-1]


@pytest.mark.unmeasured
@given(graphs())
@thoroughly
def test_no_edge_and_no_label_runs_through_a_box_of_another(graph: Graph) -> None:
    layout = lay_out_graph(graph)
    for route in layout.routes:
        own = {route.edge.source, route.edge.target}
        others = [box for name, box in layout.boxes.items() if name not in own]
        assert all(apart(piece, box) for piece in pieces(route) for box in others)
        assert (route.label is None) == (not route.edge.label)
        if route.label:
            assert all(apart(label_box(route), box) for box in layout.boxes.values())


@pytest.mark.unmeasured
@given(graphs())
@thoroughly
def test_no_two_labels_overlap(graph: Graph) -> None:
    labels = [label_box(route) for route in lay_out_graph(graph).routes if route.label]
    assert all(apart(one, other) for one, other in combinations(labels, 2))


@pytest.mark.unmeasured
@given(graphs())
@thoroughly
def test_the_same_graph_is_laid_out_the_same_way(graph: Graph) -> None:
    assert lay_out_graph(graph) == lay_out_graph(graph)


def test_the_skills_workflow_of_34_states_is_drawn_without_a_crossing() -> None:
    graph = build_graph(SKILLS, initial="collab-start")
    layout = lay_out_graph(graph)
    assert len(graph.nodes) == 34
    assert layout.crossings == 0
    assert [(r.edge.source, r.edge.target) for r in layout.routes if r.back] == [
        ("clear-post-item", "work-item-router"),
        ("clear-post-batch", "batch-router"),
    ]
    assert layout.width < 900
    assert layout.height < 1800


def middle(layout: Layout, name: str) -> float:
    return layout.boxes[name].x + layout.boxes[name].width / 2


def test_a_line_of_steps_is_a_straight_column() -> None:
    layout = lay_out_graph(
        build_graph("plan design\ndesign build\nbuild review\nreview test yes\nreview build no\ntest done")
    )
    assert len({middle(layout, name) for name in ("plan", "design", "build", "review", "test", "done")}) == 1
    heights = [layout.boxes[name].y for name in ("plan", "design", "build", "review", "test", "done")]
    assert heights == sorted(heights)


def test_two_states_that_lead_to_each_other_have_two_edges_side_by_side() -> None:
    layout = lay_out_graph(build_graph("a b\nb a"))
    down, up = layout.routes
    assert not down.back
    assert up.back
    assert down.points[0][0] != up.points[-1][0]


def test_a_loop_starts_and_ends_on_the_right_side_of_its_node() -> None:
    layout = lay_out_graph(build_graph("a a again"))
    (route,) = layout.routes
    box = layout.boxes["a"]
    assert [x for x, _ in route.points] == [box.x + box.width] * 2
    assert label_box(route).x > box.x + box.width


def test_an_empty_graph_is_an_empty_sheet() -> None:
    assert lay_out_graph(Graph("nothing", ())) == Layout(24, 24, {}, ())


def test_one_node_has_a_margin_around_it() -> None:
    layout = lay_out_graph(Graph("one", (Node("a"),)))
    assert layout.boxes == {"a": Box(37, 24, 60, 36)}
    assert (layout.width, layout.height) == (134, 84)


def test_many_nodes_without_edges_fill_rows() -> None:
    layout = lay_out_graph(Graph("many", tuple(Node(f"n{number}") for number in range(30))))
    assert len({box.y for box in layout.boxes.values()}) > 3
    assert len({box.x for box in layout.boxes.values()}) > 3


def test_parts_that_hang_together_stand_side_by_side() -> None:
    layout = lay_out_graph(build_graph("a b\nc d"))
    assert layout.boxes["a"].y == layout.boxes["c"].y
    assert layout.boxes["a"].x < layout.boxes["c"].x


def test_a_state_entered_from_one_of_many_is_read_after_them() -> None:
    nodes = (Node("a", initial=True), Node("b"), Node("ask"), Node("any", Shape.ANY, members=("b", "x")))
    edges = (Edge("a", "b"), Edge("any", "ask"), Edge("ask", "a"))
    layout = lay_out_graph(Graph("review", nodes, edges))
    assert [route.edge.source for route in layout.routes if route.back] == ["ask"]
    assert layout.boxes["any"].y < layout.boxes["ask"].y


def dense(states: int, edges: int) -> Graph:
    """A graph whose edges mostly lead a little ahead, the same every time."""
    found = {(number * 7 // 8, number) for number in range(1, states)}
    number = 1
    while len(found) < edges:
        number = number * 48271 % 2147483647
        source, step = number % states, number // states % 35 - 12
        found.add((source, min(states - 1, max(0, source + step))))
    nodes = tuple(Node(f"state-{index}", initial=index == 0) for index in range(states))
    return Graph("dense", nodes, tuple(Edge(f"state-{a}", f"state-{b}", ("go",)) for a, b in sorted(found)))


def test_a_graph_of_300_states_and_1000_edges_keeps_all_promises_without_labels() -> None:
    layout = lay_out_graph(dense(300, 1000))
    assert len(layout.boxes) == 300
    assert len(layout.routes) == 1000
    assert all(apart(one, other) for one, other in combinations(layout.boxes.values(), 2))
    assert all(route.label is None for route in layout.routes if route.edge.source != route.edge.target)
    assert layout.width < 6000
