"""The tables of the dashboards: each number once, with its unit. Those that count most come first."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from handrail.engine.model import Lifecycle
from handrail.telemetry.boards.figures import Figures
from handrail.telemetry.measures import by_day, by_hour, endings, funnels, lifecycles, step_endings, timed
from handrail.telemetry.measures import tokens as tokens_of
from handrail.telemetry.spread import Spread, least, together
from handrail.telemetry.tables import Column, Rows, Table
from handrail.telemetry.units import Unit
from handrail.workflows.catalogue import Catalogue

NAMES: Final = (
    *("lifecycles", "workflows"),
    *("times", "steps", "states"),
    *("hours", "kinds", "tokens", "errors"),
    *("days", "starts", "abandonment", "funnel", "leaving"),
)
"""The names of all tables, in the order of the dashboards."""

SPANS: Final = (
    *(0, 10_000, 30_000, 60_000, 300_000, 600_000),
    *(1_800_000, 3_600_000, 7_200_000, 36_000_000, 360_000_000),
)
"""Where the spans of a histogram begin, in milliseconds: each where a bucket begins."""

_NONE: Final = Spread()


def span(t: Catalogue, start: int) -> str:
    """What a span of the histogram is called."""
    return t(f"insights.spans.{start}")


def _column(t: Catalogue, name: str, head: str = "", unit: Unit = Unit.WORD) -> Column:
    return Column(name, t(f"insights.heads.{head or name}"), unit)


def _words(t: Catalogue, *names: str) -> tuple[Column, ...]:
    """Columns of words, whose heads are called as they are."""
    return tuple(_column(t, name) for name in names)


def _counts(t: Catalogue, *names: str) -> tuple[Column, ...]:
    """Columns of counts, whose heads are called as they are."""
    return tuple(_column(t, name, unit=Unit.COUNT) for name in names)


def _time(t: Catalogue, name: str, head: str) -> Column:
    return _column(t, name, head, Unit.MILLISECONDS)


def _rate(t: Catalogue, name: str, head: str = "rate") -> Column:
    return _column(t, name, head, Unit.PERCENT)


def _table(t: Catalogue, name: str, columns: tuple[Column, ...], rows: Rows, empty: str) -> Table:
    return Table(name, t(f"insights.tables.{name}"), columns, rows, t(f"insights.none.{empty}"))


def tables(t: Catalogue, figures: Figures, meanings: Mapping[str, str]) -> dict[str, Table]:
    """Every table of the dashboards by its name; `meanings` says what the codes of refusals mean."""
    workflows = (lifecycles_table(t, figures), workflows_table(t, figures))
    steps = (times_table(t, figures), steps_table(t, figures), states_table(t, figures))
    told = (
        hours_table(t, figures),
        kinds_table(t, figures),
        tokens_table(t, figures),
        errors_table(t, figures, meanings),
    )
    started = (days_table(t, figures), starts_table(t, figures))
    left = (abandonment_table(t, figures), funnel_table(t, figures), leaving_table(t, figures))
    return {table.name: table for table in (*workflows, *steps, *told, *started, *left)}


# --- workflow performance -----------------------------------------------------------------------------------


def lifecycles_table(t: Catalogue, figures: Figures) -> Table:
    """How many runs there are in each lifecycle."""
    rows = tuple((str(lifecycle), runs) for lifecycle, runs in lifecycles(figures.runs).items())
    return _table(t, "lifecycles", (*_words(t, "lifecycle"), *_counts(t, "runs")), rows, "run")


def workflows_table(t: Catalogue, figures: Figures) -> Table:
    """How the runs of each workflow end, and how long they take."""
    times = {(one.workflow, one.lifecycle): one.times for one in figures.run_times}
    columns = (
        *_words(t, "workflow"),
        *_counts(t, "runs", "completed", "abandoned"),
        _time(t, "mean_completed_ms", "mean"),
        _time(t, "mean_abandoned_ms", "mean_until"),
        _rate(t, "completion_rate", "completion"),
        _rate(t, "abandonment_rate", "abandonment"),
        _time(t, "p50_completed_ms", "half"),
        _time(t, "p95_completed_ms", "most"),
        _time(t, "p50_abandoned_ms", "half_until"),
    )
    rows = []
    for one in endings(figures.runs):
        done = times.get((one.workflow, Lifecycle.COMPLETED), _NONE)
        left = times.get((one.workflow, Lifecycle.ABANDONED), _NONE)
        counts = (one.workflow, one.runs, one.completed, one.abandoned)
        means = (one.mean_completed_ms, one.mean_abandoned_ms, one.completion_rate, one.abandonment_rate)
        rows.append((*counts, *means, done.quantile(50), done.quantile(95), left.quantile(50)))
    return _table(t, "workflows", columns, tuple(rows), "run")


# --- step performance ---------------------------------------------------------------------------------------


def times_table(t: Catalogue, figures: Figures) -> Table:
    """How long steps take that are completed, the slowest first."""
    times = {(one.step, one.agent): one.times for one in figures.step_times}
    columns = (
        *_words(t, "step", "agent"),
        *_counts(t, "completed"),
        _time(t, "mean_ms", "mean"),
        _time(t, "p50_ms", "half"),
        _time(t, "p95_ms", "most"),
    )
    rows = []
    for one in timed(figures.steps):
        spread = times.get((one.step, one.agent), _NONE)
        found = (one.step, one.agent, one.completed, one.mean_ms)
        rows.append((*found, spread.quantile(50), spread.quantile(95)))
    return _table(t, "times", columns, tuple(rows), "step")


def steps_table(t: Catalogue, figures: Figures) -> Table:
    """How the steps of each state end, those that fail most often first."""
    columns = (
        *_words(t, "step"),
        _column(t, "steps", "times", Unit.COUNT),
        *_counts(t, "completed", "failed"),
        _time(t, "mean_completed_ms", "mean"),
        _rate(t, "failure_rate"),
    )
    rows = tuple(
        (one.step, one.steps, one.completed, one.failed, one.mean_completed_ms, one.failure_rate)
        for one in step_endings(figures.steps)
    )
    return _table(t, "steps", columns, rows, "state")


def states_table(t: Catalogue, figures: Figures) -> Table:
    """How often each state of a workflow was begun, begun again, and its calls refused."""
    columns = (
        *_words(t, "workflow", "step"),
        _column(t, "opened", "times", Unit.COUNT),
        *_counts(t, "reached", "again", "accepted", "refused"),
        _rate(t, "refusal_rate"),
    )
    rows = tuple(
        (
            *(one.workflow, one.step, one.opened, one.reached),
            one.again,
            one.accepted,
            one.refused,
            one.refusal_rate,
        )
        for one in sorted(
            figures.states, key=lambda one: (-(one.refusal_rate or 0), -one.again, one.workflow, one.step)
        )
    )
    return _table(t, "states", columns, rows, "state")


# --- telemetry ----------------------------------------------------------------------------------------------


def kinds_table(t: Catalogue, figures: Figures) -> Table:
    """How often each kind of entry was made, the most frequent first."""
    rows = tuple((str(one.kind), one.entries) for one in figures.kinds)
    columns = (*_words(t, "kind"), _column(t, "entries", "times", Unit.COUNT))
    return _table(t, "kinds", columns, rows, "entry")


def hours_table(t: Catalogue, figures: Figures) -> Table:
    """How many entries, and how many of errors, each hour has that has any."""
    entries = _column(t, "entries", "times", Unit.COUNT)
    columns = (*_words(t, "hour"), entries, _column(t, "errors", "refused", Unit.COUNT))
    rows = tuple((hour, *counts) for hour, counts in by_hour(figures.hours).items())
    return _table(t, "hours", columns, rows, "entry")


def tokens_table(t: Catalogue, figures: Figures) -> Table:
    """What became of step tokens."""
    found = tokens_of(figures.tokens)
    columns = (*_counts(t, "generated", "validated", "expired"), _rate(t, "expiry_rate"))
    row = (found.generated, found.validated, found.expired, found.expiry_rate)
    return _table(t, "tokens", columns, (row,), "any")


def errors_table(t: Catalogue, figures: Figures, meanings: Mapping[str, str]) -> Table:
    """Why calls were refused, the most frequent code first, with what it means."""
    entries = _column(t, "entries", "times", Unit.COUNT)
    columns = (*_words(t, "code"), entries, *_words(t, "meaning"))
    rows = tuple((one.code, one.entries, meanings.get(one.code, "")) for one in figures.errors)
    return _table(t, "errors", columns, rows, "any")


# --- user activity ------------------------------------------------------------------------------------------


def days_table(t: Catalogue, figures: Figures) -> Table:
    """How many runs were started on each day that has any."""
    rows = tuple(by_day(figures.days).items())
    return _table(t, "days", (*_words(t, "day"), *_counts(t, "runs")), rows, "started")


def starts_table(t: Catalogue, figures: Figures) -> Table:
    """How many runs of each workflow were started on each day that has any."""
    rows = tuple((one.day, one.workflow, one.runs) for one in figures.days)
    return _table(t, "starts", (*_words(t, "day", "workflow"), *_counts(t, "runs")), rows, "started")


def abandonment_table(t: Catalogue, figures: Figures) -> Table:
    """How many runs of each workflow were abandoned, and after how long; the most first."""
    columns = (
        *_words(t, "workflow"),
        *_counts(t, "abandoned"),
        _rate(t, "abandonment_rate"),
        _time(t, "mean_ms", "mean_until"),
        _time(t, "p50_ms", "half_until"),
    )
    times = {one.workflow: one.times for one in figures.run_times if one.lifecycle is Lifecycle.ABANDONED}
    rows = tuple(
        (
            *(one.workflow, one.abandoned, one.abandonment_rate, one.mean_abandoned_ms),
            times.get(one.workflow, _NONE).quantile(50),
        )
        for one in sorted(endings(figures.runs), key=lambda one: (-one.abandoned, one.workflow))
        if one.abandoned
    )
    return _table(t, "abandonment", columns, rows, "abandoned")


def funnel_table(t: Catalogue, figures: Figures) -> Table:
    """Where runs are abandoned: how many reached each state of a workflow, and how many were left there."""
    columns = (
        *_words(t, "workflow", "step"),
        *_counts(t, "reached", "abandoned"),
        _rate(t, "leaving_rate"),
    )
    rows = tuple(
        (one.workflow, one.step, one.reached, one.abandoned, one.leaving_rate)
        for stages in funnels(figures.states).values()
        for one in stages
    )
    return _table(t, "funnel", columns, rows, "abandoned")


def leaving_table(t: Catalogue, figures: Figures) -> Table:
    """After how long runs are abandoned, in spans of time, from the first to the last that has any."""
    columns = (*_words(t, "span"), _time(t, "from_ms", "from"), *_counts(t, "runs"))
    rows = tuple((span(t, start), start, runs) for start, runs in leaving(figures).items())
    return _table(t, "leaving", columns, rows, "abandoned")


def leaving(figures: Figures) -> dict[int, int]:
    """How many runs were abandoned in each span of time, from the first to the last that has any."""
    spread = together(one.times for one in figures.run_times if one.lifecycle is Lifecycle.ABANDONED)
    counts = Counter[int]()
    for bucket, runs in spread.counts:
        counts[max(start for start in SPANS if start <= least(bucket))] += runs
    return {start: counts[start] for start in SPANS if counts and min(counts) <= start <= max(counts)}
