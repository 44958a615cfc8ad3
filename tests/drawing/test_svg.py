import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.drawing.graph import Edge, Graph, LineStyle, Node, Shape
from handrail.drawing.layout import lay_out_graph
from handrail.drawing.marks import NO_MARKS, RunMarks
from handrail.drawing.style import GRAPH_STYLE
from handrail.engine.decide import Availability, Exit, Reason, ReasonKind
from helpers.drawings import svg
from helpers.graphs import build_graph

NS = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "</text><script>alert(1)</script>",
    '" onload="alert(1)',
    "' style='x",
    "]]>",
    "&lt;b&gt;",
    "a\x00b\x1b\ud800",
    "\u202egnp.exe",
    "line\nbreak",
)
ALPHABET = "abc <>&\"'/\\]\x00\x0b\n\ud800\ufffe\u202e字"


def picture(graph: Graph, marks: RunMarks = NO_MARKS, *, standalone: bool = True) -> ET.Element:
    return ET.XML(svg(graph, lay_out_graph(graph), marks, standalone=standalone))


def way(source: str, target: str, prospect: Availability = Availability.OPEN, *why: str) -> Exit:
    return Exit(
        source, target, "row", None, prospect, tuple(Reason(ReasonKind.GUARD, guards=(one,)) for one in why)
    )


def classes(root: ET.Element, word: str) -> list[str]:
    """The classes of every group of this sort, in order, without the word itself."""
    found = [group.get("class", "").split() for group in root.iter(f"{NS}g")]
    return [" ".join(words[1:]) for words in found if words[0] == word]


def test_a_picture_has_a_title_a_role_and_a_group_for_every_node_and_edge() -> None:
    root = picture(build_graph("a b\nb done", initial="a"))
    assert root.get("role") == "img"
    assert root.findtext(f"{NS}title") == "test"
    assert [group.get("data-state") for group in root.iter(f"{NS}g") if group.get("data-state")] == [
        "a",
        "b",
        "done",
    ]
    assert classes(root, "edge") == ["", ""]
    assert classes(root, "node") == ["state initial", "state", "terminal"]


def test_standing_alone_a_picture_brings_its_style_for_light_and_dark() -> None:
    style = picture(build_graph("a b")).findtext(f"{NS}style")
    assert style is not None
    assert "prefers-color-scheme:dark" in style


def test_embedded_a_picture_has_no_style_at_all() -> None:
    root = picture(build_graph("a b go\nb b\nrouter done", initial="a"), standalone=False)
    assert not list(root.iter(f"{NS}style"))
    assert not [element for element in root.iter() if "style" in element.attrib]


def test_a_picture_has_no_ids_so_that_two_fit_on_one_page() -> None:
    assert not [element for element in picture(build_graph("a b")).iter() if "id" in element.attrib]


def test_every_shape_is_drawn_in_its_own_way() -> None:
    nodes = (
        Node("s"),
        Node("r", Shape.ROUTER),
        Node("t", Shape.TERMINAL),
        Node("m", Shape.ANY, text="any of 9 states", members=("s",)),
        Node("v", Shape.BACK, text="back", members=("s",)),
    )
    groups = list(picture(Graph("shapes", nodes)).iter(f"{NS}g"))
    assert [len(group.findall(f"{NS}rect")) for group in groups] == [1, 0, 2, 1, 1]
    assert [len(group.findall(f"{NS}path")) for group in groups] == [0, 1, 0, 0, 0]
    assert [group.findtext(f"{NS}text") for group in groups] == ["s", "r", "t", "any of 9 states", "↩ back"]
    assert [group.get("data-state") for group in groups] == ["s", "r", "t", None, None]


def test_the_states_of_a_run_are_marked() -> None:
    marks = RunMarks(
        ("b",),
        {"a": 1, "b": 3},
        {("a", "b"): 3},
        (way("b", "c"), way("b", "d", Availability.SHUT, "plan.exists")),
    )
    root = picture(build_graph("a b\nb c\nb d\nd a"), marks)
    assert classes(root, "node") == ["state visited", "state current", "state possible", "state blocked"]
    assert classes(root, "edge") == ["walked", "open", "blocked", "back"]
    assert root.findtext(f"{NS}title") == "test, now at b"
    assert root.findtext(f"{NS}desc") == (
        "4 nodes and 4 ways between them. The run has been in a, b. It can go to c. "
        "Blocked are d (plan.exists)."
    )


