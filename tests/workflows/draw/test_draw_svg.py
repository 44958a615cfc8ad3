from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.workflows.draw.graph import Edge, Graph, Line, Node, Shape
from handrail.workflows.draw.layout import layout_of
from handrail.workflows.draw.marks import NO_MARKS, Marks
from handrail.workflows.draw.svg import svg
from workflows.draw.draw_cases import drawn

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


def picture(graph: Graph, marks: Marks = NO_MARKS, *, standalone: bool = True) -> ET.Element:
    return ET.XML(svg(graph, layout_of(graph), marks, standalone=standalone))


def classes(root: ET.Element, word: str) -> list[str]:
    """The classes of every group of this sort, in order, without the word itself."""
    found = [group.get("class", "").split() for group in root.iter(f"{NS}g")]
    return [" ".join(words[1:]) for words in found if words[0] == word]


def test_a_picture_has_a_title_a_role_and_a_group_for_every_node_and_edge() -> None:
    root = picture(drawn("a b\nb done", initial="a"))
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
    style = picture(drawn("a b")).findtext(f"{NS}style")
    assert style is not None
    assert "prefers-color-scheme:dark" in style


def test_embedded_a_picture_has_no_style_at_all() -> None:
    root = picture(drawn("a b go\nb b\nrouter done", initial="a"), standalone=False)
    assert not list(root.iter(f"{NS}style"))
    assert not [element for element in root.iter() if "style" in element.attrib]


def test_a_picture_has_no_ids_so_that_two_fit_on_one_page() -> None:
    assert not [element for element in picture(drawn("a b")).iter() if "id" in element.attrib]


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
    marks = Marks(("b",), frozenset("ab"), frozenset("c"), frozenset("d"))
    root = picture(drawn("a b\nb c\nb d\nd a"), marks)
    assert classes(root, "node") == ["state visited", "state current", "state possible", "state blocked"]
    assert classes(root, "edge") == ["walked", "open", "", "back"]
    assert root.findtext(f"{NS}title") == "test, now at b"


def test_a_node_for_many_is_open_while_the_run_is_in_one_of_them() -> None:
    nodes = (Node("a"), Node("q"), Node("any", Shape.ANY, members=("a", "b")))
    graph = Graph("fan", nodes, (Edge("any", "q", ("ask",)),))
    root = picture(graph, Marks(("a",), possible=frozenset("q")))
    assert classes(root, "node")[2] == "any open"
    assert classes(root, "edge") == ["open"]
    assert classes(picture(graph, Marks(("q",))), "node")[2] == "any"


def test_an_edge_to_one_of_many_is_open_if_the_run_can_go_to_one_of_them() -> None:
    nodes = (Node("a"), Node("q"), Node("back", Shape.BACK, members=("a", "b")))
    graph = Graph("fan", nodes, (Edge("q", "back", line=Line.RETURN),))
    root = picture(graph, Marks(("q",), possible=frozenset("a")))
    assert classes(root, "edge") == ["open return"]
    assert classes(picture(graph, Marks(("a",))), "node")[2] == "back"


def test_a_return_is_drawn_dashed_and_an_edge_that_runs_back_says_so() -> None:
    edges = (Edge("a", "b"), Edge("b", "a", line=Line.RETURN))
    assert classes(picture(Graph("pair", (Node("a"), Node("b")), edges)), "edge") == ["", "return back"]


def test_the_full_text_of_a_short_label_is_told_on_demand() -> None:
    edge = Edge("a", "b", ("one", "two", "three", "four"), details=("R1: one when x", "R2: two"))
    root = picture(Graph("long", (Node("a", about="the first"), Node("b")), (edge,)))
    (label,) = (group for group in root.iter(f"{NS}g") if group.get("class") == "label")
    assert [span.text for span in label.iter(f"{NS}tspan")] == ["one", "two", "+2 more"]
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
    graph = Graph(name, (Node(name, about=name), Node("b")), (Edge(name, "b", (name,)),), (name,))
    root = picture(graph, Marks((name,)))
    kinds = {element.tag.removeprefix(NS) for element in root.iter()}
    assert kinds <= {"svg", "title", "style", "rect", "g", "path", "text", "tspan"}
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on")]


@given(st.text(ALPHABET, min_size=1, max_size=40), st.text(ALPHABET, max_size=60))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_any_name_and_label_give_a_well_formed_picture(name: str, label: str) -> None:
    graph = Graph(label, (Node(name, initial=True),), (Edge(name, name, (label,)),))
    (node,) = (group for group in picture(graph, standalone=False).iter(f"{NS}g") if group.get("data-state"))
    assert node.findtext(f"{NS}title") is not None


def test_the_arrow_of_an_edge_points_at_its_target() -> None:
    root = picture(drawn("a b\nb a"))
    down, up = (element.get("d", "") for element in root.iter(f"{NS}path") if element.get("class") == "head")
    assert down.endswith("l-4.5 -8h9z")
    assert up.endswith("l-4.5 8h9z")
