"""A filter looks through so many runs at a time, and offers to look further back."""

from pathlib import Path

import pytest
from starlette.requests import Request

from handrail.app.app import App, open_app
from handrail.dashboard.hub import Hub
from handrail.dashboard.overview import render_overview
from handrail.dashboard.viewer import VIEWER_KEY, Dashboard, Dashboards, Viewer
from handrail.runtime.ports.access import AccessScope, Grant
from helpers.history import create_history


async def _still() -> bool:
    return True


def _board(app: App, reach: int = 0) -> Dashboard:
    return Dashboard(app, Hub(app), dict, None, reach)


def _page(viewer: Viewer, query: str) -> str:
    asked = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "headers": [],
        "query_string": query.encode(),
        "state": {VIEWER_KEY: viewer},
    }
    return bytes(render_overview(Request(asked)).body).decode()


def test_what_lies_further_back_is_a_link_away(tmp_path: Path) -> None:
    past = create_history(tmp_path / "handrail.db")
    with open_app(past.path) as app:
        viewer = Viewer(_board(app, 3), "ada", acts=True)

        near = _page(viewer, "q=To+be+pau")
        further = _page(viewer, f"q=To+be+pau&after={past.runs['abandoned']}")
        whole = _page(viewer, "")

    assert near.count("data-item") == 0
    assert f"/?q=To+be+pau&amp;after={past.runs['abandoned']}" in near
    assert "3 runs were looked through." in near
    assert further.count("data-item") == 1
    assert whole.count("data-item") == 7
    assert "Look further back" not in whole


@pytest.mark.parametrize("listened", [False, True])
def test_boards_are_kept_for_some_sets_of_projects_and_for_all_that_somebody_hears(
    tmp_path: Path, *, listened: bool
) -> None:
    made: list[object] = []

    def make(seen: frozenset[str] | None) -> Dashboard:
        made.append(seen)
        board = _board(app)
        if listened and seen == frozenset({"0"}):
            board.hub._pages.add(object())  # type: ignore[arg-type]  # noqa: SLF001 - a page that is open
        return board

    with open_app(tmp_path / "handrail.db") as app:
        boards = Dashboards(make)
        grants = [Grant("", frozenset(AccessScope), frozenset({str(number)})) for number in range(70)]
        for grant in (*grants, grants[69], grants[0]):
            assert boards.viewer(grant, leaves=False, still=_still).acts

    assert len(made) == (70 if listened else 71)
