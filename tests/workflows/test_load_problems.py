"""Each broken file says what is wrong with it, word for word, at the very spot."""

from collections.abc import Mapping
from typing import Final

import pytest

from handrail.engine.soundness import FINDING_CODES
from handrail.workflows.load import LOADING_CODES
from helpers.workflow_files import FOLDER, Case, find_problems, format_case_output, list_cases

ELSEWHERE: Final[Mapping[str, str]] = {
    "yaml-size": "needs more than a megabyte: test_nodes",
    "too-large": "needs thousands of rows: test_limits",
}
"""Codes that no small file can show."""

MANY: Final[Mapping[str, list[tuple[str, int]]]] = {
    "mending": [
        ("unknown-type", 5),
        ("wrong-value", 6),
        ("unknown-placeholder", 11),
        ("wrong-type", 12),
        ("missing-key", 13),
        ("unknown-state", 20),
        ("payload-in-when", 21),
        ("duplicate-state", 22),
    ],
    "planning": [
        ("wrong-type", 2),
        ("missing-key", 5),
        ("unknown-key", 11),
        ("unknown-fact", 17),
        ("unknown-state", 21),
        ("guard-syntax", 23),
        ("unsafe-path", 25),
        ("duplicate-row", 26),
        ("reading-trigger", 26),
        ("unknown-text", 26),
        ("unknown-filter", 29),
    ],
    "routing": [
        ("router-stuck", 6),
        ("unreachable-state", 9),
        ("unused-variable", 12),
        ("shadowed-row", 15),
        ("contradiction", 18),
        ("loop-without-cap", 19),
        ("constant-guard", 21),
        ("unused-text", 24),
    ],
}
"""The defects planted in the files of `many/`, with their lines."""


@pytest.mark.parametrize("case", list_cases(FOLDER / "many"), ids=lambda case: case.name)
def test_a_file_with_many_defects_gives_exactly_the_output_beside_it(case: Case) -> None:
    assert format_case_output(case) + "\n" == case.expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", list_cases(), ids=lambda case: case.name)
def test_a_broken_file_gives_the_output_beside_it_and_no_code_but_the_one_in_its_name(case: Case) -> None:
    assert format_case_output(case) + "\n" == case.expected.read_text(encoding="utf-8")
    codes = {problem.code for problem in find_problems(case.file)}

    assert case.code in codes
    assert codes - {case.code} <= ({"shadowed-row"} if case.name == "unreachable-state-2" else set())


def test_every_code_has_a_broken_file_or_a_reason_why_not() -> None:
    shown = {case.code for case in list_cases()}

    assert shown & set(ELSEWHERE) == set()
    assert shown | set(ELSEWHERE) == {*LOADING_CODES, *FINDING_CODES}


@pytest.mark.parametrize("name", MANY)
def test_all_planted_defects_of_a_file_are_reported_at_once(name: str) -> None:
    found = find_problems(FOLDER / "many" / f"{name}.yaml")

    assert [(problem.code, problem.place.line) for problem in found] == MANY[name]


def test_no_file_of_the_folder_is_without_a_use() -> None:
    used = {
        path for case in [*list_cases(), *list_cases(FOLDER / "many")] for path in (case.file, case.expected)
    }
    inside = {path.parent for path in used} - {FOLDER, FOLDER / "many"}
    unused = [path for path in FOLDER.rglob("*.*") if path not in used and path.parent not in inside]

    assert unused == []
    assert {case.name for case in list_cases(FOLDER / "many")} == set(MANY)