def test_each_mark_has_a_sign_of_its_own_and_how_often_is_told_in_words() -> None:
    marks = RunMarks(("b",), {"a": 1, "b": 3}, ways=(way("b", "c"), way("b", "d", Availability.SHUT, "x")))
    root = picture(build_graph("a b\nb c\nb d"), marks)
    nodes = [group for group in root.iter(f"{NS}g") if group.get("class", "").startswith("node ")]
    assert [path.get("class") for node in nodes for path in node.iter(f"{NS}path")] == [
        "sign visited-sign",
        "sign current-sign",
        "sign possible-sign",
        "sign blocked-sign",
    ]
    assert len({path.get("d") for node in nodes for path in node.iter(f"{NS}path")}) == 4
    assert [node.findtext(f"{NS}title") for node in nodes[:2]] == [
        "a\nentered once",
        "b\nthe run is here\nentered 3 times",
    ]
    assert [node.get("aria-current") for node in nodes] == [None, "step", None, None]
    (pill,) = (group for group in root.iter(f"{NS}g") if group.get("class") == "count")
    assert pill.findtext(f"{NS}text") == "3\N{MULTIPLICATION SIGN}"
    (legend,) = (group for group in root.iter(f"{NS}g") if group.get("class") == "legend")
    assert [text.text for text in legend.iter(f"{NS}text")] == [
        "here now",
        "been there",
        "can be next",
        "blocked now",
    ]


def test_a_state_that_was_entered_very_often_says_only_that() -> None:
    root = picture(build_graph("a b"), RunMarks(("b",), {"a": 4711}))
    (pill,) = (group for group in root.iter(f"{NS}g") if group.get("class") == "count")
    assert pill.findtext(f"{NS}text") == "99+"


def test_an_edge_says_what_keeps_it_shut_and_is_barred_where_it_begins() -> None:
    ways = (
        way("b", "a", Availability.SHUT, "plan.exists", "task.exists"),
        way("b", "c", Availability.UNSURE, "x > 1"),
    )
    graph, loop = build_graph("a b\nb a\nb c\nb b"), way("b", "b", Availability.SHUT)
    root = picture(graph, RunMarks(("b",), {}, {("a", "b"): 2}, (*ways, loop)))
    edges = [group for group in root.iter(f"{NS}g") if group.get("class", "").startswith("edge")]
    assert [edge.findtext(f"{NS}title") for edge in edges] == [
        "a → b\ntaken 2 times",
        "b → a\nrow is blocked: plan.exists; task.exists",
        "b → c\nrow may be taken, depending on this: x > 1",
        "b → b\nrow is blocked",
    ]
    barred = [[path.get("transform") for path in edge if path.get("transform")] for edge in edges]
    (x, y), *_ = lay_out_graph(graph).routes[1].points
    assert barred == [[], [f"translate({x:g} {y - 8:g})"], [], []]


def test_a_state_with_an_open_way_is_possible_whatever_else_is_shut() -> None:
    marks = RunMarks(("a",), ways=(way("a", "b", Availability.SHUT, "x"), way("a", "b"), way("a", "")))
    root = picture(build_graph("a b"), marks)
    assert classes(root, "node") == ["state current", "state possible"]
    assert classes(root, "edge") == ["open"]
    (edge,) = (group for group in root.iter(f"{NS}g") if group.get("class") == "edge open")
    assert edge.findtext(f"{NS}title") == "a → b\nrow is blocked: x\nrow can be taken now"


def test_long_lists_of_states_are_told_with_how_many_more_there_are() -> None:
    names = [f"s{number:02d}" for number in range(15)]
    root = picture(build_graph("a b"), RunMarks(tuple(names)))
    first = "s00, s01, s02, s03, s04, s05, s06, s07, s08, s09, s10, s11"
    assert root.findtext(f"{NS}title") == f"test, now at {first} and 3 more"


