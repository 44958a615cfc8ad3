"""Insights: load the measured figures, and build the tables and charts of the four boards from them.

Start with `load_figures`, `build_tables` and `build_boards`. Only `load_figures` reads a store.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from handrail.drawing.charts import (
    Bar,
    BarChart,
    FunnelChart,
    LegendKey,
    Series,
    SeriesChart,
    Slot,
    Stack,
    StackedChart,
    Stage,
    draw_bar_chart,
    draw_column_chart,
    draw_funnel_chart,
    draw_line_chart,
    draw_stacked_chart,
)
from handrail.drawing.style import BAD, GOOD, QUIET, SERIES_CLASSES, WARN
from handrail.drawing.tables import Cell, Column, Table, TableRows, Unit, to_objects
from handrail.engine.model import Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.runtime.measures import (
    DayCount,
    DurationHistogram,
    ErrorCount,
    HourCount,
    KindCount,
    RunCount,
    RunTimes,
    StateCounts,
    StepCount,
    StepTimes,
    build_funnels,
    compute_run_endings,
    compute_step_endings,
    compute_step_timings,
    count_by_day,
    count_by_hour,
    count_by_lifecycle,
    count_tokens,
    get_bucket_start,
    merge_histograms,
)
from handrail.runtime.ports.queries import Measures
from handrail.workflows.templates import MessageCatalog


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a store, measured at `at`.

    Tokens and errors count since `since`, or all time if it is None. Entries count since `kinds_since`,
    started runs since `days_since`. Everything else is of all time.
    """

    at: datetime
    since: datetime | None
    kinds_since: datetime
    days_since: datetime
    runs: tuple[RunCount, ...] = ()
    run_times: tuple[RunTimes, ...] = ()
    steps: tuple[StepCount, ...] = ()
    step_times: tuple[StepTimes, ...] = ()
    states: tuple[StateCounts, ...] = ()
    kinds: tuple[KindCount, ...] = ()
    hours: tuple[HourCount, ...] = ()
    tokens: tuple[KindCount, ...] = ()
    errors: tuple[ErrorCount, ...] = ()
    days: tuple[DayCount, ...] = ()


# How far back entries are counted by default.
DEFAULT_ENTRIES_WINDOW: Final = timedelta(days=1)
# How far back started runs are counted by default.
DEFAULT_RUNS_WINDOW: Final = timedelta(days=7)


def load_figures(measures: Measures, now: datetime, since: datetime | None = None) -> Figures:
    """Load the current figures. Each window begins at `since`; None means the default windows."""
    kinds_since, days_since = since or now - DEFAULT_ENTRIES_WINDOW, since or now - DEFAULT_RUNS_WINDOW
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


# The names of all tables, in the order of the boards.
TABLE_NAMES: Final = (
    *("lifecycles", "workflows"),
    *("times", "steps", "states"),
    *("hours", "kinds", "tokens", "errors"),
    *("days", "starts", "abandonment", "funnel", "leaving"),
)

# The starts of the spans of a histogram, in milliseconds. Each is also the start of a bucket.
SPAN_STARTS_MS: Final = (
    *(0, 10_000, 30_000, 60_000, 300_000, 600_000),
    *(1_800_000, 3_600_000, 7_200_000, 36_000_000, 360_000_000),
)
_NO_TIMES: Final = DurationHistogram()


def get_span_title(t: MessageCatalog, start: int) -> str:
    """Return the title of a histogram span."""
    return t(f"insights.spans.{start}")


def _make_column(t: MessageCatalog, name: str, head: str = "", unit: Unit = Unit.WORD) -> Column:
    return Column(name, t(f"insights.heads.{head or name}"), unit)


def _make_word_columns(t: MessageCatalog, *names: str) -> tuple[Column, ...]:
    """Make text columns whose heading keys equal their names."""
    return tuple(_make_column(t, name) for name in names)


def _make_count_columns(t: MessageCatalog, *names: str) -> tuple[Column, ...]:
    """Make count columns whose heading keys equal their names."""
    return tuple(_make_column(t, name, unit=Unit.COUNT) for name in names)


