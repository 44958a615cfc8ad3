"""A sound file with one defect planted at random: it is found, and on the line where it stands."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from handrail.engine.soundness import check_soundness
from handrail.workflows.load import WorkflowSource, load_workflow
from helpers.workflow_files import read_sound_text

pytestmark = pytest.mark.unmeasured


@dataclass(frozen=True, slots=True)
class Planted:
    """A text with a defect in it, and where that must be reported."""

    written: str
    code: str
    line: int


Plant: TypeAlias = Callable[[str, int], Planted]
FILES = ["everything.yaml", "skills.yaml", "spells.yaml"]
FACTS = (
    r"plan\.exists|task\.exists|results\.exists|comments\.exists|review_task\.exists|review_results\.exists"
    r"|items\.remaining|item\.type|batches\.remaining|criteria\.total|criteria\.unchecked"
)


def _spots(pattern: str, written: str) -> list[re.Match[str]]:
    """Where a word of some kind stands: the group of the pattern, outside the texts of the file."""
    end = written.rindex("\ntexts:") if "\ntexts:" in written else len(written)
    return list(re.finditer(pattern, written[:end]))


def _replace(written: str, spot: re.Match[str], new: str, code: str) -> Planted:
    start, end = spot.span(1)
    return Planted(written[:start] + new + written[end:], code, written.count("\n", 0, start) + 1)


def _one(pattern: str, change: Callable[[str], str], code: str) -> Plant:
    def plant(written: str, number: int) -> Planted:
        spots = _spots(pattern, written)
        assume(spots)
        spot = spots[number % len(spots)]
        return _replace(written, spot, change(spot[1]), code)

    return plant


def _swapped(name: str) -> str:
    """The name with two letters in the middle exchanged."""
    middle = len(name) // 2
    return name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :]


def _misspelt(name: str) -> str:
    swapped = _swapped(name)
    return swapped if swapped != name else f"{name}x"


PLANTS: dict[str, Plant] = {
    "a target misspelt": _one(r"\bto: ([A-Za-z][\w-]{3,})[,}\n]", _misspelt, "unknown-state"),
    "a source misspelt": _one(
        r"\bfrom: ([A-Za-z][\w-]{3,}),? *(?=trigger|when|to|\n)", _misspelt, "unknown-state"
    ),
    "a fact misspelt": _one(rf"\b({FACTS})\b", lambda name: name + "x", "unknown-fact"),
    "a trigger misspelt": _one(r"\btrigger: (\w{4,})", _misspelt, "unknown-trigger"),
    "a text misspelt": _one(r"\bsay: ([\w-]+)", lambda name: f"{name}-x", "unknown-text"),
    "a draft misspelt": _one(r"\bdraft: \{\w+: ([\w.]+)\}", _misspelt, "unknown-draft"),
    "an effect misspelt": _one(r"\{(archive|write): ", _misspelt, "unknown-effect"),
    "a key nobody knows": _one(r"[{ ](trigger|say|set|when): ", lambda name: f"x{name}x", "unknown-key"),
    "an id given twice": _one(r"\bid: ((?!W1|S1|G1\b)\w+)", lambda _: "@first", "duplicate-row"),
    "a single = for ==": _one(r"[\w.]+ (==) [\"\w]", lambda _: "=", "guard-syntax"),
    "a number for a text": _one(r"\bto: ([A-Za-z][\w-]+)[,}\n]", lambda _: "5", "wrong-type"),
    "yes for true": _one(r"\b(?:router|terminal|if_absent): (true)", lambda _: "yes", "wrong-type"),
    "a path that leads out": _one(r"\bwrite: ([\w/.-]+\.md)", lambda path: f"../{path}", "unsafe-path"),
    "a path that names nothing": _one(r'"[\w/-]*\{(now)\}', lambda _: "never", "unknown-placeholder"),
    "a type nobody knows": _one(r"\bvars: \{\w+: (state\?)", lambda _: "status?", "unknown-type"),
    "a guard that never holds": _one(r"item\.type == \"(\w+)\"", lambda _: "feature", "constant-guard"),
}


def _found(planted: Planted) -> list[tuple[str, int]]:
    found = load_workflow(WorkflowSource("f.yaml", planted.written))
    problems = found.problems if found.workflow is None else check_soundness(found.workflow)
    return [(problem.code, problem.place.line) for problem in problems]


@pytest.mark.parametrize("kind", PLANTS)
@settings(max_examples=15)
@given(st.sampled_from(FILES), st.integers(0, 999))
def test_a_planted_defect_is_found_on_its_line(kind: str, name: str, number: int) -> None:
    written = read_sound_text(name)
    planted = PLANTS[kind](written, number)
    first = re.search(r"\bid: (\w+)", written)

    assert first
    assert (planted.code, planted.line) in _found(
        replace(planted, written=planted.written.replace("@first", first[1]))
    )


@pytest.mark.parametrize("name", FILES)
def test_a_state_that_no_row_leads_to_is_found(name: str) -> None:
    before, _, after = read_sound_text(name).partition("\ntransitions:\n")
    line = before.count("\n") + 2

    assert ("unreachable-state", line) in _found(
        Planted(f"{before}\n  orphan:\ntransitions:\n{after}", "", 0)
    )


def _rows(written: str) -> list[str]:
    """The rows of a file in which each stands on one line."""
    return re.findall(r"^  - \{id: .*\n", written, re.MULTILINE)


@settings(max_examples=25)
@given(st.sampled_from(["skills.yaml", "spells.yaml"]), st.integers(0, 99))
def test_a_text_that_is_dropped_is_missed_by_every_row_that_says_it(name: str, number: int) -> None:
    written = read_sound_text(name)
    said = re.findall(r"\b(?:say|refuse): ([\w-]+)", written)
    assume(said)
    lost = said[number % len(said)]
    dropped = re.sub(rf"^  {lost}: (\|\n(    .*\n)+|.*\n)", "", written, flags=re.MULTILINE)
    lines = [
        line
        for line, row in enumerate(dropped.split("\n"), 1)
        if re.search(rf"\b(say|refuse): {lost}\b", row)
    ]

    assert _found(Planted(dropped, "", 0)) == [("unknown-text", line) for line in lines]


def test_every_row_that_is_put_before_the_rows_that_it_shadows_is_noticed() -> None:
    written = read_sound_text("spells.yaml")
    rows = {row.split("id: ")[1].split(",")[0]: row for row in _rows(written)}
    swapped = written.replace(rows["V1"], "").replace(rows["V4"], rows["V4"] + rows["V1"])
    line = swapped[: swapped.index("{id: V1")].count("\n") + 1

    assert ("shadowed-row", line) in _found(Planted(swapped, "", 0))


@given(st.integers(0, 99))
@settings(max_examples=25)
def test_a_state_that_loses_every_way_out_is_a_dead_end(number: int) -> None:
    written = read_sound_text("skills.yaml")
    rows = [row for row in _rows(written) if "trigger:" in row]
    row = rows[number % len(rows)]
    state = row.split("from: ")[1].split(",")[0]
    cut = written.replace(row, "")
    line = cut[: cut.index(f"\n  {state}:")].count("\n") + 2

    assert ("dead-end", line) in _found(Planted(cut, "", 0))
