import pytest

from handrail.drawing.text import measure_text, shorten_label, shorten_text


def test_a_wide_letter_takes_more_room_than_a_narrow_one() -> None:
    assert measure_text("W", 10) > measure_text("A", 10) > measure_text("a", 10) > measure_text("i", 10) > 0


def test_an_ideograph_takes_a_full_square_and_a_combining_mark_none() -> None:
    assert measure_text("字", 10) == 10
    assert measure_text("e\u0301", 10) == measure_text("e", 10)


@pytest.mark.parametrize(
    ("text", "expected"), [("short", "short"), ("two\n lines", "two lines"), ("one word more", "one wo…")]
)
def test_a_text_is_put_on_one_line_and_cut_with_an_ellipsis(text: str, expected: str) -> None:
    assert shorten_text(text, 10 if " " not in text or "\n" in text else 7) == expected


def test_a_label_of_many_lines_says_how_many_more_there_are() -> None:
    assert shorten_label(("a", "b", "c")) == ("a", "b", "c")
    assert shorten_label(("a", "b", "c", "d")) == ("a", "b", "+2 …")