def _make_time_column(t: MessageCatalog, name: str, head: str) -> Column:
    return _make_column(t, name, head, Unit.MILLISECONDS)


def _make_rate_column(t: MessageCatalog, name: str, head: str = "rate") -> Column:
    return _make_column(t, name, head, Unit.PERCENT)


def _make_table(
    t: MessageCatalog, name: str, columns: tuple[Column, ...], rows: TableRows, empty: str
) -> Table:
    return Table(name, t(f"insights.tables.{name}"), columns, rows, t(f"insights.none.{empty}"))


def build_tables(t: MessageCatalog, figures: Figures, meanings: Mapping[str, str]) -> dict[str, Table]:
    """Build all tables, by name. `meanings` explains the codes of refusals."""
    workflows = (build_lifecycles_table(t, figures), build_workflows_table(t, figures))
    steps = (build_times_table(t, figures), build_steps_table(t, figures), build_states_table(t, figures))
    telemetry = (
        build_hours_table(t, figures),
        build_kinds_table(t, figures),
        build_tokens_table(t, figures),
        build_errors_table(t, figures, meanings),
    )
    starts = (build_days_table(t, figures), build_starts_table(t, figures))
    abandoned = (
        build_abandonment_table(t, figures),
        build_funnel_table(t, figures),
        build_leaving_table(t, figures),
    )
    return {table.name: table for table in (*workflows, *steps, *telemetry, *starts, *abandoned)}


# --- tables: workflow performance ---------------------------------------------------------------------------


def build_lifecycles_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of runs per lifecycle."""
    rows = tuple((str(lifecycle), runs) for lifecycle, runs in count_by_lifecycle(figures.runs).items())
    return _make_table(
        t, "lifecycles", (*_make_word_columns(t, "lifecycle"), *_make_count_columns(t, "runs")), rows, "run"
    )


def build_workflows_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of how the runs of each workflow end, and how long they take."""
    times = {(record.workflow, record.lifecycle): record.times for record in figures.run_times}
    columns = (
        *_make_word_columns(t, "workflow"),
        *_make_count_columns(t, "runs", "completed", "abandoned"),
        _make_time_column(t, "mean_completed_ms", "mean"),
        _make_time_column(t, "mean_abandoned_ms", "mean_until"),
        _make_rate_column(t, "completion_rate", "completion"),
        _make_rate_column(t, "abandonment_rate", "abandonment"),
        _make_time_column(t, "p50_completed_ms", "half"),
        _make_time_column(t, "p95_completed_ms", "most"),
        _make_time_column(t, "p50_abandoned_ms", "half_until"),
    )
    rows = []
    for record in compute_run_endings(figures.runs):
        completed = times.get((record.workflow, Lifecycle.COMPLETED), _NO_TIMES)
        abandoned = times.get((record.workflow, Lifecycle.ABANDONED), _NO_TIMES)
        counts = (record.workflow, record.runs, record.completed, record.abandoned)
        means = (
            record.mean_completed_ms,
            record.mean_abandoned_ms,
            record.completion_rate,
            record.abandonment_rate,
        )
        rows.append(
            (*counts, *means, completed.percentile(50), completed.percentile(95), abandoned.percentile(50))
        )
    return _make_table(t, "workflows", columns, tuple(rows), "run")


# --- tables: step performance -------------------------------------------------------------------------------


