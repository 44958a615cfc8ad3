"""The page of a run: choose its tab, render it, and download artifacts. `run_tabs` builds the tabs."""

from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handrail.app.actions import COMMENT
from handrail.dashboard import run_tabs
from handrail.dashboard.actions import is_journal_elsewhere, list_actions, load_run_row
from handrail.dashboard.overview import summarize_run
from handrail.dashboard.rendering import render_page
from handrail.dashboard.viewer import get_viewer

# The tabs in the order they are shown; the first is the default.
TABS: Final = (
    run_tabs.NOW_TAB,
    run_tabs.PLAN_TAB,
    run_tabs.GRAPH_TAB,
    run_tabs.TIMELINE_TAB,
    run_tabs.HISTORY_TAB,
    run_tabs.ARTIFACTS_TAB,
)


def render_run_page(request: Request) -> Response:
    """Render a tab of a run, or with `fragment` the part that live updates replace."""
    viewer = get_viewer(request)
    records = viewer.board.app.runs
    number, row = records.last_entry_number(), load_run_row(viewer, request)
    name = request.path_params.get("tab", TABS[0].name)
    tabs = [tab for tab in TABS if tab.fits(row)]
    tab = next((one for one in tabs if one.name == name), None)
    if tab is None:
        raise HTTPException(404)
    now = viewer.board.app.now()
    with records.snapshot():
        context = tab.build_context(viewer, row, request.query_params)
    return render_page(
        tab.template if "fragment" in request.query_params else "run.html",
        viewer=viewer,
        now=now,
        number=number,
        run=summarize_run(viewer.board, row, now),
        row=row,
        tab=tab,
        tabs=tabs,
        possible=[one for one in list_actions(viewer, row) if one != COMMENT],
        away=is_journal_elsewhere(row),
        query=request.query_params,
        **context,
    )


def download_artifact(request: Request) -> Response:
    """Return the text of an artifact as a file, byte for byte."""
    viewer, number = get_viewer(request), int(request.path_params["number"])
    row = load_run_row(viewer, request)
    text = viewer.board.app.runs.content(row.id, number)
    if text is None:
        raise HTTPException(404)
    disposition = f'attachment; filename="{row.id[:8]}-{number}.txt"'
    return Response(
        text, media_type="text/plain; charset=utf-8", headers={"content-disposition": disposition}
    )
