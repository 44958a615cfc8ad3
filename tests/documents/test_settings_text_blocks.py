"""A block of ours in a guide of somebody else's: put in, put in anew, taken out, and the rest to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.settings_text import SettingsProblem, put_block, remove_block

START = "<!-- HANDRAIL START v1.0 -->"
END = "<!-- HANDRAIL END -->"


def test_a_block_is_put_behind_all_else() -> None:
    assert put_block("", "1.0", "a\nb\n") == f"{START}\na\nb\n{END}\n"
    assert put_block("# Mine\n", "1.0", "a") == f"# Mine\n\n{START}\na\n{END}\n"
    assert put_block("# Mine", "1.0", "a") == f"# Mine\n\n<!-- HANDRAIL START v1.0 joined -->\na\n{END}\n"


def test_lines_end_as_those_of_the_text_do() -> None:
    assert put_block("# Mine\r\n", "1.0", "a\nb") == f"# Mine\r\n\r\n{START}\r\na\r\nb\r\n{END}\r\n"


def test_a_newer_block_takes_the_place_of_the_old_one() -> None:
    old = f"before\n\n{START}\nold\n{END}\n\nbehind\n"

    assert put_block(old, "1.1", "new") == old.replace("v1.0", "v1.1").replace("old", "new")


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (f"a\n\n{START}\nx\n{END}\nb\n", "a\nb\n"),
        (f"a\n{START}\nx\n{END}\nb\n", "a\nb\n"),
        (f"{START}\nx\n{END}", ""),
        ("nothing of ours\n", "nothing of ours\n"),
    ],
)
def test_a_block_is_taken_out_wherever_somebody_put_it(text: str, rest: str) -> None:
    assert remove_block(text) == rest


@pytest.mark.parametrize(
    "text", [START, END, f"{END}\n{START}", f"{START}{START}{END}{END}", f"a\n{START}\nb"]
)
def test_marks_that_do_not_fit_are_told_and_nothing_is_done(text: str) -> None:
    for found in (put_block(text, "1.0", "x"), remove_block(text)):
        assert isinstance(found, SettingsProblem)
        assert found.sentence.startswith("where Handrail's block begins and ends is not clear")
        assert found.repair == "remove the marks that are too many, and what is between them"
        assert found.line == (2 if text.startswith("a") else 1)


@given(st.text(st.sampled_from("ab \n\r#<!->"), max_size=30), st.sampled_from(["x", "x\ny"]))
def test_a_text_has_its_old_bytes_again(text: str, inside: str) -> None:
    once = put_block(text, "1.0", inside)
    assert isinstance(once, str)

    assert put_block(once, "1.0", inside) == once
    assert remove_block(once) == text
    newer = put_block(once, "2.0", "z")
    assert isinstance(newer, str)
    assert remove_block(newer) == text
