"""Tables of numbers and words: units, cell formatting, and export as objects or CSV."""

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final, TypeAlias

# A table cell: a word, a number, or None if there is no value.
Cell: TypeAlias = str | int | float | None
# How a missing value is shown.
EMPTY_CELL: Final = "-"
_TIME_UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
_THIN_SPACE: Final = "\u202f"


class Unit(StrEnum):
    """What a column or chart measures."""

    WORD = "word"
    COUNT = "count"
    PERCENT = "percent"
    MILLISECONDS = "milliseconds"


def format_cell(value: Cell, unit: Unit) -> str:
    """Format a cell for people."""
    if value is None:
        return EMPTY_CELL
    if isinstance(value, str):
        return value
    match unit:
        case Unit.PERCENT:
            return f"{value:.1f} %"
        case Unit.MILLISECONDS:
            return format_milliseconds(value)
        case _:
            return f"{value:,}".replace(",", _THIN_SPACE)


def format_milliseconds(milliseconds: float | None) -> str:
    """Format a duration in its two largest units; a dash if it is unknown."""
    if milliseconds is None:
        return EMPTY_CELL
    tenths = round(milliseconds / 100)
    if tenths < 600:
        return f"{tenths / 10:g} s"
    seconds = round(milliseconds / 1000)
    (unit, size), (part, of) = next(pair for pair in pairwise(_TIME_UNITS) if seconds >= pair[0][1])
    whole, rest = divmod(seconds, size)
    return f"{whole} {unit}" + (f" {rest // of} {part}" if rest >= of else "")


Row: TypeAlias = tuple[Cell, ...]
# Characters that make a spreadsheet read a cell as a formula, or as several cells.
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_QUOTED_CHARACTERS: Final = frozenset('",\r\n')


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name for programs, its heading for people, and its unit."""

    name: str
    head: str
    unit: Unit = Unit.WORD


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and their columns; `empty` is the text to show if there are no rows."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    empty: str


def to_objects(table: Table) -> list[dict[str, Cell]]:
    """Return the rows as objects keyed by column name, for JSON."""
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def to_csv(table: Table) -> str:
    """Return the table as CSV (RFC 4180): a line of names, then the rows; every line ends in CR LF.

    A missing value is an empty cell. A word that a spreadsheet would read as a formula gets an apostrophe in
    front.
    """
    lines = [
        [column.name for column in table.columns],
        *([_format_csv_cell(cell) for cell in row] for row in table.rows),
    ]
    return "".join(f"{','.join(map(_quote_csv, line))}\r\n" for line in lines)


def select_columns(table: Table, *names: str, having: str = "") -> Table:
    """Return the table with only these columns, in this order.

    With `having`, rows without a value in that column are left out.
    """
    places = {column.name: index for index, column in enumerate(table.columns)}
    indexes = [places[name] for name in names]
    rows = (row for row in table.rows if not having or row[places[having]])
    narrowed = tuple(tuple(row[index] for index in indexes) for row in rows)
    return replace(table, columns=tuple(table.columns[index] for index in indexes), rows=narrowed)


def format_cells(table: Table) -> tuple[tuple[str, ...], ...]:
    """Return the rows formatted for people."""
    units = [column.unit for column in table.columns]
    return tuple(tuple(map(format_cell, row, units)) for row in table.rows)


def _format_csv_cell(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell
    return str(cell)


def _quote_csv(text: str) -> str:
    if _QUOTED_CHARACTERS.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'
