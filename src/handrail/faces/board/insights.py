"""Insights: the four dashboards as charts, each with its numbers as a table, as CSV and as JSON."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handrail.faces.board.boards import Viewer, viewer_of
from handrail.faces.board.looks import page
from handrail.faces.board.texts import catalogue
from handrail.faces.cli.told import MEANINGS
from handrail.shell.insights import measured
from handrail.shell.view import Measures
from handrail.telemetry.boards.board import Board, boards
from handrail.telemetry.boards.figures import Figures
from handrail.telemetry.tables import Table, cells, csv, objects
from handrail.telemetry.units import Cell

ALL: Final = "all"
RANGES: Final[Mapping[str, timedelta | None]] = {
    "24h": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    ALL: None,
}
"""The times to choose from, as they stand in the URL."""

USUAL: Final = "7d"

WITHIN: Final = frozenset({"hours", "kinds", "tokens", "errors", "days", "starts"})
"""The tables that count what happened within the chosen time; the others count over all time."""

_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LINKS: Final = {"workflow": "workflow", "lifecycle": "lifecycle"}
"""The columns whose words are filters of the overview."""


def insights(request: Request) -> Response:
    """A dashboard; or `as` CSV or JSON one `table` of it, or as JSON all of them."""
    viewer, query = viewer_of(request), request.query_params
    measures = viewer.board.measures
    if measures is None:
        return page("insights_closed.html", 403, viewer=viewer)
    chosen = query.get("range", USUAL)
    within = chosen if chosen in RANGES else USUAL
    figures = _figures(viewer, measures, within)
    shown = boards(catalogue(), figures, MEANINGS)
    name = request.path_params.get("board", shown[0].name)
    board = next((one for one in shown if one.name == name), None)
    if board is None:
        raise HTTPException(404)
    if "as" in query:
        return _data(board, query.get("table", ""), query["as"], within)
    return page(
        "insights.html",
        viewer=viewer,
        boards=[one.name for one in shown],
        board=board,
        ranges=tuple(RANGES),
        within=within,
        unclear=chosen not in RANGES,
        windowed=WITHIN,
        any_run=bool(figures.runs),
        rows_of=rows_of,
        url=_url,
    )


def _figures(viewer: Viewer, measures: Measures, within: str) -> Figures:
    """What the store tells of one moment."""
    now, span = viewer.board.now(), RANGES[within]
    with viewer.board.serving.records.moment():
        return measured(measures, now, now - span if span else _FIRST)


def rows_of(table: Table) -> list[list[tuple[str, Cell, str]]]:
    """The rows as a page shows them: of each cell what people read, what it is, and where it leads."""
    names = [_LINKS.get(column.name, "") for column in table.columns]
    return [
        [(text, value, _found(name, value)) for text, value, name in zip(read, row, names, strict=True)]
        for read, row in zip(cells(table), table.rows, strict=True)
    ]


def _found(name: str, value: Cell) -> str:
    """The runs that a cell tells of."""
    return f"/?{urlencode({name: str(value)})}" if name and value else ""


def _url(board: str, within: str, **more: str) -> str:
    query = urlencode({**({} if within == USUAL else {"range": within}), **more})
    return f"/insights/{board}" + (f"?{query}" if query else "")


def _data(board: Board, name: str, form: str, within: str) -> Response:
    """The numbers for a program."""
    table = board.tables.get(name)
    if form not in {"csv", "json"} or (table is None and (name or form == "csv")):
        raise HTTPException(404)
    named = f'attachment; filename="handrail-{name or board.name}-{within}.{form}"'
    headers = {"content-disposition": named}
    if form == "csv" and table is not None:
        return Response(csv(table), media_type="text/csv; charset=utf-8", headers=headers)
    found = board.data() if table is None else objects(table)
    return Response(msgspec.json.encode(found), media_type="application/json", headers=headers)
