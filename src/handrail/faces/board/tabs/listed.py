"""Every tab of the page of a run, in the order they are shown; the first is the page itself."""

from typing import Final

from handrail.faces.board.tabs import artifacts, graph, history, now, plan, timeline
from handrail.faces.board.tabs.tab import Tab
from handrail.shell.view import RunRow

TABS: Final = (now.TAB, plan.TAB, graph.TAB, timeline.TAB, history.TAB, artifacts.TAB)


def tabs_of(row: RunRow) -> tuple[Tab, ...]:
    """The tabs that a run has."""
    return tuple(tab for tab in TABS if tab.fits(row))
