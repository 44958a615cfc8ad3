"""The overview: the list of runs with its filters, and the runs that need attention.

All filters are in the URL, and nowhere else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from handrail.app.faces import FACES
from handrail.dashboard.rendering import render_page
from handrail.dashboard.viewer import Dashboard, get_viewer
from handrail.engine.facts import is_valid_value
from handrail.engine.model import Lifecycle
from handrail.runtime.journal import read_reason
from handrail.runtime.ports.queries import MAX_SEARCH_CHARACTERS, RunFilter, RunRow
from handrail.runtime.system import parse_moment

LIFECYCLES: Final = tuple(one for one in Lifecycle if one is not Lifecycle.IDLE)
AGES: Final = ("1h", "1d", "7d", "30d")


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters as they were typed; `lifecycle` may have several values."""

    project: str = ""
    face: str = ""
    workflow: str = ""
    agent: str = ""
    q: str = ""
    since: str = ""
    until: str = ""
    lifecycle: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """True if any filter is set."""
        return bool(list(self.pairs()))

    @property
    def ages(self) -> tuple[str, ...]:
        """The ages to choose from, with the one that was typed."""
        return AGES if self.since in {"", *AGES} else (*AGES, self.since)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each filter that is set, as a name and value of the URL."""
        for part in fields(self):
            value = getattr(self, part.name)
            for one in value if isinstance(value, tuple) else (value,):
                if one:
                    yield part.name, one

    def url(self, **more: str) -> str:
        """Return the URL of the overview with these filters and more parameters."""
        query = urlencode([*self.pairs(), *more.items()])
        return f"/?{query}" if query else "/"

    def without(self, name: str, value: str) -> str:
        """Return the URL of the overview without this filter."""
        query = urlencode([pair for pair in self.pairs() if pair != (name, value)])
        return f"/?{query}" if query else "/"

    def build_query(self, board: Dashboard) -> tuple[RunFilter, tuple[str, ...]]:
        """Return the query for these filters, and the names of time filters that could not be read."""
        times: Mapping[str, datetime | None] = {
            name: _parse_time(getattr(self, name)) for name in _TIME_FILTERS
        }
        unclear = tuple(name for name, at in times.items() if at is None and getattr(self, name))
        return RunFilter(
            board.app.projects.root_of(self.project) if self.project else "",
            self.face,
            self.workflow,
            tuple(one for one in LIFECYCLES if one in self.lifecycle),
            self.q,
            times["since"],
            times["until"],
            self.agent,
            board.reach if self.any else 0,
        ), unclear


_TIME_FILTERS: Final = ("since", "until")


def parse_filters(query: QueryParams) -> Filters:
    """Read the filters from a URL; leave out texts that are too long or cannot be in a store."""
    texts = {name: query.get(name, "").strip() for name in _TEXT_FILTERS}
    kinds = tuple(one for one in LIFECYCLES if one in query.getlist("lifecycle"))
    usable = {
        name: text
        for name, text in texts.items()
        if len(text) <= MAX_SEARCH_CHARACTERS and is_valid_value(text)
    }
    return Filters(**usable, lifecycle=kinds)


_TEXT_FILTERS: Final = tuple(part.name for part in fields(Filters) if part.name != "lifecycle")


def _parse_time(text: str) -> datetime | None:
    try:
        return parse_moment(text) if text else None
    except (ValueError, OverflowError):
        return None


# How many runs the overview lists on a page.
PAGE_ROWS: Final = 50
# How many runs that need attention are shown.
MAX_ATTENTION_RUNS: Final = 12
# For how long a failed run needs attention.
_FAILED_WINDOW: Final = timedelta(days=7)
# The marks of runs that need attention, in the order they are shown.
_ATTENTION_MARKS: Final = ("waiting", "paused", "failed", "quiet")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in a list; `reason` is why its lifecycle changed, `gives_up` when a quiet run is abandoned."""

    row: RunRow
    mark: str
    project: str
    reason: str
    gives_up: datetime | None


def render_overview(request: Request) -> Response:
    """Render the overview, or with `fragment` the part that live updates replace."""
    viewer, query = get_viewer(request), request.query_params
    board, filters, now = viewer.board, parse_filters(query), viewer.board.app.now()
    wanted, unclear = filters.build_query(board)
    records, after = board.app.runs, query.get("after", "")
    number = records.last_entry_number()
    with records.snapshot():
        counts = records.count_active()
        rows = records.runs(wanted, after, PAGE_ROWS + 1)
        needy = [] if after else _find_attention_runs(board, now)
        further = (
            records.find_last_in_reach(wanted.reach, after) if wanted.reach and len(rows) <= PAGE_ROWS else ""
        )
    last = rows[PAGE_ROWS - 1].id if len(rows) > PAGE_ROWS else further
    listed = [summarize_run(board, row, now) for row in rows[:PAGE_ROWS]]
    return render_page(
        "overview_live.html" if "fragment" in query else "overview.html",
        viewer=viewer,
        now=now,
        number=number,
        filters=filters,
        unclear=unclear,
        listed=listed,
        more=filters.url(after=last) if last else "",
        reach=wanted.reach if further else 0,
        after=after,
        needy=needy[:MAX_ATTENTION_RUNS],
        others=len(needy[MAX_ATTENTION_RUNS:]),
        counts=counts,
        lifecycles=LIFECYCLES,
        faces=FACES,
        known=_list_filter_choices(listed),
    )


def summarize_run(board: Dashboard, row: RunRow, now: datetime) -> RunSummary:
    """Return a run as lists show it."""
    mark = board.mark(row, now)
    gives_up = board.app.idle_limits.gives_up(row) if mark == _ATTENTION_MARKS[-1] else None
    project = board.app.projects.display_name(row.project) if row.project else ""
    return RunSummary(row, mark, project, read_reason(row.metadata), gives_up)


def _find_attention_runs(board: Dashboard, now: datetime) -> list[RunSummary]:
    """Return the runs that need attention: waiting ones first, then paused, failed and quiet ones."""
    quiet = now - board.app.idle_limits.running / 2
    summaries = [
        summarize_run(board, row, now)
        for row in board.app.runs.list_needing_attention(quiet, now - _FAILED_WINDOW)
    ]
    needing = [one for one in summaries if one.mark in _ATTENTION_MARKS]
    return sorted(needing, key=lambda one: _ATTENTION_MARKS.index(one.mark))


def _list_filter_choices(listed: list[RunSummary]) -> dict[str, list[str]]:
    """Return the choices of the filters: the values that occur on the page."""
    choices = {
        "project": {one.project for one in listed},
        "workflow": {one.row.workflow for one in listed},
        "agent": {one.row.principal for one in listed},
    }
    return {name: sorted(values - {""}) for name, values in choices.items()}
