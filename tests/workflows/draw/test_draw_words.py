import pytest

from handrail.workflows.draw.words import caption, shortened, width


def test_a_wide_letter_takes_more_room_than_a_narrow_one() -> None:
    assert width("W", 10) > width("A", 10) > width("a", 10) > width("i", 10) > 0


def test_an_ideograph_takes_a_full_square_and_a_combining_mark_none() -> None:
    assert width("字", 10) == 10
    assert width("e\u0301", 10) == width("e", 10)


@pytest.mark.parametrize(
    ("text", "expected"), [("short", "short"), ("two\n lines", "two lines"), ("one word more", "one wo…")]
)
def test_a_text_is_put_on_one_line_and_cut_with_an_ellipsis(text: str, expected: str) -> None:
    assert shortened(text, 10 if " " not in text or "\n" in text else 7) == expected


def test_a_label_of_many_lines_says_how_many_more_there_are() -> None:
    assert caption(("a", "b", "c")) == ("a", "b", "c")
    assert caption(("a", "b", "c", "d")) == ("a", "b", "+2 …")