def build_times_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of the durations of completed steps, the slowest first."""
    times = {(record.step, record.agent): record.times for record in figures.step_times}
    columns = (
        *_make_word_columns(t, "step", "agent"),
        *_make_count_columns(t, "completed"),
        _make_time_column(t, "mean_ms", "mean"),
        _make_time_column(t, "p50_ms", "half"),
        _make_time_column(t, "p95_ms", "most"),
    )
    rows = []
    for record in compute_step_timings(figures.steps):
        spread = times.get((record.step, record.agent), _NO_TIMES)
        values = (record.step, record.agent, record.completed, record.mean_ms)
        rows.append((*values, spread.percentile(50), spread.percentile(95)))
    return _make_table(t, "times", columns, tuple(rows), "step")


def build_steps_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of how steps end per state, the highest failure rate first."""
    columns = (
        *_make_word_columns(t, "step"),
        _make_column(t, "steps", "times", Unit.COUNT),
        *_make_count_columns(t, "completed", "failed"),
        _make_time_column(t, "mean_completed_ms", "mean"),
        _make_rate_column(t, "failure_rate"),
    )
    rows = tuple(
        (
            record.step,
            record.steps,
            record.completed,
            record.failed,
            record.mean_completed_ms,
            record.failure_rate,
        )
        for record in compute_step_endings(figures.steps)
    )
    return _make_table(t, "steps", columns, rows, "state")


def build_states_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of how often each state was entered, repeated, and its calls refused."""
    columns = (
        *_make_word_columns(t, "workflow", "step"),
        _make_column(t, "opened", "times", Unit.COUNT),
        *_make_count_columns(t, "reached", "again", "accepted", "refused"),
        _make_rate_column(t, "refusal_rate"),
    )
    rows = tuple(
        (
            *(record.workflow, record.step, record.opened, record.reached),
            record.again,
            record.accepted,
            record.refused,
            record.refusal_rate,
        )
        for record in sorted(
            figures.states,
            key=lambda record: (-(record.refusal_rate or 0), -record.again, record.workflow, record.step),
        )
    )
    return _make_table(t, "states", columns, rows, "state")


# --- tables: telemetry --------------------------------------------------------------------------------------


def build_kinds_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of journal entries per kind, the most frequent first."""
    rows = tuple((str(record.kind), record.entries) for record in figures.kinds)
    columns = (*_make_word_columns(t, "kind"), _make_column(t, "entries", "times", Unit.COUNT))
    return _make_table(t, "kinds", columns, rows, "entry")


def build_hours_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of entries and errors per hour. Hours without entries are left out."""
    entries = _make_column(t, "entries", "times", Unit.COUNT)
    columns = (*_make_word_columns(t, "hour"), entries, _make_column(t, "errors", "refused", Unit.COUNT))
    rows = tuple((hour, *counts) for hour, counts in count_by_hour(figures.hours).items())
    return _make_table(t, "hours", columns, rows, "entry")


def build_tokens_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of step tokens: generated, validated, expired."""
    tokens = count_tokens(figures.tokens)
    columns = (
        *_make_count_columns(t, "generated", "validated", "expired"),
        _make_rate_column(t, "expiry_rate"),
    )
    row = (tokens.generated, tokens.validated, tokens.expired, tokens.expiry_rate)
    return _make_table(t, "tokens", columns, (row,), "any")


def build_errors_table(t: MessageCatalog, figures: Figures, meanings: Mapping[str, str]) -> Table:
    """Build the table of refusal codes with their meanings, the most frequent first."""
    entries = _make_column(t, "entries", "times", Unit.COUNT)
    columns = (*_make_word_columns(t, "code"), entries, *_make_word_columns(t, "meaning"))
    rows = tuple((record.code, record.entries, meanings.get(record.code, "")) for record in figures.errors)
    return _make_table(t, "errors", columns, rows, "any")


# --- tables: user activity ----------------------------------------------------------------------------------


def build_days_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of started runs per day. Days without any are left out."""
    rows = tuple(count_by_day(figures.days).items())
    return _make_table(
        t, "days", (*_make_word_columns(t, "day"), *_make_count_columns(t, "runs")), rows, "started"
    )


def build_starts_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of started runs per day and workflow. Days without any are left out."""
    rows = tuple((record.day, record.workflow, record.runs) for record in figures.days)
    return _make_table(
        t,
        "starts",
        (*_make_word_columns(t, "day", "workflow"), *_make_count_columns(t, "runs")),
        rows,
        "started",
    )


