"""The lists of what must be shown are whole; every due line has a test, every test's line is in a list."""

import ast
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
FOLDER = TESTS / "requirements"


def altered(origin: str, lists: Mapping[str, bytes]) -> list[str]:
    """The lists that no longer begin with the bytes they were given with, that are missing, or of no origin.

    A line of `origin` is the sum, the number of bytes and the name of a list as given.
    """
    given = {name: (digest, int(size)) for digest, size, name in map(str.split, origin.splitlines())}
    found = [f"{name} is missing" for name in given if name not in lists]
    for name, text in lists.items():
        digest, size = given.get(name, ("", 0))
        if not digest:
            found.append(f"{name} has no origin")
        elif hashlib.sha256(text[:size]).hexdigest() != digest:
            found.append(f"{name} does not begin as given")
    return found


def listed(name: str, text: str) -> list[str]:
    """The ids of one list, each with the name of its list in front; every line is `id | sentence`."""
    ids = []
    for number, line in enumerate(text.splitlines(), start=1):
        key, bar, sentence = line.partition(" | ")
        if not (bar and key.strip() and sentence.strip()):
            raise ValueError(f"{name}, line {number}: no `id | sentence`")
        ids.append(f"{name}:{key.strip()}")
    return ids


def shown(source: str) -> Iterator[str]:
    """The ids that the tests of one file carry, as a mark on the test or on one of its cases."""
    if "requirement(" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            for decorator in node.decorator_list:
                yield from _marked(decorator)
        elif isinstance(node, ast.keyword) and node.arg == "marks":
            yield from _marked(node.value)


def _marked(mark: ast.expr) -> Iterator[str]:
    for node in ast.walk(mark):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] == "requirement":
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise TypeError(f"line {node.lineno}: the id of a requirement is typed, not computed")
                yield argument.value


def prefixes(due: str) -> tuple[str, ...]:
    """The prefixes of a due file; `#` begins a comment line."""
    return tuple(line.strip() for line in due.splitlines() if line.strip() and not line.startswith("#"))


def missing(ids: set[str], due: tuple[str, ...], carried: set[str]) -> list[str]:
    """What is wrong: due lines without a test, ids of tests in no list, prefixes that mean no line."""
    return [
        *(f"{key} is due and has no test" for key in sorted(ids - carried) if key.startswith(due)),
        *(f"{key} is carried by a test and stands in no list" for key in sorted(carried - ids)),
        *(
            f"{prefix} is due and begins no line"
            for prefix in due
            if not any(key.startswith(prefix) for key in ids)
        ),
    ]


def _lists() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(FOLDER.glob("*.txt")) if path.name != "due.txt"}


def _ids() -> list[str]:
    return [
        key for name, text in _lists().items() for key in listed(name.removesuffix(".txt"), text.decode())
    ]


def test_the_lists_begin_byte_for_byte_as_they_were_given() -> None:
    assert sorted(_lists()) == ["commits.txt", "planner.txt", "skills.txt", "spells.txt", "steps.txt"]
    assert altered((FOLDER / "origin.sha256").read_text(), _lists()) == []


def test_every_id_stands_once() -> None:
    ids = _ids()

    assert len(ids) == 280
    assert sorted(ids) == sorted(set(ids))


def test_every_due_line_has_a_test_and_every_tests_line_is_listed() -> None:
    carried = {key for path in TESTS.rglob("*.py") for key in shown(path.read_text(encoding="utf-8"))}

    assert missing(set(_ids()), prefixes((FOLDER / "due.txt").read_text()), carried) == []


# --- each of these checks can fail --------------------------------------------------------------------------

ORIGIN = "cf7024ad3f7b1a6c09e1c882eb88aa3510d728b925cb69c79b760b6d1ea66fb6 7 spells.txt\n"


@pytest.mark.parametrize(
    ("lists", "found"),
    [
        ({"spells.txt": b"G1 | a\n"}, []),
        ({"spells.txt": b"G1 | a\nG2 | added below\n"}, []),
        ({"spells.txt": b"G1 | b\n"}, ["spells.txt does not begin as given"]),
        ({"spells.txt": b"G1 | a"}, ["spells.txt does not begin as given"]),
        ({"spells.txt": b"G0 | above\nG1 | a\n"}, ["spells.txt does not begin as given"]),
        ({}, ["spells.txt is missing"]),
        ({"spells.txt": b"G1 | a\n", "new.txt": b""}, ["new.txt has no origin"]),
    ],
)
def test_an_altered_list_is_found(lists: dict[str, bytes], found: list[str]) -> None:
    assert altered(ORIGIN, lists) == found


def test_the_ids_of_a_list_carry_its_name() -> None:
    assert listed("spells", "G1 | a | b\nG2b | c\n") == ["spells:G1", "spells:G2b"]


@pytest.mark.parametrize("line", ["G1", "G1 |", " | a", "G1 |  "])
def test_a_line_that_is_no_requirement_is_found(line: str) -> None:
    with pytest.raises(ValueError, match=r"^spells, line 2: no `id \| sentence`$"):
        listed("spells", f"G1 | a\n{line}\n")


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        ("@requirement('a:1')\ndef test_x(): pass", ["a:1"]),
        ("@pytest.mark.requirement('a:1')\nasync def test_x(): pass", ["a:1"]),
        (
            "class TestA:\n    @requirement('a:1')\n    @requirement('a:2')\n    def test_x(self): pass",
            ["a:1", "a:2"],
        ),
        (
            "cases = [pytest.param(1, marks=requirement('a:1')), param(2, marks=[requirement('a:2')])]",
            ["a:1", "a:2"],
        ),
        ("@requirement('a:1')\ndef helper(): pass", []),
        ("'''@requirement('a:1')'''", []),
        ("@other('a:1')\ndef test_x(): pass", []),
    ],
)
def test_the_marks_of_tests_are_collected(source: str, ids: list[str]) -> None:
    assert sorted(shown(source)) == ids


def test_a_computed_id_is_found() -> None:
    with pytest.raises(TypeError, match="line 1: the id of a requirement is typed, not computed"):
        list(shown("@requirement(f'a:{n}')\ndef test_x(): pass"))


def test_a_comment_in_the_due_file_is_no_prefix() -> None:
    assert prefixes("# about\n\nspells:\nsteps:tool.\n") == ("spells:", "steps:tool.")


def test_gaps_in_either_direction_are_found() -> None:
    ids = {"spells:G1", "spells:G2", "steps:tool.start"}

    assert missing(ids, ("spells:",), {"spells:G1", "spells:G2"}) == []
    assert missing(ids, (), {"steps:tool.start"}) == []
    assert missing(ids, ("spells:",), {"spells:G1"}) == ["spells:G2 is due and has no test"]
    assert missing(ids, (), {"spells:G9"}) == ["spells:G9 is carried by a test and stands in no list"]
    assert missing(ids, ("spell:",), set()) == ["spell: is due and begins no line"]
