from handrail.drawing.graph import Edge, LineStyle, Node, Shape
from handrail.engine.model import FactReference, Stay, ToVariable, Transition
from helpers.drawings import graph_of
from helpers.graphs import build_row, build_workflow

STATE = FactReference("run.state")
BACK = build_row("Q1", "q", "yes", ToVariable("back"))


def asked(sources: str) -> Transition:
    return build_row("A1", sources, "ask", "q", sets=(("back", STATE),))


def test_a_workflow_without_fans_is_drawn_as_it_is() -> None:
    small = build_workflow("a b c q", asked("a b c"), BACK, build_row("A2", "a", "go", Stay()))
    assert graph_of(small) == graph_of(small, fan=100)


def test_a_row_from_many_states_leaves_from_one_node_for_all_of_them() -> None:
    graph = graph_of(build_workflow("a b c d e q", build_row("A1", "a b c d e", "ask", "q")))
    assert graph.nodes[-1] == Node(
        "a b c d e q",
        Shape.ANY,
        text="any of 5 states",
        about="a, b, c, d, e",
        members=("a", "b", "c", "d", "e"),
    )
    assert graph.edges == (Edge("a b c d e q", "q", (), LineStyle.MOVE, ("A1: ask",)),)


def test_a_row_from_every_state_but_the_last_ones_says_so() -> None:
    graph = graph_of(build_workflow("a b c d e end!", build_row("A1", "a b c d e", "stop", "end")))
    assert graph.nodes[-1].text == "any state"


def test_a_row_that_returns_to_one_of_many_goes_to_one_node_for_all_of_them() -> None:
    graph = graph_of(build_workflow("a b c d e q", asked("a b c d e"), BACK))
    assert graph.nodes[-1] == Node(
        "back", Shape.BACK, text="back", about="a, b, c, d, e", members=("a", "b", "c", "d", "e")
    )
    assert graph.edges[-1] == Edge("q", "back", ("yes",), LineStyle.RETURN, ("Q1: yes",))


def test_rows_from_many_states_to_one_of_many_fold_at_both_ends() -> None:
    returning = build_row("Q1", "a b c d e", "yes", ToVariable("back"))
    graph = graph_of(build_workflow("a b c d e q", asked("a b c d e"), returning))
    assert [(edge.source, edge.target) for edge in graph.edges] == [
        ("a b c d e q", "q"),
        ("a b c d e back", "back"),
    ]


def test_rows_with_the_same_sources_and_target_share_a_node() -> None:
    graph = graph_of(
        build_workflow("a b c q", build_row("A1", "a b c", "x", "q"), build_row("A2", "a b c", "y", "q")),
        fan=3,
    )
    assert len(graph.nodes) == 5
    assert graph.edges[0].label == ("x", "y")


def test_many_sources_with_few_returns_each_stay_as_they_are() -> None:
    few = (
        build_row("A1", "a b", "ask", "q", sets=(("back", STATE),)),
        build_row("Q1", "c d e", "yes", ToVariable("back")),
    )
    small = build_workflow("a b c d e q", *few)
    assert graph_of(small, fan=3) == graph_of(small, fan=100)


def test_a_node_for_many_never_takes_the_name_of_a_state() -> None:
    graph = graph_of(build_workflow("back b c d e q", asked("back b c d e"), BACK))
    assert graph.nodes[-1].id == "back*"
