"""The overview: what needs a person first, then every run that fits the filters."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from handrail.faces.board.boards import Board, viewer_of
from handrail.faces.board.filters import LIFECYCLES, filters
from handrail.faces.board.looks import page
from handrail.faces.cli.serve import FACES
from handrail.shell.journal import reason_of
from handrail.shell.view import RunRow

ROWS: Final = 50
"""How many runs a page lists."""

NEEDY: Final = 12
"""How many of those that need somebody are shown."""

_FAILED: Final = timedelta(days=7)
_URGENT: Final = ("waiting", "paused", "failed", "quiet")


@dataclass(frozen=True, slots=True)
class Shown:
    """A run in a list; `reason` is why its lifecycle changed, `gives_up` when a quiet one is given up."""

    row: RunRow
    mark: str
    project: str
    reason: str
    gives_up: datetime | None


def overview(request: Request) -> Response:
    """The first page, or with `fragment` what of it changes by itself."""
    viewer, query = viewer_of(request), request.query_params
    board, asked, now = viewer.board, filters(query), viewer.board.now()
    wanted, unclear = asked.wanted(board)
    records, after = board.serving.records, query.get("after", "")
    number = records.last()
    with records.moment():
        counts = records.under_way()
        rows = records.runs(wanted, after, ROWS + 1)
        needy = [] if after else _needy(board, now)
        further = records.further(wanted.reach, after) if wanted.reach and len(rows) <= ROWS else ""
    behind = rows[ROWS - 1].id if len(rows) > ROWS else further
    listed = [shown(board, row, now) for row in rows[:ROWS]]
    return page(
        "overview_live.html" if "fragment" in query else "overview.html",
        viewer=viewer,
        now=now,
        number=number,
        filters=asked,
        unclear=unclear,
        listed=listed,
        more=asked.url(after=behind) if behind else "",
        reach=wanted.reach if further else 0,
        after=after,
        needy=needy[:NEEDY],
        others=len(needy[NEEDY:]),
        counts=counts,
        lifecycles=LIFECYCLES,
        faces=FACES,
        known=_known(listed),
    )


def shown(board: Board, row: RunRow, now: datetime) -> Shown:
    """A run as lists show it."""
    mark = board.mark(row, now)
    gives_up = board.limits.gives_up(row) if mark == _URGENT[-1] else None
    project = board.naming.called(row.project) if row.project else ""
    return Shown(row, mark, project, reason_of(row.metadata), gives_up)


def _needy(board: Board, now: datetime) -> list[Shown]:
    """The runs that need somebody: those that wait first, then what failed, then what nobody calls."""
    quiet = now - board.limits.running / 2
    found = [shown(board, row, now) for row in board.serving.records.needing(quiet, now - _FAILED)]
    needing = [one for one in found if one.mark in _URGENT]
    return sorted(needing, key=lambda one: _URGENT.index(one.mark))


def _known(listed: list[Shown]) -> dict[str, list[str]]:
    """What can be chosen in the filters: what is there on the page."""
    found = {
        "project": {one.project for one in listed},
        "workflow": {one.row.workflow for one in listed},
        "agent": {one.row.principal for one in listed},
    }
    return {name: sorted(values - {""}) for name, values in found.items()}