def build_abandonment_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of abandoned runs per workflow, with the time until then; the most first."""
    columns = (
        *_make_word_columns(t, "workflow"),
        *_make_count_columns(t, "abandoned"),
        _make_rate_column(t, "abandonment_rate"),
        _make_time_column(t, "mean_ms", "mean_until"),
        _make_time_column(t, "p50_ms", "half_until"),
    )
    times = {
        record.workflow: record.times
        for record in figures.run_times
        if record.lifecycle is Lifecycle.ABANDONED
    }
    rows = tuple(
        (
            *(record.workflow, record.abandoned, record.abandonment_rate, record.mean_abandoned_ms),
            times.get(record.workflow, _NO_TIMES).percentile(50),
        )
        for record in sorted(
            compute_run_endings(figures.runs), key=lambda record: (-record.abandoned, record.workflow)
        )
        if record.abandoned
    )
    return _make_table(t, "abandonment", columns, rows, "abandoned")


def build_funnel_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of how many runs reached each state, and how many were abandoned there."""
    columns = (
        *_make_word_columns(t, "workflow", "step"),
        *_make_count_columns(t, "reached", "abandoned"),
        _make_rate_column(t, "leaving_rate"),
    )
    rows = tuple(
        (record.workflow, record.step, record.reached, record.abandoned, record.leaving_rate)
        for stages in build_funnels(figures.states).values()
        for record in stages
    )
    return _make_table(t, "funnel", columns, rows, "abandoned")


def build_leaving_table(t: MessageCatalog, figures: Figures) -> Table:
    """Build the table of when runs are abandoned, from the first to the last span that has any."""
    columns = (
        *_make_word_columns(t, "span"),
        _make_time_column(t, "from_ms", "from"),
        *_make_count_columns(t, "runs"),
    )
    rows = tuple(
        (get_span_title(t, start), start, runs) for start, runs in count_abandoned_by_span(figures).items()
    )
    return _make_table(t, "leaving", columns, rows, "abandoned")


def count_abandoned_by_span(figures: Figures) -> dict[int, int]:
    """Count the abandoned runs per span, from the first to the last span that has any."""
    spread = merge_histograms(
        record.times for record in figures.run_times if record.lifecycle is Lifecycle.ABANDONED
    )
    counts = Counter[int]()
    for bucket, runs in spread.counts:
        counts[max(start for start in SPAN_STARTS_MS if start <= get_bucket_start(bucket))] += runs
    return {
        start: counts[start] for start in SPAN_STARTS_MS if counts and min(counts) <= start <= max(counts)
    }


# A longer window is drawn only from its first event on.
MAX_WHOLE_WINDOW: Final = timedelta(days=62)
# Older events are not drawn.
MAX_WINDOW: Final = timedelta(days=3660)
# With more hours than this, days are drawn instead.
MAX_HOURS_SHOWN: Final = 73
# With more days than this, months are drawn instead.
MAX_DAYS_SHOWN: Final = 400
# The most labels below a chart.
MAX_SLOT_LABELS: Final = 11
# The round distances between labels of hours, days and months, by the length of their names.
_WORD_STEPS: Final = {0: (1,), 13: (1, 3, 6, 12), 10: (1, 2, 7, 14, 28, 56), 7: (1, 2, 3, 6, 12)}
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


def list_hours(since: datetime, until: datetime, first: str) -> list[str]:
    """List the hours of a window as `YYYY-MM-DD HH`. `first` is the first hour with an event."""
    return _list_slot_names((since, until), first, _HOUR, 13)


def list_days(since: datetime, until: datetime, first: str) -> list[str]:
    """List the days of a window as `YYYY-MM-DD`. `first` is the first day with an event."""
    return _list_slot_names((since, until), first, _DAY, 10)


def coarsen_names(names: Sequence[str]) -> list[str]:
    """Return the hours if there are few, else their days, else their months: each once, in order."""
    for letters, most in ((13, MAX_HOURS_SHOWN), (10, MAX_DAYS_SHOWN)):
        found = list(dict.fromkeys(name[:letters] for name in names))
        if len(found) <= most:
            return found
    return list(dict.fromkeys(name[:7] for name in names))


