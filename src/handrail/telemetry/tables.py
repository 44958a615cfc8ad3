"""Tables: numbers with their heads and units, and how programs read them."""

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from handrail.telemetry.units import Cell, Unit, shown

Rows: TypeAlias = tuple[tuple[Cell, ...], ...]

_ORDERS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What makes a spreadsheet take a cell for a formula, or for more than one."""

_QUOTED: Final = frozenset('",\r\n')


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name for programs, its head for people, and what it counts."""

    name: str
    head: str
    unit: Unit = Unit.WORD


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under their columns; `empty` is what a person reads where there is none."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Rows
    empty: str


def objects(table: Table) -> list[dict[str, Cell]]:
    """The rows by the names of their columns, as JSON has them."""
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def csv(table: Table) -> str:
    """The table as RFC 4180 says: a line of names, then the rows; every line ends in CR LF.

    Nothing is an empty cell. A word that a spreadsheet would take for a formula begins with an apostrophe.
    """
    lines = [
        [column.name for column in table.columns],
        *([_plain(cell) for cell in row] for row in table.rows),
    ]
    return "".join(f"{','.join(map(_quoted, line))}\r\n" for line in lines)


def narrowed(table: Table, *names: str, having: str = "") -> Table:
    """The table with these columns only, in this order; of its rows those that have something in `having`."""
    places = {column.name: index for index, column in enumerate(table.columns)}
    kept = [places[name] for name in names]
    rows = (row for row in table.rows if not having or row[places[having]])
    shown_rows = tuple(tuple(row[index] for index in kept) for row in rows)
    return replace(table, columns=tuple(table.columns[index] for index in kept), rows=shown_rows)


def cells(table: Table) -> tuple[tuple[str, ...], ...]:
    """The rows as a person reads them."""
    units = [column.unit for column in table.columns]
    return tuple(tuple(map(shown, row, units)) for row in table.rows)


def _plain(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(_ORDERS) else cell
    return str(cell)


def _quoted(text: str) -> str:
    if _QUOTED.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'