def test_a_group_has_the_marks_of_the_states_in_it() -> None:
    nodes = (Node("g", Shape.GROUP, text="g", members=("a", "b")), Node("c"))
    graph = Graph("grouped", nodes, (Edge("g", "c"),))
    root = picture(graph, RunMarks(("b",), {"a": 2, "b": 1}, {("b", "c"): 1}, (way("b", "c"),)))
    assert classes(root, "node") == ["group current", "state possible"]
    assert classes(root, "edge") == ["open walked"]
    (group,) = (one for one in root.iter(f"{NS}g") if one.get("data-group"))
    assert group.findtext(f"{NS}title") == "g\nnow at b\nentered 3 times"
    assert len(group.findall(f"{NS}rect")) == 2


def test_with_links_every_state_and_group_is_a_link_with_an_id_and_stand_ins_are_not() -> None:
    nodes = (
        Node("review/do it", initial=True),
        Node("g+2", Shape.GROUP, text="g", members=("x", "y")),
        Node("any", Shape.ANY, members=("x",)),
    )
    root = ET.XML(svg(Graph("linked", nodes), lay_out_graph(Graph("linked", nodes)), links="p"))
    assert root.get("role") == "group"
    links = [
        (a.get("href"), a.get("id"), a.get("data-state"), a.get("data-group")) for a in root.iter(f"{NS}a")
    ]
    assert links == [
        ("#state=review%2Fdo%20it", "p-review%2Fdo%20it", "review/do it", None),
        ("#group=g%2B2", "p-g%2B2", None, "g+2"),
    ]


def test_a_node_says_how_many_beside_it_are_not_drawn() -> None:
    root = picture(Graph("part", (Node("a", hidden=1), Node("b", hidden=12))))
    nodes = [group for group in root.iter(f"{NS}g") if group.get("data-state")]
    assert [node.findtext(f"{NS}title") for node in nodes] == [
        "a\n1 more beside it is not drawn",
        "b\n12 more beside it are not drawn",
    ]
    pills = [group.findtext(f"{NS}text") for group in root.iter(f"{NS}g") if group.get("class") == "more"]
    assert pills == ["+1", "+12"]


def test_dark_and_light_can_be_chosen_by_the_page_too() -> None:
    style = picture(build_graph("a b")).findtext(f"{NS}style") or ""
    assert ':root[data-theme="dark"] .workflow-graph{' in style
    assert ':root:not([data-theme="light"]) .workflow-graph' in style


def test_a_node_for_many_is_open_while_the_run_is_in_one_of_them() -> None:
    nodes = (Node("a"), Node("q"), Node("any", Shape.ANY, members=("a", "b")))
    graph = Graph("fan", nodes, (Edge("any", "q", ("ask",)),))
    root = picture(graph, RunMarks(("a",), ways=(way("a", "q"),)))
    assert classes(root, "node")[2] == "any open"
    assert classes(root, "edge") == ["open"]
    assert classes(picture(graph, RunMarks(("q",))), "node")[2] == "any"


def test_an_edge_to_one_of_many_is_open_if_the_run_can_go_to_one_of_them() -> None:
    nodes = (Node("a"), Node("q"), Node("back", Shape.BACK, members=("a", "b")))
    graph = Graph("fan", nodes, (Edge("q", "back", line=LineStyle.RETURN),))
    root = picture(graph, RunMarks(("q",), ways=(way("q", "a"),)))
    assert classes(root, "edge") == ["open return"]
    assert classes(picture(graph, RunMarks(("a",))), "node")[2] == "back"


def test_a_return_is_drawn_dashed_and_an_edge_that_runs_back_says_so() -> None:
    edges = (Edge("a", "b"), Edge("b", "a", line=LineStyle.RETURN))
    assert classes(picture(Graph("pair", (Node("a"), Node("b")), edges)), "edge") == ["", "return back"]


