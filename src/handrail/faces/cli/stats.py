"""`handrail stats`: how runs go, in numbers. The four dashboards that the source of the steps names."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final

import click

from handrail.faces.cli.output import as_json, one_line, print_json
from handrail.faces.cli.stored import Moment, at_store, opened
from handrail.faces.cli.told import MEANINGS, took
from handrail.shell.records import rfc3339
from handrail.shell.system import SystemClock
from handrail.shell.view import Measures
from handrail.telemetry.measures import (
    Endings,
    ErrorMeasured,
    KindMeasured,
    RunsMeasured,
    StepEndings,
    StepsMeasured,
    Timed,
    Tokens,
    by_day,
    endings,
    lifecycles,
    step_endings,
    timed,
    tokens,
)

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)

MOST: Final = 10
"""How many rows of a table people are shown; `--json` has all."""

_NO_RUN: Final = "no run yet: connect an agent with `handrail serve`, and have it start one"
_NO_STEP: Final = (
    "no step was completed yet: `handrail runs list --lifecycle running` shows what is under way"
)
_FURTHER: Final = "an earlier time looks further back, as in `handrail stats --since 30d`"
_WORDS: Final = frozenset({"lifecycle", "workflow", "step", "persona", "entry", "code", "meaning", "day"})
"""The heads of columns with words; the others have numbers."""

_Cells = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured, and since when; tokens and errors ever, if `since` is None."""

    runs: tuple[RunsMeasured, ...]
    steps: tuple[StepsMeasured, ...]
    kinds: tuple[KindMeasured, ...]
    kinds_since: datetime
    tokens: Tokens
    errors: tuple[ErrorMeasured, ...]
    since: datetime | None
    days: dict[str, int]
    days_since: datetime


@click.command()
@click.option(
    "--since",
    type=Moment(),
    help="Entries, tokens, refusals and started runs from this time on, or from this long ago.",
)
@at_store
@as_json
def stats(since: datetime | None, store: str | None, *, as_json: bool) -> None:
    """Print how runs go: by workflow, by step, what the journal tells, and how many are started.

    Runs and steps are counted over all time. Without `--since`, entries are those of the last 24 hours,
    started runs those of the last 7 days, tokens and refusals those of all time. Days are in UTC.
    """
    with opened(store) as found:
        figures = _measured(found.measures, since, SystemClock().now())
    if as_json:
        print_json(_data(figures))
    else:
        click.echo("\n".join(map(one_line, _lines(figures))))


def _measured(measures: Measures, since: datetime | None, now: datetime) -> Figures:
    kinds_since, days_since = since or now - DAY, since or now - WEEK
    return Figures(
        measures.runs(),
        measures.steps(),
        measures.kinds(kinds_since),
        kinds_since,
        tokens(measures.kinds(since)),
        measures.errors(since),
        since,
        by_day(measures.days(days_since)),
        days_since,
    )


# --- for people ---------------------------------------------------------------------------------------------


def _lines(figures: Figures) -> Iterator[str]:
    yield "Workflow performance"
    yield from _runs(figures)
    yield from ("", "Step performance")
    yield from _steps(figures)
    yield from ("", f"Telemetry since {rfc3339(figures.kinds_since)}")
    yield from _telemetry(figures)
    yield from ("", f"Runs started since {rfc3339(figures.days_since)}")
    days = [(day, str(runs)) for day, runs in figures.days.items()]
    yield from _table(days, ("day", "runs"), f"none: {_FURTHER}")


def _runs(figures: Figures) -> Iterator[str]:
    standing = [(str(lifecycle), str(runs)) for lifecycle, runs in lifecycles(figures.runs).items()]
    yield from _table(standing, ("lifecycle", "runs"), _NO_RUN)
    if standing:
        heads = ("workflow", "runs", "completed", "mean time", "abandoned", "mean time until then")
        yield ""
        yield from _table(list(map(_workflow_cells, endings(figures.runs))), heads)


