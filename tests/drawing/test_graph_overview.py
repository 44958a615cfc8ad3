import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from types import FrameType

from drawing.test_layout import apart, label_box
from handrail.drawing.graph import Edge, Graph, LineStyle, Node, Shape
from handrail.drawing.layout import Layout, lay_out_graph
from handrail.drawing.marks import RunMarks
from helpers.drawings import around, graph_of, overview, svg
from helpers.graphs import SKILLS, build_graph, build_large_workflow


def names(graph: Graph) -> list[str]:
    return [node.id for node in graph.nodes]


def ends(graph: Graph) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in graph.edges]


# --- groups -------------------------------------------------------------------------------------------------

NESTED = """
start review
review review/read
review/read review/check
review/check review/check/run
review/check/run review/check/see
review/check/see review/end
review/end start again
review/end done good
"""


def nested() -> Graph:
    graph = build_graph(NESTED, initial="start")
    return replace(graph, nodes=tuple(replace(node, about=f"about {node.id}") for node in graph.nodes))


def test_a_small_graph_is_its_own_overview() -> None:
    graph = build_graph("a b go\nb b\nb done", initial="a")
    assert overview(graph) == graph


def test_an_empty_graph_has_an_empty_overview() -> None:
    assert overview(Graph("nothing", ())) == Graph("nothing", ())


def test_a_sub_workflow_is_one_node_with_the_state_that_uses_it() -> None:
    graph = overview(nested())
    assert names(graph) == ["start", "review", "done"]
    group = graph.nodes[1]
    assert (group.shape, group.text, group.about) == (Shape.GROUP, "review · 6 states", "about review")
    assert group.members == (
        "review",
        "review/read",
        "review/check",
        "review/check/run",
        "review/check/see",
        "review/end",
    )
    assert graph.edges == (
        Edge("start", "review"),
        Edge("review", "start", ("again",)),
        Edge("review", "done", ("good",)),
    )


def test_a_group_that_is_opened_is_taken_apart_and_what_is_in_it_stays_a_group() -> None:
    graph = overview(nested(), opened=("review",))
    assert names(graph) == ["start", "review", "review/read", "review/check", "review/end", "done"]
    assert [node.text for node in graph.nodes if node.shape is Shape.GROUP] == ["review/check · 3 states"]
    assert names(overview(nested(), opened=("review", "review/check"))) == names(nested())


def test_a_group_is_open_where_a_state_in_it_is_kept() -> None:
    assert names(overview(nested(), keep=("review/read",))) == names(overview(nested(), opened=("review",)))
    assert names(overview(nested(), keep=("review/check/see", "review"))) == names(nested())


def test_a_sub_workflow_without_the_state_that_uses_it_is_a_group_all_the_same() -> None:
    graph = overview(build_graph("a/x a/y\na/y done"))
    assert [(node.id, node.text, node.about) for node in graph.nodes] == [
        ("a", "a · 2 states", ""),
        ("done", "", ""),
    ]


def test_a_group_that_holds_the_first_state_is_where_one_begins() -> None:
    graph = overview(build_graph("a/x a/y\na/y done", initial="a/x"))
    assert [node.initial for node in graph.nodes] == [True, False]


CHAIN = "a b\nb c\nc d\nd e\ne f\nf g\ng router\nrouter b no\nrouter done yes"


def test_four_states_in_a_row_are_one_node_and_fewer_are_not() -> None:
    graph = overview(build_graph(CHAIN, initial="a"))
    assert names(graph) == ["a", "b+5", "router", "done"]
    chain = graph.nodes[1]
    assert (chain.text, chain.about, chain.members) == (
        "6 states: b to g",
        "b, c, d, e, f, g",
        ("b", "c", "d", "e", "f", "g"),
    )
    assert ends(graph) == [("a", "b+5"), ("b+5", "router"), ("router", "b+5"), ("router", "done")]
    assert names(overview(build_graph("a b\nb c\nc d\nd router\nrouter done", initial="a"))) == [
        "a",
        "b",
        "c",
        "d",
        "router",
        "done",
    ]


