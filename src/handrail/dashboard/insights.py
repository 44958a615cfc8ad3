"""The Insights pages: four boards of charts, each with its numbers as a table, as CSV and as JSON.

Only viewers who may see every project can open them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handrail.app.faces import load_message_catalog
from handrail.app.insights import Board, build_boards, load_figures
from handrail.app.run_view import CODE_MEANINGS
from handrail.dashboard.rendering import render_page
from handrail.dashboard.viewer import get_viewer
from handrail.drawing.tables import Cell, Table, format_cells, to_csv, to_objects

ALL_TIME: Final = "all"

# The time ranges to choose from, by their names in the URL.
RANGES: Final[Mapping[str, timedelta | None]] = {
    "24h": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    ALL_TIME: None,
}
DEFAULT_RANGE: Final = "7d"
# The tables that count within the chosen range; the others count over all time.
WINDOWED_TABLES: Final = frozenset({"hours", "kinds", "tokens", "errors", "days", "starts"})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# The columns whose values are filters of the overview, under the same name.
_LINKED_COLUMNS: Final = frozenset({"workflow", "lifecycle"})


def render_insights(request: Request) -> Response:
    """Render a board. With `as`, return one `table` of it as CSV or JSON, or all of them as JSON."""
    viewer, query = get_viewer(request), request.query_params
    measures = viewer.board.measures
    if measures is None:
        return render_page("insights_closed.html", 403, viewer=viewer)
    chosen = query.get("range", DEFAULT_RANGE)
    within = chosen if chosen in RANGES else DEFAULT_RANGE
    now, span = viewer.board.app.now(), RANGES[within]
    with viewer.board.app.runs.snapshot():
        figures = load_figures(measures, now, now - span if span else _EPOCH)
    shown = build_boards(load_message_catalog(), figures, CODE_MEANINGS)
    name = request.path_params.get("board", shown[0].name)
    board = next((one for one in shown if one.name == name), None)
    if board is None:
        raise HTTPException(404)
    if "as" in query:
        return _export_tables(board, query.get("table", ""), query["as"], within)
    return render_page(
        "insights.html",
        viewer=viewer,
        boards=[one.name for one in shown],
        board=board,
        ranges=tuple(RANGES),
        within=within,
        unclear=chosen not in RANGES,
        windowed=WINDOWED_TABLES,
        any_run=bool(figures.runs),
        rows_of=build_table_rows,
        url=_insights_url,
    )


def build_table_rows(table: Table) -> list[list[tuple[str, Cell, str]]]:
    """Return the rows of a table for a page: of each cell its text, its value, and the URL it links to."""
    names = [column.name if column.name in _LINKED_COLUMNS else "" for column in table.columns]
    return [
        [
            (text, value, f"/?{urlencode({name: str(value)})}" if name and value else "")
            for text, value, name in zip(texts, row, names, strict=True)
        ]
        for texts, row in zip(format_cells(table), table.rows, strict=True)
    ]


def _insights_url(board: str, within: str, **more: str) -> str:
    query = urlencode({**({} if within == DEFAULT_RANGE else {"range": within}), **more})
    return f"/insights/{board}" + (f"?{query}" if query else "")


def _export_tables(board: Board, name: str, form: str, within: str) -> Response:
    """Return one table, or all tables of the board, as a download."""
    table = board.tables.get(name)
    if form not in {"csv", "json"} or (table is None and (name or form == "csv")):
        raise HTTPException(404)
    disposition = f'attachment; filename="handrail-{name or board.name}-{within}.{form}"'
    headers = {"content-disposition": disposition}
    if form == "csv" and table is not None:
        return Response(to_csv(table), media_type="text/csv; charset=utf-8", headers=headers)
    data = board.data() if table is None else to_objects(table)
    return Response(msgspec.json.encode(data), media_type="application/json", headers=headers)
