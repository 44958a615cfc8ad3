"""Markdown line by line: fences and comments are no text, and nothing is lost on the way."""

from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.markdown import Blocks, Fence, Line, parse_blocks


def texts(document: str) -> list[str]:
    return [line.text for line in parse_blocks(document).lines]


def test_a_line_knows_its_number_its_start_and_its_end() -> None:
    assert parse_blocks("one\r\ntwo\rthree\n\nfour").lines == (
        Line(1, 0, "one", "\r\n"),
        Line(2, 5, "two", "\r"),
        Line(3, 9, "three", "\n"),
        Line(4, 15, "", "\n"),
        Line(5, 16, "four", ""),
    )
    assert parse_blocks("") == Blocks((), ())


def test_what_stands_in_a_fence_is_no_line() -> None:
    document = "a\n```yaml title\nb\n~~~\n```\nc\n  ~~~~\nd\n~~~\n~~~~~\ne\n"

    assert texts(document) == ["a", "c", "e"]
    assert parse_blocks(document).fences == (Fence("yaml", "b\n~~~\n", 3), Fence("", "d\n~~~\n", 8))
    assert parse_blocks(document).unclosed == 0


def test_ticks_in_the_words_behind_a_mark_make_it_no_fence() -> None:
    assert texts("``` a `b` ```\ntext\n") == ["``` a `b` ```", "text"]
    assert texts("    ```\ntext\n") == ["    ```", "text"]


def test_a_fence_that_nobody_closes_goes_on_to_the_end_and_is_told() -> None:
    found = parse_blocks("a\n```\nb\n``` c\nd")

    assert [line.text for line in found.lines] == ["a"]
    assert found.fences == (Fence("", "b\n``` c\nd", 3),)
    assert found.unclosed == 2


def test_a_comment_is_blank_in_a_line_and_as_a_block_it_is_none() -> None:
    assert texts("a <!-- b --> c\n<!-- d\ne\nf --> g\nh\n") == ["a            c", "h"]
    assert texts("<!-- all -->\ni\n") == [" " * 12, "i"]


def test_a_comment_is_a_block_only_where_it_begins_a_line() -> None:
    assert texts("write `<!--` for a comment\nb\n") == ["write `<!--` for a comment", "b"]


def test_a_comment_that_nobody_closes_goes_on_to_the_end_and_is_told() -> None:
    found = parse_blocks("a\n<!-- b\nc\n")

    assert ([line.text for line in found.lines], found.unclosed) == (["a"], 2)


def test_a_byte_order_mark_is_a_blank() -> None:
    assert texts("\ufeff# A\n") == [" # A"]


@given(st.text(alphabet="a`~<!->\r\n #", max_size=60))
def test_every_text_is_taken_apart_and_each_line_stands_where_it_says(document: str) -> None:
    for line in parse_blocks(document).lines:
        there = document[line.start : line.start + len(line.text) + len(line.end)]
        assert len(there) == len(line.text + line.end)
        assert there.endswith(line.end)
