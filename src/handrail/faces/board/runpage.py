"""The page of a run: what it is, what can be done to it, and its tabs."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handrail.faces.board.acting import is_away, possible, the_run
from handrail.faces.board.boards import viewer_of
from handrail.faces.board.looks import page
from handrail.faces.board.overview import shown
from handrail.faces.board.tabs.listed import TABS, tabs_of
from handrail.faces.cli.byhand import COMMENT


def run_page(request: Request) -> Response:
    """A tab of a run, or with `fragment` what of it changes by itself."""
    viewer = viewer_of(request)
    records = viewer.board.serving.records
    number, row = records.last(), the_run(viewer, request)
    name = request.path_params.get("tab", TABS[0].name)
    tabs = tabs_of(row)
    tab = next((one for one in tabs if one.name == name), None)
    if tab is None:
        raise HTTPException(404)
    now = viewer.board.now()
    with records.moment():
        told = tab.told(viewer, row, request.query_params)
    return page(
        tab.template if "fragment" in request.query_params else "run.html",
        viewer=viewer,
        now=now,
        number=number,
        run=shown(viewer.board, row, now),
        row=row,
        tab=tab,
        tabs=tabs,
        possible=[one for one in possible(viewer, row) if one != COMMENT],
        away=is_away(row),
        query=request.query_params,
        **told,
    )


def artifact(request: Request) -> Response:
    """The text of an artifact, byte for byte, as a file."""
    viewer, number = viewer_of(request), int(request.path_params["number"])
    row = the_run(viewer, request)
    text = viewer.board.serving.records.content(row.id, number)
    if text is None:
        raise HTTPException(404)
    named = f'attachment; filename="{row.id[:8]}-{number}.txt"'
    return Response(text, media_type="text/plain; charset=utf-8", headers={"content-disposition": named})
