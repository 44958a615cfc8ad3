"""The tables of the dashboards: each number once, with its unit. Those that count most come first."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from handrail.engine.model import Lifecycle
from handrail.telemetry.boards.figures import Figures
from handrail.telemetry.measures import by_day, by_hour, endings, funnels, lifecycles, step_endings, timed
from handrail.telemetry.measures import tokens as tokens_of
from handrail.telemetry.spread import Spread, least, together
from handrail.telemetry.tables import Column, Table
from handrail.telemetry.units import Unit

NO_RUN: Final = "no run yet: connect an agent with `handrail serve`, and have it start one"
NO_STEP: Final = "no step was completed yet: `handrail runs list --lifecycle running` shows what is under way"
NO_STATE: Final = "no step was begun yet: connect an agent with `handrail serve`, and have it start a run"
FURTHER: Final = "an earlier time looks further back, as in `handrail stats --since 30d`"
NOT_ABANDONED: Final = "no run was abandoned"

NAMES: Final = (
    *("lifecycles", "workflows"),
    *("times", "steps", "states"),
    *("hours", "kinds", "tokens", "errors"),
    *("days", "starts", "abandonment", "funnel", "leaving"),
)
"""The names of all tables, in the order of the dashboards."""

SPANS: Final = {
    0: "under 10 s",
    10_000: "10-30 s",
    30_000: "30-60 s",
    60_000: "1-5 min",
    300_000: "5-10 min",
    600_000: "10-30 min",
    1_800_000: "30-60 min",
    3_600_000: "1-2 h",
    7_200_000: "2-10 h",
    36_000_000: "10-100 h",
    360_000_000: "over 100 h",
}
"""The spans of a histogram by where they begin, in milliseconds: each where a bucket begins."""

_NONE: Final = Spread()

_WORKFLOW, _STEP, _AGENT = Column("workflow", "workflow"), Column("step", "step"), Column("agent", "persona")
_RUNS, _ENTRIES = Column("runs", "runs", Unit.COUNT), Column("entries", "times", Unit.COUNT)
_COMPLETED, _ABANDONED = (Column(name, name, Unit.COUNT) for name in ("completed", "abandoned"))


def _time(name: str, head: str) -> Column:
    return Column(name, head, Unit.MILLISECONDS)


def tables(figures: Figures, meanings: Mapping[str, str]) -> dict[str, Table]:
    """Every table of the dashboards by its name; `meanings` says what the codes of refusals mean."""
    workflows = (lifecycles_table(figures), workflows_table(figures))
    steps = (times_table(figures), steps_table(figures), states_table(figures))
    told = (
        hours_table(figures),
        kinds_table(figures),
        tokens_table(figures),
        errors_table(figures, meanings),
    )
    started = (days_table(figures), starts_table(figures))
    left = (abandonment_table(figures), funnel_table(figures), leaving_table(figures))
    return {table.name: table for table in (*workflows, *steps, *told, *started, *left)}


# --- workflow performance -----------------------------------------------------------------------------------


def lifecycles_table(figures: Figures) -> Table:
    """How many runs there are in each lifecycle."""
    rows = tuple((str(lifecycle), runs) for lifecycle, runs in lifecycles(figures.runs).items())
    return Table("lifecycles", "Runs by lifecycle", (Column("lifecycle", "lifecycle"), _RUNS), rows, NO_RUN)


def workflows_table(figures: Figures) -> Table:
    """How the runs of each workflow end, and how long they take."""
    times = {(one.workflow, one.lifecycle): one.times for one in figures.run_times}
    columns = (
        _WORKFLOW,
        _RUNS,
        _COMPLETED,
        _ABANDONED,
        _time("mean_completed_ms", "mean time"),
        _time("mean_abandoned_ms", "mean time until then"),
        Column("completion_rate", "completion", Unit.PERCENT),
        Column("abandonment_rate", "abandonment", Unit.PERCENT),
        _time("p50_completed_ms", "half within"),
        _time("p95_completed_ms", "95 % within"),
        _time("p50_abandoned_ms", "half until then"),
    )
    rows = []
    for one in endings(figures.runs):
        done = times.get((one.workflow, Lifecycle.COMPLETED), _NONE)
        left = times.get((one.workflow, Lifecycle.ABANDONED), _NONE)
        counts = (one.workflow, one.runs, one.completed, one.abandoned)
        means = (one.mean_completed_ms, one.mean_abandoned_ms, one.completion_rate, one.abandonment_rate)
        rows.append((*counts, *means, done.quantile(50), done.quantile(95), left.quantile(50)))
    return Table("workflows", "How runs end", columns, tuple(rows), NO_RUN)


# --- step performance ---------------------------------------------------------------------------------------


def times_table(figures: Figures) -> Table:
    """How long steps take that are completed, the slowest first."""
    times = {(one.step, one.agent): one.times for one in figures.step_times}
    columns = (
        _STEP,
        _AGENT,
        _COMPLETED,
        _time("mean_ms", "mean time"),
        _time("p50_ms", "half within"),
        _time("p95_ms", "95 % within"),
    )
    rows = []
    for one in timed(figures.steps):
        spread = times.get((one.step, one.agent), _NONE)
        found = (one.step, one.agent, one.completed, one.mean_ms)
        rows.append((*found, spread.quantile(50), spread.quantile(95)))
    return Table("times", "How long steps take", columns, tuple(rows), NO_STEP)


def steps_table(figures: Figures) -> Table:
    """How the steps of each state end, those that fail most often first."""
    columns = (
        _STEP,
        Column("steps", "times", Unit.COUNT),
        _COMPLETED,
        Column("failed", "failed", Unit.COUNT),
        _time("mean_completed_ms", "mean time"),
        Column("failure_rate", "rate", Unit.PERCENT),
    )
    rows = tuple(
        (one.step, one.steps, one.completed, one.failed, one.mean_completed_ms, one.failure_rate)
        for one in step_endings(figures.steps)
    )
    return Table("steps", "How steps end", columns, rows, NO_STATE)


def states_table(figures: Figures) -> Table:
    """How often each state of a workflow was begun, begun again, and its calls refused."""
    columns = (
        _WORKFLOW,
        _STEP,
        Column("opened", "times", Unit.COUNT),
        Column("reached", "by runs", Unit.COUNT),
        Column("again", "again", Unit.COUNT),
        Column("accepted", "accepted", Unit.COUNT),
        Column("refused", "refused", Unit.COUNT),
        Column("refusal_rate", "rate", Unit.PERCENT),
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
    return Table("states", "Refused calls, and steps begun again", columns, rows, NO_STATE)


# --- telemetry ----------------------------------------------------------------------------------------------


def kinds_table(figures: Figures) -> Table:
    """How often each kind of entry was made, the most frequent first."""
    rows = tuple((str(one.kind), one.entries) for one in figures.kinds)
    return Table(
        "kinds", "Entries by kind", (Column("kind", "entry"), _ENTRIES), rows, f"nothing happened: {FURTHER}"
    )


def hours_table(figures: Figures) -> Table:
    """How many entries, and how many of errors, each hour has that has any."""
    columns = (Column("hour", "hour"), _ENTRIES, Column("errors", "refused", Unit.COUNT))
    rows = tuple((hour, *counts) for hour, counts in by_hour(figures.hours).items())
    return Table("hours", "Entries by hour", columns, rows, f"nothing happened: {FURTHER}")


def tokens_table(figures: Figures) -> Table:
    """What became of step tokens."""
    found = tokens_of(figures.tokens)
    columns = (
        Column("generated", "issued", Unit.COUNT),
        Column("validated", "found good", Unit.COUNT),
        Column("expired", "expired", Unit.COUNT),
        Column("expiry_rate", "rate", Unit.PERCENT),
    )
    row = (found.generated, found.validated, found.expired, found.expiry_rate)
    return Table("tokens", "Step tokens", columns, (row,), "none")


def errors_table(figures: Figures, meanings: Mapping[str, str]) -> Table:
    """Why calls were refused, the most frequent code first, with what it means."""
    columns = (Column("code", "code"), _ENTRIES, Column("meaning", "meaning"))
    rows = tuple((one.code, one.entries, meanings.get(one.code, "")) for one in figures.errors)
    return Table("errors", "Refused calls", columns, rows, "none")


# --- user activity ------------------------------------------------------------------------------------------


def days_table(figures: Figures) -> Table:
    """How many runs were started on each day that has any."""
    rows = tuple(by_day(figures.days).items())
    return Table("days", "Runs started", (Column("day", "day"), _RUNS), rows, f"none: {FURTHER}")


def starts_table(figures: Figures) -> Table:
    """How many runs of each workflow were started on each day that has any."""
    rows = tuple((one.day, one.workflow, one.runs) for one in figures.days)
    return Table(
        "starts",
        "Runs started, by workflow",
        (Column("day", "day"), _WORKFLOW, _RUNS),
        rows,
        f"none: {FURTHER}",
    )


def abandonment_table(figures: Figures) -> Table:
    """How many runs of each workflow were abandoned, and after how long; the most first."""
    columns = (
        _WORKFLOW,
        _ABANDONED,
        Column("abandonment_rate", "rate", Unit.PERCENT),
        _time("mean_ms", "mean time until then"),
        _time("p50_ms", "half until then"),
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
    return Table("abandonment", "Runs abandoned", columns, rows, NOT_ABANDONED)


def funnel_table(figures: Figures) -> Table:
    """Where runs are abandoned: how many reached each state of a workflow, and how many were left there."""
    columns = (
        _WORKFLOW,
        _STEP,
        Column("reached", "by runs", Unit.COUNT),
        _ABANDONED,
        Column("leaving_rate", "rate", Unit.PERCENT),
    )
    rows = tuple(
        (one.workflow, one.step, one.reached, one.abandoned, one.leaving_rate)
        for stages in funnels(figures.states).values()
        for one in stages
    )
    return Table("funnel", "Where runs are abandoned", columns, rows, NOT_ABANDONED)


def leaving_table(figures: Figures) -> Table:
    """After how long runs are abandoned, in spans of time, from the first to the last that has any."""
    columns = (Column("span", "until then"), _time("from_ms", "from"), _RUNS)
    rows = tuple((SPANS[start], start, runs) for start, runs in leaving(figures).items())
    return Table("leaving", "Time until runs are abandoned", columns, rows, NOT_ABANDONED)


def leaving(figures: Figures) -> dict[int, int]:
    """How many runs were abandoned in each span of time, from the first to the last that has any."""
    spread = together(one.times for one in figures.run_times if one.lifecycle is Lifecycle.ABANDONED)
    counts = Counter[int]()
    for bucket, runs in spread.counts:
        counts[max(start for start in SPANS if start <= least(bucket))] += runs
    return {start: counts[start] for start in SPANS if counts and min(counts) <= start <= max(counts)}
