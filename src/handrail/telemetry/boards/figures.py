"""Figures: everything that was measured for the dashboards, and from when on."""

from dataclasses import dataclass
from datetime import datetime

from handrail.telemetry.measures import (
    DayMeasured,
    ErrorMeasured,
    HourMeasured,
    KindMeasured,
    RunsMeasured,
    RunTimes,
    StateMeasured,
    StepsMeasured,
    StepTimes,
)


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured at a time. Tokens and errors are those since `since`, or of all time if it is None.

    Entries are those since `kinds_since`, started runs those since `days_since`; all else is of all time.
    """

    at: datetime
    since: datetime | None
    kinds_since: datetime
    days_since: datetime
    runs: tuple[RunsMeasured, ...] = ()
    run_times: tuple[RunTimes, ...] = ()
    steps: tuple[StepsMeasured, ...] = ()
    step_times: tuple[StepTimes, ...] = ()
    states: tuple[StateMeasured, ...] = ()
    kinds: tuple[KindMeasured, ...] = ()
    hours: tuple[HourMeasured, ...] = ()
    tokens: tuple[KindMeasured, ...] = ()
    errors: tuple[ErrorMeasured, ...] = ()
    days: tuple[DayMeasured, ...] = ()
