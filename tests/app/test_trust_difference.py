"""The difference that a person is shown before a file is trusted."""

from pathlib import Path

import pytest

from handrail.app.catalog import DefinitionKind
from handrail.app.trust import TextChange, UntrustedFile


def shown(*changes: TextChange) -> UntrustedFile:
    return UntrustedFile(DefinitionKind.PERSONA, "writer", Path("new"), Path("old"), "1", changes)


def test_the_lines_that_go_and_come_stand_among_their_neighbours() -> None:
    file = shown(TextChange("old.md", "new.md", "a\nb\nc\n", "a\nB\nc\n"))

    assert file.diff == "--- old.md\n+++ new.md\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n \n"
    assert file.whole == file.diff


def test_files_that_are_the_same_are_left_out_and_one_that_is_new_comes_whole() -> None:
    file = shown(
        TextChange("old.md", "new.md", "a", "a"),
        TextChange("", "more.md", "", "b"),
        TextChange("x.md", "", "", ""),
    )

    assert file.diff == (
        "--- nothing\n+++ more.md\n@@ -0,0 +1 @@\n+b\n--- x.md\n+++ nothing\n@@ -1 +0,0 @@\n-\n"
    )


def test_nothing_in_it_gives_orders_to_a_terminal_and_what_is_hidden_is_seen() -> None:
    file = shown(TextChange("old\x1b[2J.md", "new\u202e.md", "a\n", "\x1b[2J\u202egnp\u200b\r\nb\udcff\n"))

    assert file.diff == (
        "--- old\\u{1b}[2J.md\n"
        "+++ new\\u{202e}.md\n"
        "@@ -1,2 +1,3 @@\n"
        "-a\n"
        "+\\u{1b}[2J\\u{202e}gnp\\u{200b}\\u{d}\n"
        "+b\\u{dcff}\n"
        " \n"
    )


def test_other_line_ends_and_a_missing_last_one_are_differences() -> None:
    ends = shown(TextChange("o", "n", "a\nb\n", "a\r\nb\n")).diff
    last = shown(TextChange("o", "n", "a\n", "a")).diff

    assert ends.splitlines()[3:] == ["-a", "+a\\u{d}", " b", " "]
    assert last.splitlines()[3:] == [" a", "-"]


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\n" * 40, "b\n" * 40_000),
        ("", "é" * 50_000),
        ("x\ny\n" * 25_000, "y\nx\n" * 25_000),
        ("", "\u202e\n" * 2_000),
    ],
    ids=["many lines", "one long line", "every other line", "hidden characters"],
)
def test_a_long_difference_is_cut_at_a_line_and_says_where_the_rest_is(old: str, new: str) -> None:
    file = shown(TextChange("old.md", "new.md", old, new))

    assert len(file.diff.encode()) <= 8192
    assert file.diff.endswith("\n… cut here; `handrail trust writer` shows all of it\n")
    assert file.whole.startswith(file.diff.rpartition("…")[0])


def test_a_difference_of_just_eight_kilobytes_less_the_note_is_whole() -> None:
    note = len("… cut here; `handrail trust writer` shows all of it\n".encode())
    head = len("--- o\n+++ n\n@@ -1 +1 @@\n-\n+\n")
    fits, too_long = (shown(TextChange("o", "n", "", "x" * (8192 - note - head + more))) for more in (0, 1))

    assert fits.diff == fits.whole
    assert (len(fits.diff), "cut here" in too_long.diff) == (8192 - note, True)


def test_long_texts_are_not_compared_line_by_line() -> None:
    file = shown(TextChange("o", "n", "a\n" * 1_000, "a\n" * 999))

    assert file.whole == "--- o\n+++ n\n" + "-a\n" * 1_000 + "-\n" + "+a\n" * 999 + "+\n"
