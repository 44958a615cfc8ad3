"""Definitions that have not changed are not read again; and whatever changes is seen by the next look."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from handrail.app.catalog import DefinitionKind
from handrail.app.definitions import Definitions, ScannedFolder, SourceCache, StatSnapshot, take_stat_snapshot
from handrail.app.trust import TrustStore
from handrail.workflows.load import SourceFinder, WorkflowSource
from helpers.definitions import write_definition

LONG_AGO = -(10**18)
"""As if whatever was changed had been changed long before it is read."""

_opened: list[str] = []
_heard: list[bool] = []


def _hear(event: str, given: tuple[object, ...]) -> None:
    if _heard and event in {"open", "os.listdir", "os.scandir"}:
        _opened.append(f"{event} {given[0]}")


sys.addaudithook(_hear)


@pytest.fixture
def opened() -> Iterator[list[str]]:
    _opened.clear()
    _heard.append(True)
    yield _opened
    _heard.clear()


@pytest.fixture
def shelf(project: Path) -> Definitions:
    return Definitions(project, TrustStore(), settled=LONG_AGO)


def told(shelf: Definitions) -> tuple[str | None, list[str]]:
    """What the poet is told, and the rules of the house."""
    poet = shelf.persona("poet")
    return poet.text if poet else None, [one.text for one in shelf.guardrails() if one.origin != "built-in"]


@pytest.fixture
def poet(project: Path, own: Path, shelf: Definitions) -> Path:
    """The file of a persona that was looked at, as was a rule of the user's."""
    path = write_definition(project, ".handrail/agents/poet.md", "Write.\n")
    write_definition(own, "guardrails/calm.md", "Calm.\n")
    assert told(shelf) == ("Write.\n", ["Calm.\n"])
    return path


@pytest.mark.usefixtures("poet")
def test_what_has_not_changed_is_not_read_again(shelf: Definitions, opened: list[str]) -> None:
    assert told(shelf) == ("Write.\n", ["Calm.\n"])

    assert opened == []


def test_folders_that_are_not_there_are_not_looked_for_again(
    shelf: Definitions, project: Path, opened: list[str]
) -> None:
    assert told(shelf) == (None, [])
    assert opened
    opened.clear()
    assert told(shelf) == (None, [])
    assert opened == []

    write_definition(project, ".handrail/agents/poet.md", "Write.\n")
    assert told(shelf) == ("Write.\n", [])


def test_what_was_changed_a_moment_ago_is_read_again(project: Path, opened: list[str]) -> None:
    write_definition(project, ".handrail/agents/poet.md", "Write.\n")
    shelf = Definitions(project, TrustStore())
    told(shelf)
    opened.clear()

    told(shelf)

    assert any(one.startswith("open poet.md") for one in opened)


def _rewritten(poet: Path) -> None:
    poet.write_text("Sing!\n")


def _same_size(poet: Path) -> None:
    poet.write_text("Sing!!\n")
    os.utime(poet, ns=(1, 1))


def _replaced(poet: Path) -> None:
    write_definition(poet.parent.parent, "new.md", "Write!\n").rename(poet)


def _linked_to(poet: Path) -> None:
    write_definition(poet.parent.parent, "new.md", "Write!\n")
    poet.unlink()
    poet.symlink_to("../new.md")


def _gone(poet: Path) -> None:
    poet.unlink()


def _second_name(poet: Path) -> None:
    poet.with_name("poet.txt").hardlink_to(poet)


def _folder_linked_to(poet: Path) -> None:
    poet.parent.rename(poet.parent.with_name("others"))
    poet.parent.symlink_to("others")


def _folder_above_linked_to(poet: Path) -> None:
    above = poet.parent.parent
    above.rename(above.with_name("others"))
    above.symlink_to("others")


def _folder_gone(poet: Path) -> None:
    above = poet.parent.parent
    above.rename(above.with_name("others"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_rewritten, "Sing!"),
        (_same_size, "Sing!!"),
        (_replaced, "Write!"),
        (_linked_to, "cannot be read"),
        (_gone, None),
        (_second_name, "cannot be read"),
        (_folder_linked_to, None),
        (_folder_above_linked_to, None),
        (_folder_gone, None),
    ],
)
def test_every_change_of_a_projects_file_is_seen(
    change: Callable[[Path], None], says: str | None, shelf: Definitions, poet: Path
) -> None:
    change(poet)

    text = told(shelf)[0]

    assert text is None if says is None else says in str(text)
    assert told(Definitions(poet.parent.parent.parent, TrustStore())) == told(shelf)


def test_a_file_of_the_users_is_followed_where_its_links_lead(
    shelf: Definitions, own: Path, home: Path
) -> None:
    real = home / "rules"
    write_definition(own, "agents/cook.md", "Cook.\n")
    (own / "guardrails").symlink_to(real)
    assert told(shelf)[1] == []

    calm = write_definition(real, "calm.md", "Calm.\n")
    assert told(shelf)[1] == ["Calm.\n"]
    calm.write_text("Be calm.\n")
    assert told(shelf)[1] == ["Be calm.\n"]
    calm.unlink()
    calm.symlink_to("elsewhere")
    assert told(shelf)[1] == []
    write_definition(real, "elsewhere", "Elsewhere.\n")
    assert told(shelf)[1] == ["Elsewhere.\n"]


def test_what_is_passed_over_is_looked_at_again(shelf: Definitions, project: Path, opened: list[str]) -> None:
    write_definition(project, ".handrail/agents/not a name.md", "Write.\n")
    assert [one.name for one in shelf.list_skipped(DefinitionKind.PERSONA)] == ["not a name"]
    opened.clear()

    assert [one.name for one in shelf.list_skipped(DefinitionKind.PERSONA)] == ["not a name"]

    assert opened


def test_a_missing_or_just_changed_file_has_no_snapshot(tmp_path: Path) -> None:
    file = write_definition(tmp_path, "one/two/file.md", "Text.\n")
    place = ScannedFolder(file.parent, (file,), follows=False)
    late = 2 * file.stat().st_ctime_ns

    assert isinstance(take_stat_snapshot([place], late), StatSnapshot)
    assert take_stat_snapshot([place], file.stat().st_ctime_ns) is None
    file.unlink()
    assert take_stat_snapshot([place], late) is None


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
