"""History: every entry, with who, when and what; failures only; search."""

from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Final

from starlette.datastructures import QueryParams

from handrail.faces.board.boards import Viewer
from handrail.faces.board.tabs.tab import Tab
from handrail.faces.cli.told import MEANINGS, event_cells
from handrail.shell.records import Written
from handrail.shell.view import PAGE, RunRow, every
from handrail.telemetry.entries import EntryKind

_READ: Final = 5000
"""How many entries are searched at most, the last ones."""

_BORING: Final = frozenset(
    {
        EntryKind.TOKEN_GENERATED,
        EntryKind.TOKEN_VALIDATED,
        EntryKind.TOKEN_EXPIRED,
        EntryKind.ARTIFACT_STORED,
        EntryKind.COMMENT_TOLD,
    }
)
_FAILED: Final = frozenset({EntryKind.ERROR_OCCURRED, EntryKind.STEP_FAILED})


def told(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:
    """The entries that were asked for, the newest first; from behind `before`."""
    records = viewer.board.serving.records
    entries = deque(every(partial(records.journal, run=row.id)), _READ)
    only, text = query.get("only", ""), query.get("q", "").strip()
    fitting = [one for one in reversed(entries) if _fits(one, only, text)]
    before = query.get("before", "")
    if before.isascii() and before.isdecimal():
        fitting = [one for one in fitting if one.number < int(before[:18])]
    return {
        "entries": fitting[:PAGE],
        "more": fitting[PAGE - 1].number if len(fitting) > PAGE else 0,
        "only": only,
        "text": text,
        "meanings": MEANINGS,
        "failed": _FAILED,
    }


def _fits(written: Written, only: str, text: str) -> bool:
    if only == "failed" and written.entry.kind not in _FAILED:
        return False
    if only == "" and not text and written.entry.kind in _BORING:
        return False
    return text.lower() in " ".join(event_cells(written)).lower()


TAB: Final = Tab("history", "history.html", told)
