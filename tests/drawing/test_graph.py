from handrail.drawing.graph import Edge, LineStyle, Node, Shape
from handrail.engine.facts import Kind, Type
from handrail.engine.model import FactReference, LiteralValue, Stay, ToDerived, ToVariable, Variable
from helpers.drawings import graph_of
from helpers.graphs import HERE, build_row, build_workflow

STATE = FactReference("run.state")


def pairs(edges: tuple[Edge, ...]) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in edges]


def test_nodes_stand_in_declared_order_with_their_shape_and_the_start_marked() -> None:
    graph = graph_of(build_workflow("write check? @end!"))
    assert graph.title == "small"
    assert graph.nodes == (
        Node("write", Shape.STATE, initial=True, text="write"),
        Node("check", Shape.ROUTER, text="check"),
        Node("@end", Shape.TERMINAL, text="end"),
    )


def test_a_row_with_several_sources_is_an_edge_from_each_of_them() -> None:
    graph = graph_of(build_workflow("a b c", build_row("R1", "a b b", "go", "c")))
    assert pairs(graph.edges) == [("a", "c"), ("b", "c")]


def test_rows_between_the_same_two_states_are_one_edge_with_a_line_each() -> None:
    rows = (
        build_row("A1", "a", "go", "b", when=("1 < 2",)),
        build_row("A2", "a", "go", "b"),
        build_row("A3", "a", "stop", "b"),
    )
    (edge,) = graph_of(build_workflow("a b", *rows)).edges
    assert edge.label == ("go · A1", "go · A2", "stop")
    assert edge.details == ("A1: go when 1 < 2", "A2: go", "A3: stop")


def test_the_only_trigger_of_a_workflow_is_not_written_on_every_edge() -> None:
    rows = (
        build_row("A1", "a", "go", "b", when=("1 < 2", "2 < 3")),
        build_row("A2", "a", "go", "c"),
        build_row("B1", "b", "go", "c"),
    )
    graph = graph_of(build_workflow("a b c", *rows))
    assert [edge.label for edge in graph.edges] == [("1 < 2 and 2 < 3",), ("otherwise",), ()]


def test_a_router_says_which_guard_leads_where() -> None:
    rows = (build_row("A1", "a", None, "b", when=("1 < 2",)), build_row("A2", "a", None, "c"))
    graph = graph_of(build_workflow("a? b c", *rows))
    assert [edge.label for edge in graph.edges] == [("1 < 2",), ("otherwise",)]
    assert [edge.details for edge in graph.edges] == [("A1: when 1 < 2",), ("A2: always",)]


def test_rows_that_stay_or_refuse_are_no_edges() -> None:
    rows = (build_row("A1", "a", "go", Stay()), build_row("A2", "a", "go", "b", refuse="no"))
    assert graph_of(build_workflow("a b", *rows)).edges == ()


def test_a_row_that_names_its_own_state_is_a_loop() -> None:
    assert pairs(graph_of(build_workflow("a", build_row("A1", "a", "go", "a"))).edges) == [("a", "a")]


def test_a_row_to_a_variable_returns_to_every_state_that_is_set_into_it() -> None:
    rows = (
        build_row("A1", "a b", "ask", "q", sets=(("back", STATE), ("other", LiteralValue("z")))),
        build_row("A2", "z", "ask", "q", sets=(("back", LiteralValue("c")),)),
        build_row("Q1", "q", "yes", ToVariable("back")),
    )
    edges = graph_of(build_workflow("a b c q z", *rows)).edges
    assert pairs(edges)[3:] == [("q", "a"), ("q", "b"), ("q", "c")]
    assert [edge.line for edge in edges] == [LineStyle.MOVE] * 3 + [LineStyle.RETURN] * 3


def test_what_a_variable_holds_at_first_counts_and_what_another_hands_over() -> None:
    first, other = (Variable(name, Type(Kind.STATE), HERE, default=name[0]) for name in ("back", "common"))
    rows = (
        build_row("A1", "a", "go", "q", sets=(("back", FactReference("run.vars.common")),)),
        build_row("Q1", "q", "yes", ToVariable("back")),
    )
    edges = graph_of(build_workflow("a b c q", *rows, variables=(first, other))).edges
    assert pairs(edges) == [("a", "q"), ("q", "b"), ("q", "c")]


def test_a_variable_set_from_what_came_with_an_event_can_hold_every_state() -> None:
    rows = (
        build_row("A1", "a", "go", "q", sets=(("back", FactReference("event.place")),)),
        build_row("Q1", "q", "yes", ToVariable("back")),
    )
    assert pairs(graph_of(build_workflow("a b q", *rows)).edges) == [("a", "q"), ("q", "a"), ("q", "b")]


def test_a_return_to_the_state_itself_is_no_loop() -> None:
    rows = (
        build_row("A1", "a q", "ask", "q", sets=(("back", STATE),)),
        build_row("Q1", "q", "yes", ToVariable("back")),
    )
    edges = graph_of(build_workflow("a q", *rows)).edges
    assert pairs(edges) == [("a", "q"), ("q", "q"), ("q", "a")]
    assert edges[1].label == ("ask",)


def test_a_move_and_a_return_between_the_same_two_states_are_drawn_as_a_move() -> None:
    rows = (
        build_row("A1", "a", "ask", "q", sets=(("back", STATE),)),
        build_row("Q1", "q", "yes", ToVariable("back")),
        build_row("Q2", "q", "no", "a"),
    )
    edges = graph_of(build_workflow("a q", *rows)).edges
    assert edges[1] == Edge("q", "a", ("yes", "no"), LineStyle.MOVE, ("Q1: yes", "Q2: no"))


def test_what_cannot_be_drawn_is_noted_once() -> None:
    rows = (
        build_row("A1", "a", "go", ToDerived("plan.stage")),
        build_row("A2", "b", "go", ToDerived("plan.stage")),
        build_row("A3", "a", "stop", ToVariable("back")),
        build_row("A4", "a", "never", ToVariable("gone"), refuse="no"),
        build_row("A5", "a", "never", ToDerived("gone"), refuse="no"),
    )
    graph = graph_of(build_workflow("a b", *rows))
    assert graph.edges == ()
    assert graph.notes == (
        "Moves to the state that plan.stage gives are not drawn.",
        "No row says which state back holds.",
    )


def test_a_state_of_a_subworkflow_keeps_its_whole_name() -> None:
    graph = graph_of(build_workflow("review/implement done!"))
    assert [node.text for node in graph.nodes] == ["review/implement", "done"]


def test_where_states_are_guarded_their_rows_are_labelled_with_their_guards() -> None:
    flow = build_workflow(
        "a b done!",
        build_row("R1", "a", "go", "b", when=("1 < 2", "true")),
        build_row("R2", "a", "ask", "b"),
        build_row("R3", "b", "go", "done", when=("2 < 3",)),
    )
    assert [edge.label for edge in graph_of(flow).edges] == [("go", "ask"), ("go",)]
    assert [edge.label for edge in graph_of(flow, guarded=("a",)).edges] == [
        ("go · 1 < 2 and true", "ask"),
        ("go",),
    ]
    alone = build_workflow("a done!", build_row("R1", "a", "go", "done", when=("1 < 2",)))
    assert [edge.label for edge in graph_of(alone, guarded=alone.states).edges] == [("1 < 2",)]
