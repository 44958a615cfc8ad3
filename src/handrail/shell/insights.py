"""Insights: a store is asked for everything that the dashboards show, for people and programs alike."""

from datetime import datetime, timedelta
from typing import Final

from handrail.shell.view import Measures
from handrail.telemetry.boards.figures import Figures

DAY: Final = timedelta(days=1)
"""How far back entries are counted if nobody says since when."""

WEEK: Final = timedelta(days=7)
"""How far back started runs are counted if nobody says since when."""


def measured(measures: Measures, now: datetime, since: datetime | None = None) -> Figures:
    """What the store tells now; each window begins at `since`, or where the source of the steps has it."""
    kinds_since, days_since = since or now - DAY, since or now - WEEK
    return Figures(
        now,
        since,
        kinds_since,
        days_since,
        runs=measures.runs(),
        run_times=measures.run_times(),
        steps=measures.steps(),
        step_times=measures.step_times(),
        states=measures.states(),
        kinds=measures.kinds(kinds_since),
        hours=measures.hours(kinds_since),
        tokens=measures.kinds(since),
        errors=measures.errors(since),
        days=measures.days(days_since),
    )