def test_a_state_that_is_kept_parts_a_chain() -> None:
    graph = build_graph("\n".join(f"s{n} s{n + 1}" for n in range(11)), initial="s0")
    assert names(overview(graph, keep=("s6",))) == ["s0", "s1+4", "s6", "s7+4"]
    assert names(overview(graph, keep=("s3",))) == ["s0", "s1", "s2", "s3", "s4+7"]


def test_a_chain_that_is_opened_is_drawn_in_full() -> None:
    graph = build_graph(CHAIN, initial="a")
    assert overview(graph, opened=("b+5",)) == graph


def test_a_ring_of_states_is_no_chain() -> None:
    graph = build_graph("a b\nb c\nc d\nd e\ne a")
    assert overview(graph) == graph


def test_ways_of_a_group_are_one_with_all_their_labels_and_dashed_only_if_all_of_them_are() -> None:
    nodes = tuple(map(Node, ("a/x", "a/y", "b", "c")))
    edges = (
        Edge("a/x", "b", ("one",), LineStyle.RETURN, ("R1",)),
        Edge("a/y", "b", ("one", "two"), LineStyle.MOVE, ("R2",)),
        Edge("b", "c", (), LineStyle.RETURN),
        Edge("c", "a/x", (), LineStyle.RETURN),
        Edge("c", "a/y", (), LineStyle.RETURN),
    )
    assert overview(Graph("merged", nodes, edges)).edges == (
        Edge("a", "b", ("one", "two"), LineStyle.MOVE, ("R1", "R2")),
        Edge("b", "c", (), LineStyle.RETURN),
        Edge("c", "a", (), LineStyle.RETURN),
    )


def phased() -> Graph:
    """Six states and their loops, in two phases and one in none."""
    kinds = (("a", "plan"), ("b", "plan"), ("c", "do"), ("d", "plan"), ("e", ""), ("done", ""))
    nodes = tuple(
        Node(n, Shape.TERMINAL if n == "done" else Shape.STATE, n == "a", phase=p) for n, p in kinds
    )
    pairs = ("ab", "bc", "cd", "de", "ea", "ec")
    return Graph("phased", nodes, (*(Edge(*pair) for pair in pairs), Edge("e", "done")))


def test_where_there_are_too_many_nodes_the_states_of_a_phase_are_one() -> None:
    assert overview(phased(), most=6) == phased()
    graph = overview(phased(), most=5)
    assert [(node.id, node.text, node.phase) for node in graph.nodes] == [
        ("a", "", "plan"),
        ("b+1", "plan · 2 states", "plan"),
        ("c", "", "do"),
        ("e", "", ""),
        ("done", "", ""),
    ]
    assert names(overview(phased(), keep=("b",), most=5)) == ["a", "b", "c", "d+1", "done"]


def test_where_there_are_still_too_many_so_are_states_declared_one_after_the_other() -> None:
    graph = build_graph("\n".join(f"s{n} s{m}" for n in range(9) for m in range(9) if n != m) + "\ns0 done")
    assert names(overview(graph, most=5)) == ["s0+2", "s3+2", "s6+2", "done"]
    assert names(overview(graph, keep=("s4",), most=5)) == ["s0+2", "s3", "s4", "s5", "s6+2", "done"]
    assert names(overview(graph, opened=("s3+2",), most=5)) == ["s0+2", "s3", "s4", "s5", "s6+2", "done"]
    assert names(overview(graph, most=1)) == ["s0+8", "done"]


def test_nodes_that_stand_in_for_states_are_never_in_a_group() -> None:
    nodes = (*map(Node, ("a/x", "a/y", "b")), Node("a/x a/y b", Shape.ANY, members=("a/x", "a/y")))
    graph = overview(Graph("fan", nodes, (Edge("a/x", "a/y"), Edge("a/x a/y b", "b"))), most=1)
    assert names(graph) == ["a/x+2", "a/x a/y b"]


# --- what is near -------------------------------------------------------------------------------------------