def sum_counts(counts: Mapping[str, int], names: Iterable[str]) -> tuple[int, ...]:
    """Sum the counts per hour, day or month of these names."""
    wanted = list(names)
    letters = len(wanted[0]) if wanted else 0
    found = dict.fromkeys(wanted, 0)
    for name, count in counts.items():
        if name[:letters] in found:
            found[name[:letters]] += count
    return tuple(found.values())


def build_slots(t: MessageCatalog, names: Sequence[str]) -> tuple[Slot, ...]:
    """Build the slots of a chart. Some, at round distances, get a label: a time, day or month."""
    letters = len(names[0]) if names else 0
    step = next(
        step
        for step in _WORD_STEPS[letters]
        if len(names) <= step * MAX_SLOT_LABELS or step == _WORD_STEPS[letters][-1]
    )
    return tuple(
        Slot(
            _format_slot_name(name),
            _format_slot_word(t, name)
            if _find_cycle_position(name, len(names) - 1 - index) % step == 0
            else "",
        )
        for index, name in enumerate(names)
    )


def _format_slot_name(name: str) -> str:
    return f"{name}:00" if len(name) == 13 else name


def _find_cycle_position(name: str, before_last: int) -> int:
    """Return the number that decides on labels: hour of day, month of year, or days until the last."""
    match len(name):
        case 13:
            return int(name[11:])
        case 7:
            return int(name[5:]) - 1
        case _:
            return before_last


def _format_slot_word(t: MessageCatalog, name: str) -> str:
    """Format a slot label: a time (at midnight the day), a day with its month, or a month with its year."""
    year, month, *rest = name.split("-")
    month_name = t(f"chart.months.{int(month)}")
    if not rest:
        return t("chart.month", month=month_name, year=year)
    day, _, hour = rest[0].partition(" ")
    return f"{hour}:00" if hour not in {"", "00"} else t("chart.day", day=int(day), month=month_name)


def _list_slot_names(
    window: tuple[datetime, datetime], first: str, unit: timedelta, letters: int
) -> list[str]:
    since, until = window
    moment = (
        since if until - since <= MAX_WHOLE_WINDOW else max(_day_or_hour(first, until), until - MAX_WINDOW)
    )
    last, names = until.isoformat(" ")[:letters], []
    while moment.isoformat(" ")[:letters] <= last:
        names.append(moment.isoformat(" ")[:letters])
        moment += unit
    return names


def _day_or_hour(name: str, otherwise: datetime) -> datetime:
    """Parse the start of an hour or day; `otherwise` if the store has an invalid one."""
    try:
        return datetime.fromisoformat(name).replace(tzinfo=otherwise.tzinfo)
    except ValueError:
        return otherwise


# The most funnels that are drawn. The table has all workflows.
MAX_FUNNELS: Final = 4

# The look of each lifecycle, in the order of the bars.
LIFECYCLE_LOOKS: Final = {
    Lifecycle.COMPLETED: GOOD,
    Lifecycle.FAILED: BAD,
    Lifecycle.ABANDONED: WARN,
    Lifecycle.DIVERGED: "s4",
    Lifecycle.RUNNING: "s1",
    Lifecycle.PAUSED: "s2",
    Lifecycle.IDLE: QUIET,
}