def test_the_full_text_of_a_short_label_is_told_on_demand() -> None:
    edge = Edge("a", "b", ("one", "two", "three", "four"), details=("R1: one when x", "R2: two"))
    root = picture(Graph("long", (Node("a", about="the first"), Node("b")), (edge,)))
    (label,) = (group for group in root.iter(f"{NS}g") if group.get("class") == "label")
    assert [span.text for span in label.iter(f"{NS}tspan")] == ["one", "two", "+2 …"]
    assert label.findtext(f"{NS}title") == "a → b\nR1: one when x\nR2: two"
    assert [group.findtext(f"{NS}title") for group in root.iter(f"{NS}g")][1] == "a\nthe first"


def test_the_name_of_a_subworkflow_stands_back() -> None:
    root = picture(Graph("sub", (Node("review/implement"),)))
    (text,) = root.iter(f"{NS}text")
    assert [(span.get("class"), span.text, span.tail) for span in text] == [
        ("prefix", "review/", "implement")
    ]


def test_notes_stand_below_the_picture_and_fit_on_the_sheet() -> None:
    note = "Moves to the state that plan.stage gives are not drawn."
    root = picture(Graph("noted", (Node("a"),), notes=(note, "And so on.")))
    assert [text.text for text in root.iter(f"{NS}text") if text.get("class") == "note"] == [
        note,
        "And so on.",
    ]
    assert root.get("height") == "124"
    assert float(root.get("width", "0")) > 300


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_text(name: str) -> None:
    nodes = (Node(name, about=name), Node("b"), Node("g", Shape.GROUP, text=name, members=(name,)))
    graph = Graph(name, nodes, (Edge(name, "b", (name,)),), (name,))
    marks = RunMarks((name,), {name: 2}, {(name, "b"): 1}, (way(name, "b", Availability.SHUT, name),))
    root = ET.XML(svg(graph, lay_out_graph(graph), marks, links="p"))
    kinds = {element.tag.removeprefix(NS) for element in root.iter()}
    assert kinds <= {"svg", "title", "desc", "style", "rect", "g", "a", "path", "text", "tspan"}
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on")]
    assert all(link.get("href", "").startswith(("#state=", "#group=")) for link in root.iter(f"{NS}a"))


@given(st.text(ALPHABET, min_size=1, max_size=40), st.text(ALPHABET, max_size=60))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_any_name_and_label_give_a_well_formed_picture(name: str, label: str) -> None:
    graph = Graph(label, (Node(name, initial=True),), (Edge(name, name, (label,)),))
    (node,) = (group for group in picture(graph, standalone=False).iter(f"{NS}g") if group.get("data-state"))
    assert node.findtext(f"{NS}title") is not None


def test_the_arrow_of_an_edge_points_at_its_target() -> None:
    root = picture(build_graph("a b\nb a"))
    down, up = (element.get("d", "") for element in root.iter(f"{NS}path") if element.get("class") == "head")
    assert down.endswith("l-4.5 -8h9z")
    assert up.endswith("l-4.5 8h9z")


def _shares(colour: str) -> list[float]:
    full = colour if len(colour) == 6 else "".join(letter * 2 for letter in colour)
    return [int(full[place : place + 2], 16) / 255 for place in (0, 2, 4)]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as the guidelines for web content measure it."""
    lights = []
    for colour in (one, other):
        linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in _shares(colour)]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


READ = "ink/sheet quiet/sheet quiet/node ink/node ink/been ink/router ink/end on-accent/accent bad/plate"
SEEN = "line/sheet walked/sheet bad/node agent/sheet person/sheet check/sheet rest/sheet walked/been"


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_what_is_read_and_what_is_seen_stands_out_in_light_and_dark(theme: int) -> None:
    blocks = re.findall(r"--sheet:[^}]*", GRAPH_STYLE)
    colours = dict(re.findall(r"--([a-z-]+):#([0-9a-f]{6}|[0-9a-f]{3})\b", blocks[theme]))
    for pairs, least in ((READ.split(), 4.5), (SEEN.split(), 3.0)):
        assert [
            pair for pair in pairs if contrast(*(colours[name] for name in pair.split("/"))) < least
        ] == []