def test_around_a_state_is_what_leads_there_and_where_it_leads() -> None:
    graph = build_graph("a b\nb c\nc d\nd e\nx c\nc done yes")
    near = around(graph, ("c",), 1)
    assert [(node.id, node.hidden) for node in near.nodes] == [
        ("b", 1),
        ("c", 0),
        ("d", 1),
        ("x", 0),
        ("done", 0),
    ]
    assert ends(near) == [("b", "c"), ("c", "d"), ("x", "c"), ("c", "done")]
    assert near.notes == ("2 more states are not drawn.",)
    assert around(graph, ("c",), 0).notes == ("6 more states are not drawn.",)
    assert around(build_graph("a b"), ("a",), 0).notes == ("1 more state is not drawn.",)


def test_around_with_enough_hops_is_everything() -> None:
    graph = build_graph("a b\nb c\nc d")
    assert around(graph, ("a",), 3) == graph


def test_a_node_that_stands_for_a_state_is_as_near_as_the_state() -> None:
    nodes = (*map(Node, "abcq"), Node("any", Shape.ANY, members=("a", "b", "c")))
    graph = Graph("fan", nodes, (Edge("a", "b"), Edge("b", "c"), Edge("any", "q")))
    assert names(around(graph, ("a",), 0)) == ["a", "any"]
    assert names(around(graph, ("a",), 1)) == ["a", "b", "q", "any"]
    assert around(graph, ("q",), 0).notes == ("3 more states are not drawn.",)


def test_around_a_state_in_a_group_is_the_group() -> None:
    near = around(overview(nested()), ("review/read",), 0)
    assert [(node.id, node.hidden) for node in near.nodes] == [("review", 2)]
    assert around(overview(nested()), ("done",), 0).notes == ("7 more states are not drawn.",)


# --- three hundred states -----------------------------------------------------------------------------------


def keeps_its_promises(layout: Layout) -> None:
    boxes = list(layout.boxes.values())
    labels = [label_box(route) for route in layout.routes if route.label]
    assert all(apart(one, other) for one, other in combinations(boxes, 2))
    assert all(apart(label, box) for label in labels for box in boxes)
    assert all(apart(one, other) for one, other in combinations(labels, 2))


def test_of_300_states_an_overview_of_40_nodes_and_a_near_part_are_drawn_without_overlap() -> None:
    graph = graph_of(build_large_workflow(300))
    assert (len(graph.nodes), len(graph.edges)) == (300, 357)
    began = time.perf_counter()
    marks = RunMarks(("step-150",), {f"step-{number:03d}": 2 for number in range(151)})
    whole, few, near = graph, overview(graph, ("step-150",)), around(graph, ("step-150",), 3)
    layouts = [lay_out_graph(one) for one in (whole, few, near)]
    sizes = [len(svg(*pair, marks)) for pair in zip((whole, few, near), layouts, strict=True)]
    took = time.perf_counter() - began
    print(f" [300 states, an overview and a part: {took:.2f} s, {sizes} bytes]")  # noqa: T201 - the time
    assert (len(few.nodes), len(near.nodes)) == (40, 7)
    for layout in layouts[1:]:
        keeps_its_promises(layout)
    assert layouts[1].width < 900


def test_the_34_states_of_the_skills_are_an_overview_of_fewer_and_readable_either_way() -> None:
    graph = build_graph(SKILLS, initial="collab-start")
    few = overview(graph, ("brainstorm-exploring",))
    assert (len(graph.nodes), len(few.nodes)) == (34, 20)
    keeps_its_promises(lay_out_graph(graph))
    keeps_its_promises(lay_out_graph(few))


def calls(work: Callable[[], object]) -> int:
    """How many functions are called by some work: the same number each time, on any machine."""
    count = 0

    def heard(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(heard)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_twice_the_states_are_no_more_than_about_twice_the_work() -> None:
    for name, work in (("whole", lay_out_graph), ("overview", overview)):
        graphs = [graph_of(build_large_workflow(states)) for states in (150, 300, 600)]
        counted = [calls(partial(work, graph)) for graph in graphs]
        print(f" [{name}: {counted} calls]", end="")  # noqa: T201 - the count
        assert counted[0] > 1000
        assert all(after < 2.4 * before for before, after in pairwise(counted))