@dataclass(frozen=True, slots=True)
class Panel:
    """One part of a board: charts as SVG, and the table they are drawn from."""

    title: str
    charts: tuple[str, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Board:
    """One page of insights."""

    name: str
    title: str
    panels: tuple[Panel, ...]

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of the board, by name."""
        return {panel.table.name: panel.table for panel in self.panels}

    def data(self) -> dict[str, list[dict[str, Cell]]]:
        """Return the rows of all tables as JSON objects, by table name."""
        return {name: to_objects(table) for name, table in self.tables.items()}


def build_boards(t: MessageCatalog, figures: Figures, meanings: Mapping[str, str]) -> tuple[Board, ...]:
    """Build the four boards. `meanings` explains the codes of refusals."""
    return (
        build_workflow_board(t, figures),
        build_step_board(t, figures),
        build_telemetry_board(t, figures, meanings),
        build_activity_board(t, figures),
    )


# --- boards: workflow performance ---------------------------------------------------------------------------


def build_workflow_board(t: MessageCatalog, figures: Figures) -> Board:
    """Build the board of runs: their lifecycles, how they end, and how long they take."""
    lifecycles, endings = build_lifecycles_table(t, figures), build_workflows_table(t, figures)
    panels = (
        Panel(lifecycles.title, (_draw_lifecycles(t, figures),), lifecycles),
        Panel(endings.title, (_draw_run_endings(t, figures), _draw_run_times(t, figures)), endings),
    )
    return _make_board(t, "workflows", panels)


def _draw_lifecycles(t: MessageCatalog, figures: Figures) -> str:
    shown = tuple(
        Bar(str(each), runs, LIFECYCLE_LOOKS[each]) for each, runs in count_by_lifecycle(figures.runs).items()
    )
    return draw_bar_chart(
        t, BarChart(t("insights.charts.lifecycles"), Unit.COUNT, shown, t("insights.none.run"))
    )


def _draw_run_endings(t: MessageCatalog, figures: Figures) -> str:
    counts = Counter({(record.workflow, record.lifecycle): record.runs for record in figures.runs})
    stacks = tuple(
        Stack(record.workflow, tuple(counts[record.workflow, each] for each in LIFECYCLE_LOOKS))
        for record in compute_run_endings(figures.runs)
    )
    keys = tuple(LegendKey(str(lifecycle), look) for lifecycle, look in LIFECYCLE_LOOKS.items())
    return draw_stacked_chart(
        t, StackedChart(t("insights.charts.ended"), keys, stacks, t("insights.none.run"))
    )


def _draw_run_times(t: MessageCatalog, figures: Figures) -> str:
    means = {record.workflow: record.mean_completed_ms for record in compute_run_endings(figures.runs)}
    done = [record for record in figures.run_times if record.lifecycle is Lifecycle.COMPLETED]
    shown = [_make_time_bar(record.workflow, record.times, means.get(record.workflow)) for record in done]
    return _draw_time_bars(t, "runs", shown, "completed")


# --- boards: step performance -------------------------------------------------------------------------------


def build_step_board(t: MessageCatalog, figures: Figures) -> Board:
    """Build the board of steps: durations, failures, refusals and repetitions."""
    times, ends, states = (
        make(t, figures) for make in (build_times_table, build_steps_table, build_states_table)
    )
    failing = tuple(
        Bar(record.step, record.failure_rate, BAD)
        for record in compute_step_endings(figures.steps)
        if record.failed
    )
    panels = (
        Panel(times.title, (_draw_step_times(t, figures),), times),
        Panel(
            ends.title,
            (
                draw_bar_chart(
                    t,
                    BarChart(t("insights.charts.failing"), Unit.PERCENT, failing, t("insights.none.failed")),
                ),
            ),
            ends,
        ),
        Panel(states.title, (_draw_refusal_rates(t, figures), _draw_repeated_states(t, figures)), states),
    )
    return _make_board(t, "steps", panels)


def _draw_step_times(t: MessageCatalog, figures: Figures) -> str:
    means = {(record.step, record.agent): record.mean_ms for record in compute_step_timings(figures.steps)}
    shown = [
        _make_time_bar(
            _format_step(record.step, record.agent), record.times, means.get((record.step, record.agent))
        )
        for record in figures.step_times
    ]
    return _draw_time_bars(t, "steps", shown, "step")


def _draw_refusal_rates(t: MessageCatalog, figures: Figures) -> str:
    found = [(record.refusal_rate, record) for record in figures.states if record.refused]
    ordered = sorted(found, key=lambda pair: (-(pair[0] or 0), pair[1].workflow, pair[1].step))
    shown = tuple(Bar(_format_state(t, record), rate or 0, WARN) for rate, record in ordered)
    return draw_bar_chart(
        t, BarChart(t("insights.charts.refused"), Unit.PERCENT, shown, t("insights.none.refused"))
    )


def _draw_repeated_states(t: MessageCatalog, figures: Figures) -> str:
    found = sorted(figures.states, key=lambda record: (-record.again, record.workflow, record.step))
    shown = tuple(Bar(_format_state(t, record), record.again, "s4") for record in found if record.again)
    return draw_bar_chart(
        t, BarChart(t("insights.charts.again"), Unit.COUNT, shown, t("insights.none.round"))
    )


# --- boards: telemetry --------------------------------------------------------------------------------------


def build_telemetry_board(t: MessageCatalog, figures: Figures, meanings: Mapping[str, str]) -> Board:
    """Build the board of the journal: entries by hour and kind, step tokens, and refused calls."""
    hours, kinds = build_hours_table(t, figures), build_kinds_table(t, figures)
    tokens, errors = build_tokens_table(t, figures), build_errors_table(t, figures, meanings)
    counted = tuple(
        Bar(str(record.kind), record.entries, WARN if record.kind is EntryKind.ERROR_OCCURRED else "s1")
        for record in figures.kinds
    )
    refused = tuple(
        Bar(record.code or t("insights.words.no_code"), record.entries, WARN) for record in figures.errors
    )
    panels = (
        Panel(hours.title, (_draw_hours(t, figures, hours),), hours),
        Panel(
            kinds.title, (draw_bar_chart(t, BarChart(kinds.title, Unit.COUNT, counted, kinds.empty)),), kinds
        ),
        Panel(tokens.title, (_draw_tokens(t, figures),), tokens),
        Panel(
            errors.title,
            (
                draw_bar_chart(
                    t, BarChart(t("insights.charts.codes"), Unit.COUNT, refused, t("insights.none.refused"))
                ),
            ),
            errors,
        ),
    )
    return _make_board(t, "telemetry", panels)


def _draw_hours(t: MessageCatalog, figures: Figures, hours: Table) -> str:
    counts_by_hour = count_by_hour(figures.hours)
    names = coarsen_names(list_hours(figures.kinds_since, figures.at, next(iter(counts_by_hour), "")))
    series = tuple(
        Series(
            t(f"insights.words.{word}"),
            look,
            sum_counts({hour: counts[index] for hour, counts in counts_by_hour.items()}, names),
        )
        for index, (word, look) in enumerate((("entries", "s1"), ("refused", WARN)))
    )
    return draw_line_chart(
        t, SeriesChart(t("insights.charts.hours"), build_slots(t, names), series, hours.empty)
    )


def _draw_tokens(t: MessageCatalog, figures: Figures) -> str:
    tokens = count_tokens(figures.tokens)
    words = (
        ("generated", tokens.generated, "s1"),
        ("validated", tokens.validated, GOOD),
        ("expired", tokens.expired, WARN),
    )
    bars = tuple(Bar(t(f"insights.heads.{word}"), count, look) for word, count, look in words)
    shown = bars if tokens.expiry_rate is not None else ()
    return draw_bar_chart(
        t, BarChart(t("insights.tables.tokens"), Unit.COUNT, shown, t("insights.none.token"))
    )


# --- boards: user activity ----------------------------------------------------------------------------------


def build_activity_board(t: MessageCatalog, figures: Figures) -> Board:
    """Build the board of activity: started runs, and where and when runs are abandoned."""
    days, starts, abandoned = (
        make(t, figures) for make in (build_days_table, build_starts_table, build_abandonment_table)
    )
    stages, leaving = build_funnel_table(t, figures), build_leaving_table(t, figures)
    spans = count_abandoned_by_span(figures)
    spread = SeriesChart(
        leaving.title,
        tuple(Slot(get_span_title(t, start), get_span_title(t, start)) for start in spans),
        (Series(t("insights.heads.runs"), WARN, tuple(spans.values())),),
        leaving.empty,
    )
    ordered = sorted(
        compute_run_endings(figures.runs), key=lambda record: (-record.abandonment_rate, record.workflow)
    )
    rates = tuple(
        Bar(record.workflow, record.abandonment_rate, WARN) for record in ordered if record.abandoned
    )
    panels = (
        Panel(days.title, (_draw_days(t, figures, days),), days),
        Panel(starts.title, (), starts),
        Panel(
            abandoned.title,
            (draw_bar_chart(t, BarChart(abandoned.title, Unit.PERCENT, rates, abandoned.empty)),),
            abandoned,
        ),
        Panel(stages.title, _draw_funnels(t, figures, stages), stages),
        Panel(leaving.title, (draw_column_chart(t, spread),), leaving),
    )
    return _make_board(t, "activity", panels)


def _draw_days(t: MessageCatalog, figures: Figures, days: Table) -> str:
    """Draw a column per day with the most started workflows, and the others as one series."""
    totals = Counter[str]()
    by_workflow: dict[str, Counter[str]] = {}
    for record in figures.days:
        totals[record.workflow] += record.runs
        by_workflow.setdefault(record.workflow, Counter())[record.day] += record.runs
    ranked = sorted(totals, key=lambda name: (-totals[name], name))
    most = len(SERIES_CLASSES) - 1
    drawn, others = (ranked, []) if len(ranked) <= most else (ranked[:most], ranked[most:])
    first = str(days.rows[0][0]) if days.rows else ""
    names = coarsen_names(list_days(figures.days_since, figures.at, first))
    series = [
        Series(name, look, sum_counts(by_workflow[name], names))
        for name, look in zip(drawn, SERIES_CLASSES, strict=False)
    ]
    if others:
        other_counts = sum((by_workflow[name] for name in others), Counter[str]())
        series.append(Series(t("insights.words.others"), SERIES_CLASSES[-1], sum_counts(other_counts, names)))
    return draw_column_chart(
        t, SeriesChart(t("insights.charts.days"), build_slots(t, names), tuple(series), days.empty)
    )


def _draw_funnels(t: MessageCatalog, figures: Figures, stages: Table) -> tuple[str, ...]:
    words = (t("insights.words.went_on"), t("insights.words.abandoned"))
    funnels = list(build_funnels(figures.states).items())[:MAX_FUNNELS]
    if not funnels:
        return (draw_funnel_chart(t, FunnelChart(stages.title, (), words, stages.empty)),)
    return tuple(
        draw_funnel_chart(
            t,
            FunnelChart(
                t("insights.charts.funnel", workflow=name),
                tuple(Stage(record.step, record.reached, record.abandoned) for record in steps),
                words,
                stages.empty,
            ),
        )
        for name, steps in funnels
    )


# --- shared helpers -----------------------------------------------------------------------------------------


def _make_board(t: MessageCatalog, name: str, panels: tuple[Panel, ...]) -> Board:
    return Board(name, t(f"insights.boards.{name}"), panels)


def _draw_time_bars(t: MessageCatalog, name: str, shown: list[Bar], empty: str) -> str:
    ordered = tuple(sorted(shown, key=lambda bar: (-bar.value, bar.name)))
    half, most, mean = (t(f"insights.words.{word}") for word in ("half", "most", "mean"))
    return draw_bar_chart(
        t,
        BarChart(
            t(f"insights.times.{name}"),
            Unit.MILLISECONDS,
            ordered,
            t(f"insights.none.{empty}"),
            (half, most, mean),
        ),
    )


def _make_time_bar(name: str, times: DurationHistogram, mean: float | None) -> Bar:
    return Bar(name, times.percentile(50) or 0, "s1", times.percentile(95), mean)


def _format_state(t: MessageCatalog, record: StateCounts) -> str:
    return f"{record.step or t('insights.words.several')} · {record.workflow}"


def _format_step(step: str, agent: str) -> str:
    return f"{step}, {agent}" if agent else step
