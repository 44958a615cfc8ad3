"""Now: what is happening, who must act, what to type, and why it is not moving."""

from collections.abc import Mapping
from typing import Final

from starlette.datastructures import QueryParams

from handrail.engine.lifecycle import terminal
from handrail.faces.board.boards import Viewer
from handrail.faces.board.elsewhere import elsewhere
from handrail.faces.board.tabs.tab import Tab
from handrail.faces.board.texts import catalogue
from handrail.faces.cli.told import MEANINGS, Whole, whole
from handrail.shell.view import RunRow

_SAY: Final = "say"


def told(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:
    """The run with its steps and waits; `words` are what to say to its agent."""
    board, now = viewer.board, viewer.board.now()
    found = whole(board.serving.records, row, board.limits, now)
    return {
        "whole": found,
        "words": words(row),
        "meanings": MEANINGS,
        "actor": _actor(found),
        "acted": query,
        "elsewhere": elsewhere(board, row),
    }


def words(row: RunRow) -> str:
    """What a person says to the agent of a run, so that it goes on; empty if there is nothing to say."""
    name = f"{_SAY}.{row.face}"
    t = catalogue()
    if terminal(row.lifecycle):
        return ""
    return t(name if name in t else f"{_SAY}.other", run=row.id)


def _actor(found: Whole) -> str:
    """Who must act: nobody, a person, or the agent; a check if it waits for facts."""
    kinds = {wait.what for wait in found.waits}
    return next((kind for kind in ("person", "facts", "output", "call") if kind in kinds), "nobody")


TAB: Final = Tab("now", "now.html", told)
