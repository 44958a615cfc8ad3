"""Timeline: the time of the run, whom each step waited for when, and the same in numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from markupsafe import Markup
from starlette.datastructures import QueryParams

from handrail.faces.board.boards import Viewer
from handrail.faces.board.tabs.tab import Tab
from handrail.faces.board.texts import catalogue
from handrail.faces.board.walked import recorded
from handrail.shell.faults import Fault
from handrail.shell.pictured import stretches_of
from handrail.shell.view import RunRow
from handrail.workflows.draw.timeline import KINDS, Form, Refused, Row, Stretch, placed, rows_of, timeline

WIDE: Final = 1040.0
NARROW: Final = 400.0
"""For which widths it is drawn: on a page one of both is seen."""

NONE: Final = timedelta()


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: what it is called, its place on the page, its state, and its numbers.

    `waited` are times by whom or what was waited for.
    """

    text: str
    place: str
    state: str
    began: datetime
    lasts: bool
    waited: Mapping[str, timedelta]
    refused: int

    @property
    def total(self) -> timedelta:
        """How long it took."""
        return sum(self.waited.values(), NONE)


def told(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:
    """The picture, in two widths, and its numbers; `linear` leaves idle times as long as they were."""
    hide = viewer.board.naming.hide
    try:
        found = recorded(viewer.board, row)
    except Fault as fault:
        return {"fault": (hide(fault.message), hide(fault.repair))}
    stretches, refused = stretches_of(found.workflow, found.journal, viewer.board.now())
    lines, linear = tuple(_lines(stretches, refused)), "linear" in query
    kinds = tuple(kind for kind in KINDS if any(kind in line.waited for line in lines))
    return {
        "fault": None,
        "linear": linear,
        "kinds": kinds,
        "lines": lines,
        "sums": {kind: sum((one.waited.get(kind, NONE) for one in lines), NONE) for kind in kinds},
        "whole": sum((line.total for line in lines), NONE),
        "refusals": sum(line.refused for line in lines),
        "wide": _drawn(row, stretches, refused, Form(WIDE, linear, standalone=False, links=True)),
        "narrow": _drawn(row, stretches, refused, Form(NARROW, linear, standalone=False, links=True)),
    }


def _drawn(row: RunRow, stretches: Sequence[Stretch], refused: Sequence[Refused], form: Form) -> Markup:
    return Markup(timeline(catalogue(), row.workflow, stretches, refused, form))  # noqa: S704 - well-formed, all text escaped


def _lines(stretches: Sequence[Stretch], refused: Sequence[Refused]) -> Iterator[Line]:
    rows = rows_of(catalogue(), stretches)
    flags = placed(rows, refused)
    for index, row in enumerate(rows):
        states = {one.state for one in row.stretches}
        yield Line(
            row.text,
            row.link,
            states.pop() if len(states) == 1 else "",
            row.stretches[0].began,
            any(one.lasts for one in row.stretches),
            _waited(row),
            len(flags.get(index, ())),
        )


def _waited(row: Row) -> Mapping[str, timedelta]:
    found: dict[str, timedelta] = {}
    for one in row.stretches:
        found[one.kind] = found.get(one.kind, NONE) + (one.ended - one.began)
    return found


TAB: Final = Tab("timeline", "timeline.html", told)
