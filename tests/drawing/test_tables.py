"""Tables: as people read them, as JSON, and as CSV that no spreadsheet obeys."""

import csv as standard
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.drawing.tables import (
    Cell,
    Column,
    Table,
    Unit,
    format_cell,
    format_cells,
    format_milliseconds,
    select_columns,
    to_csv,
    to_objects,
)

COLUMNS = (
    Column("name", "who"),
    Column("runs", "runs", Unit.COUNT),
    Column("rate", "share", Unit.PERCENT),
    Column("mean_ms", "mean time", Unit.MILLISECONDS),
)
TABLE = Table("sample", "A sample", COLUMNS, (("a", 12_345, 12.5, 90_500), ("b", 0, None, None)), "none")


def of(*names: str) -> Table:
    return Table("names", "Names", COLUMNS[:1], tuple((name,) for name in names), "none")


def test_rows_are_told_by_the_names_of_their_columns() -> None:
    assert to_objects(TABLE) == [
        {"name": "a", "runs": 12_345, "rate": 12.5, "mean_ms": 90_500},
        {"name": "b", "runs": 0, "rate": None, "mean_ms": None},
    ]


def test_people_read_units() -> None:
    assert format_cells(TABLE) == (("a", "12\u202f345", "12.5 %", "1 min 30 s"), ("b", "0", "-", "-"))


def test_a_table_is_narrowed_to_columns_and_to_rows_that_have_something() -> None:
    found = select_columns(TABLE, "rate", "name", having="runs")

    assert ([column.name for column in found.columns], found.rows) == (["rate", "name"], ((12.5, "a"),))
    assert select_columns(TABLE, "name").rows == (("a",), ("b",))


def test_csv_has_a_line_of_names_and_ends_every_line_alike() -> None:
    assert to_csv(TABLE) == "name,runs,rate,mean_ms\r\na,12345,12.5,90500\r\nb,0,,\r\n"


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("plain", "plain"),
        ("a,b", '"a,b"'),
        ('say "so"', '"say ""so"""'),
        ("two\nlines", '"two\nlines"'),
        ("a\rb", '"a\rb"'),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", '"\'\r=1"'),
        ("\n=1", '"\'\n=1"'),
        ('=HYPERLINK("a","b")', '"\'=HYPERLINK(""a"",""b"")"'),
        ("", ""),
        ("a=1", "a=1"),
    ],
)
def test_no_cell_is_a_formula_or_more_than_one_cell(name: str, cell: str) -> None:
    assert to_csv(of(name)) == f"name\r\n{cell}\r\n"


def test_a_number_below_zero_is_a_number() -> None:
    assert to_csv(Table("n", "N", COLUMNS[1:2], ((-3,),), "none")) == "runs\r\n-3\r\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1))
def test_a_reader_of_csv_finds_every_name_again(names: list[str]) -> None:
    rows = list(standard.reader(io.StringIO(to_csv(of("first", *names)), newline="")))

    assert [row[0] if row else "" for row in rows[2:]] == [
        f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else name for name in names
    ]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, Unit.COUNT, "-"),
        ("word", Unit.COUNT, "word"),
        (999, Unit.COUNT, "999"),
        (1_234_567, Unit.COUNT, "1\u202f234\u202f567"),
        (0.0, Unit.PERCENT, "0.0 %"),
        (100 / 3, Unit.PERCENT, "33.3 %"),
        (1500, Unit.MILLISECONDS, "1.5 s"),
    ],
)
def test_a_cell_is_shown_in_its_unit(value: Cell, unit: Unit, text: str) -> None:
    assert format_cell(value, unit) == text


# --- durations ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (None, "-"),
        (0, "0 s"),
        (49, "0 s"),
        (460, "0.5 s"),
        (8_000, "8 s"),
        (59_900, "59.9 s"),
        (59_951, "1 min"),
        (60_000, "1 min"),
        (80_400, "1 min 20 s"),
        (3_599_400, "59 min 59 s"),
        (3_599_600, "1 h"),
        (5_400_000, "1 h 30 min"),
        (86_400_000, "1 d"),
        (97_200_000.5, "1 d 3 h"),
        (8_640_000_000, "100 d"),
    ],
)
def test_how_long_is_told_in_the_two_largest_units(milliseconds: float | None, words: str) -> None:
    assert format_milliseconds(milliseconds) == words
