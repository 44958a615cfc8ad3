"""What was made of a text is made again only if that text, or one that it names, is another."""

from collections.abc import Mapping

from handrail.app.definitions import SourceCache
from handrail.workflows.load import SourceFinder, WorkflowSource


class Making:
    """Makes a text of a text and of the one that it names; counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, source: WorkflowSource, find: SourceFinder) -> str:
        self.times += 1
        named = find(source.text)
        return f"{source.text} and {named.text if named else 'nothing'}"


def _found(others: Mapping[str, str]) -> SourceFinder:
    return lambda name: WorkflowSource(f"{name}.yaml", others[name]) if name in others else None


def test_the_same_texts_are_read_once() -> None:
    making = Making()
    made = SourceCache(making)

    assert made(WorkflowSource("a.yaml", "b"), _found({"b": "more"})) == "b and more"
    assert made(WorkflowSource("a.yaml", "b"), _found({"b": "more", "c": "unasked"})) == "b and more"
    assert making.times == 1


def test_another_text_or_another_one_inside_it_is_read_anew() -> None:
    made = SourceCache(Making())
    text = WorkflowSource("a.yaml", "b")

    assert made(text, _found({})) == "b and nothing"
    assert made(text, _found({"b": "more"})) == "b and more"
    assert made(text, _found({"b": "less"})) == "b and less"
    assert made(text, _found({})) == "b and nothing"
    assert made(WorkflowSource("a.yaml", "c"), _found({})) == "c and nothing"


def test_those_asked_for_last_are_kept_and_no_more() -> None:
    making = Making()
    made = SourceCache(making, most=2)
    for name in ("a", "b", "a", "c", "a"):
        made(WorkflowSource(f"{name}.yaml", name), _found({}))
    assert making.times == 3

    made(WorkflowSource("b.yaml", "b"), _found({}))
    assert making.times == 4