def _workflow_cells(one: Endings) -> tuple[str, ...]:
    completed = (_percent(one.completion_rate), took(one.mean_completed_ms))
    abandoned = (_percent(one.abandonment_rate), took(one.mean_abandoned_ms))
    return one.workflow, str(one.runs), *completed, *abandoned


def _steps(figures: Figures) -> Iterator[str]:
    times = [
        (one.step, one.agent or "-", str(one.completed), took(one.mean_ms)) for one in timed(figures.steps)
    ]
    yield from _table(times, ("step", "persona", "completed", "mean time"), _NO_STEP)
    failing = [
        (one.step, str(one.steps), str(one.failed), _percent(one.failure_rate))
        for one in step_endings(figures.steps)
        if one.failed
    ]
    if times or failing:
        yield ""
        yield from _table(failing, ("step", "times", "failed", "rate"), "no step failed")


def _telemetry(figures: Figures) -> Iterator[str]:
    kinds = [(str(one.kind), str(one.entries)) for one in figures.kinds]
    yield from _table(kinds, ("entry", "times"), f"nothing happened: {_FURTHER}")
    when = f"since {rfc3339(figures.since)}" if figures.since else "of all time"
    yield from ("", f"Step tokens {when}")
    yield from _table(_token_cells(figures.tokens), ("issued", "found good", "expired", "rate"), "none")
    yield from ("", f"Refused calls {when}")
    errors = [(one.code, str(one.entries), MEANINGS.get(one.code, "")) for one in figures.errors]
    yield from _table(errors, ("code", "times", "meaning"), "none")


def _token_cells(found: Tokens) -> _Cells:
    if found.expiry_rate is None:
        return ()
    counts = (found.generated, found.validated, found.expired)
    return ((*map(str, counts), _percent(found.expiry_rate)),)


def _percent(rate: float) -> str:
    return f"{rate:.1f} %"


def _table(rows: _Cells, heads: tuple[str, ...], empty: str = "") -> Iterator[str]:
    """The first rows under their heads; words begin at one column, and numbers end at one."""
    if not rows:
        yield f"  {empty}"
        return
    shown = [heads, *rows[:MOST]]
    widths = [max(len(row[column]) for row in shown) for column in range(len(heads))]
    for row in shown:
        cells = zip(row, widths, heads, strict=True)
        padded = [cell.ljust(size) if head in _WORDS else cell.rjust(size) for cell, size, head in cells]
        yield f"  {'  '.join(padded)}".rstrip()
    if len(rows) > MOST:
        yield f"  and {len(rows) - MOST} more: --json has all"


# --- for programs -------------------------------------------------------------------------------------------


def _data(figures: Figures) -> dict[str, object]:
    since = rfc3339(figures.since) if figures.since else None
    found = figures.tokens
    return {
        "lifecycles": [
            {"lifecycle": str(name), "runs": runs} for name, runs in lifecycles(figures.runs).items()
        ],
        "workflows": [_workflow_data(one) for one in endings(figures.runs)],
        "steps": [_step_data(one) for one in step_endings(figures.steps)],
        "times": [_time_data(one) for one in timed(figures.steps)],
        "entries": {
            "since": rfc3339(figures.kinds_since),
            "kinds": [{"kind": str(one.kind), "entries": one.entries} for one in figures.kinds],
        },
        "tokens": {"since": since, **asdict(found), "expiry_rate": found.expiry_rate},
        "errors": {
            "since": since,
            "codes": [{**asdict(one), "meaning": MEANINGS.get(one.code, "")} for one in figures.errors],
        },
        "started": {
            "since": rfc3339(figures.days_since),
            "days": [{"day": day, "runs": runs} for day, runs in figures.days.items()],
        },
    }


def _workflow_data(one: Endings) -> dict[str, object]:
    rates = {"completion_rate": one.completion_rate, "abandonment_rate": one.abandonment_rate}
    return {**asdict(one), **rates}


def _step_data(one: StepEndings) -> dict[str, object]:
    return {**asdict(one), "failure_rate": one.failure_rate}


def _time_data(one: Timed) -> dict[str, object]:
    return asdict(one)
