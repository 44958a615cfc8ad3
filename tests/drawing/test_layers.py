from handrail.drawing.layers import (
    Extent,
    LayoutEdge,
    ReadingOrder,
    assign_ranks,
    build_network,
    count_crossings,
    find_feedback_edges,
)

BOX = Extent(30, 30, 20)


def test_the_edge_that_leads_back_is_turned() -> None:
    assert find_feedback_edges(3, [(0, 1), (1, 2), (2, 0)], []) == {2}


def test_which_edge_is_turned_depends_on_where_reading_begins() -> None:
    assert find_feedback_edges(3, [(0, 1), (1, 2), (2, 0)], [1]) == {0}


def test_an_edge_to_a_node_that_is_done_with_stays() -> None:
    assert find_feedback_edges(3, [(0, 1), (0, 2), (2, 1)], []) == frozenset()


def test_layers_follow_the_longest_way() -> None:
    assert assign_ranks(4, [(0, 1), (1, 2), (2, 3), (0, 3)]) == (0, 1, 2, 3)


def test_a_side_entry_stands_right_above_where_it_enters() -> None:
    assert assign_ranks(6, [(0, 1), (1, 2), (2, 3), (4, 5), (5, 3)]) == (0, 1, 2, 3, 1, 2)


def test_no_nodes_have_no_layers() -> None:
    assert assign_ranks(0, []) == ()


def test_a_long_edge_passes_every_layer_between() -> None:
    network = build_network([BOX] * 3, [LayoutEdge(0, 1), LayoutEdge(1, 2), LayoutEdge(0, 2)], ReadingOrder())
    assert network.layer == (0, 1, 2, 1)
    assert network.strands[2].items == (0, 3, 2)


def test_a_label_gets_a_layer_of_its_own_next_to_the_source() -> None:
    label = Extent(20, 20, 14)
    network = build_network(
        [BOX] * 3, [LayoutEdge(0, 1), LayoutEdge(1, 2), LayoutEdge(0, 2, label)], ReadingOrder()
    )
    assert network.layer[:3] == (0, 2, 3)
    assert network.strands[2].label is not None
    assert network.layer[network.strands[2].label] == 1
    assert network.extent[network.strands[2].label] == label


def test_the_label_of_an_edge_that_runs_back_stands_above_its_source() -> None:
    network = build_network(
        [BOX] * 3, [LayoutEdge(0, 1), LayoutEdge(1, 2), LayoutEdge(2, 0, BOX)], ReadingOrder()
    )
    assert network.strands[2].back
    assert network.strands[2].label is not None
    assert network.layer[network.strands[2].label] == 2


def test_links_that_cross_are_counted_and_links_that_share_an_end_are_not() -> None:
    below = [[3, 4], [2], [], [], []]
    assert count_crossings([[0, 1], [2, 3, 4]], [0, 1, 0, 1, 2], below) == 2
    assert count_crossings([[0, 1], [3, 4, 2]], [0, 1, 2, 0, 1], below) == 0
    assert count_crossings([[0, 1], [2]], [0, 1, 0], [[2], [2], []]) == 0
