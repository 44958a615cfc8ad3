"""Insights: load the measured figures, and build the tables and charts of the four boards from them.

Start with `load_figures`, `build_tables` and `build_boards`. Only `load_figures` reads a store.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from handrail.drawing.tables import Cell, Column, Row, Table, Unit, to_objects
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
_DEFAULT_ENTRIES_WINDOW: Final = timedelta(days=1)
# How far back started runs are counted by default.
_DEFAULT_RUNS_WINDOW: Final = timedelta(days=7)


def load_figures(measures: Measures, now: datetime, since: datetime | None = None) -> Figures:
    """Load the current figures. Each window begins at `since`; None means the default windows."""
    kinds_since, days_since = since or now - _DEFAULT_ENTRIES_WINDOW, since or now - _DEFAULT_RUNS_WINDOW
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
_WORD_COLUMNS: Final = frozenset(
    {"lifecycle", "workflow", "step", "agent", "hour", "kind", "code", "meaning", "day", "span"}
)


def build_tables(t: MessageCatalog, figures: Figures, meanings: Mapping[str, str]) -> dict[str, Table]:
    """Build all tables, by name. `meanings` explains the codes of refusals."""
    tables = (
        *_build_workflow_tables(t, figures),
        *_build_step_tables(t, figures),
        *_build_telemetry_tables(t, figures, meanings),
        *_build_activity_tables(t, figures),
    )
    return {table.name: table for table in tables}


def _make_table(t: MessageCatalog, name: str, columns: str, rows: Iterable[Row], empty: str) -> Table:
    """Make a table of columns such as `step mean_ms=mean`: names, some with the key of another heading."""
    made = []
    for column in columns.split():
        column_name, _, head = column.partition("=")
        if column_name in _WORD_COLUMNS:
            unit = Unit.WORD
        elif column_name.endswith("_ms"):
            unit = Unit.MILLISECONDS
        else:
            unit = Unit.PERCENT if column_name.endswith("_rate") else Unit.COUNT
        made.append(Column(column_name, t(f"insights.heads.{head or column_name}"), unit))
    title, none = t(f"insights.tables.{name}"), t(f"insights.none.{empty}")
    return Table(name, title, tuple(made), tuple(rows), none)


def _build_workflow_tables(t: MessageCatalog, figures: Figures) -> Iterator[Table]:
    """Yield the tables of runs per lifecycle, and of how the runs of each workflow end."""
    lifecycles = ((str(lifecycle), runs) for lifecycle, runs in count_by_lifecycle(figures.runs).items())
    yield _make_table(t, "lifecycles", "lifecycle runs", lifecycles, "run")
    times = {(record.workflow, record.lifecycle): record.times for record in figures.run_times}
    rows: list[Row] = []
    for record in compute_run_endings(figures.runs):
        completed = times.get((record.workflow, Lifecycle.COMPLETED), _NO_TIMES)
        abandoned = times.get((record.workflow, Lifecycle.ABANDONED), _NO_TIMES)
        counts = (record.workflow, record.runs, record.completed, record.abandoned)
        means = (record.mean_completed_ms, record.mean_abandoned_ms)
        rates = (record.completion_rate, record.abandonment_rate)
        percentiles = (completed.percentile(50), completed.percentile(95), abandoned.percentile(50))
        rows.append((*counts, *means, *rates, *percentiles))
    columns = (
        "workflow runs completed abandoned mean_completed_ms=mean mean_abandoned_ms=mean_until"
        " completion_rate=completion abandonment_rate=abandonment"
        " p50_completed_ms=half p95_completed_ms=most p50_abandoned_ms=half_until"
    )
    yield _make_table(t, "workflows", columns, rows, "run")


def _build_step_tables(t: MessageCatalog, figures: Figures) -> Iterator[Table]:
    """Yield the tables of how long steps take, how they end, and how often states repeat or refuse."""
    times = {(record.step, record.agent): record.times for record in figures.step_times}
    timings: list[Row] = []
    for timing in compute_step_timings(figures.steps):
        spread = times.get((timing.step, timing.agent), _NO_TIMES)
        values = (timing.step, timing.agent, timing.completed, timing.mean_ms)
        timings.append((*values, spread.percentile(50), spread.percentile(95)))
    columns = "step agent completed mean_ms=mean p50_ms=half p95_ms=most"
    yield _make_table(t, "times", columns, timings, "step")
    endings = (
        (ends.step, ends.steps, ends.completed, ends.failed, ends.mean_completed_ms, ends.failure_rate)
        for ends in compute_step_endings(figures.steps)
    )
    columns = "step steps=times completed failed mean_completed_ms=mean failure_rate=rate"
    yield _make_table(t, "steps", columns, endings, "state")
    states = sorted(
        figures.states,
        key=lambda record: (-(record.refusal_rate or 0), -record.again, record.workflow, record.step),
    )
    rows = (
        (
            *(record.workflow, record.step, record.opened, record.reached),
            *(record.again, record.accepted, record.refused, record.refusal_rate),
        )
        for record in states
    )
    columns = "workflow step opened=times reached again accepted refused refusal_rate=rate"
    yield _make_table(t, "states", columns, rows, "state")


def _build_telemetry_tables(
    t: MessageCatalog, figures: Figures, meanings: Mapping[str, str]
) -> Iterator[Table]:
    """Yield the tables of entries per hour and per kind, of step tokens, and of refusal codes."""
    hours = ((hour, *counts) for hour, counts in count_by_hour(figures.hours).items())
    yield _make_table(t, "hours", "hour entries=times errors=refused", hours, "entry")
    kinds = ((str(record.kind), record.entries) for record in figures.kinds)
    yield _make_table(t, "kinds", "kind entries=times", kinds, "entry")
    tokens = count_tokens(figures.tokens)
    row = (tokens.generated, tokens.validated, tokens.expired, tokens.expiry_rate)
    yield _make_table(t, "tokens", "generated validated expired expiry_rate=rate", (row,), "any")
    errors = ((record.code, record.entries, meanings.get(record.code, "")) for record in figures.errors)
    yield _make_table(t, "errors", "code entries=times meaning", errors, "any")


def _build_activity_tables(t: MessageCatalog, figures: Figures) -> Iterator[Table]:
    """Yield the tables of started runs, and of where and when runs are abandoned."""
    yield _make_table(t, "days", "day runs", count_by_day(figures.days).items(), "started")
    starts = ((record.day, record.workflow, record.runs) for record in figures.days)
    yield _make_table(t, "starts", "day workflow runs", starts, "started")
    times = {
        record.workflow: record.times
        for record in figures.run_times
        if record.lifecycle is Lifecycle.ABANDONED
    }
    endings = compute_run_endings(figures.runs)
    abandoned = (
        (
            *(record.workflow, record.abandoned, record.abandonment_rate, record.mean_abandoned_ms),
            times.get(record.workflow, _NO_TIMES).percentile(50),
        )
        for record in sorted(endings, key=lambda record: (-record.abandoned, record.workflow))
        if record.abandoned
    )
    columns = "workflow abandoned abandonment_rate=rate mean_ms=mean_until p50_ms=half_until"
    yield _make_table(t, "abandonment", columns, abandoned, "abandoned")
    stages = (
        (record.workflow, record.step, record.reached, record.abandoned, record.leaving_rate)
        for stages in build_funnels(figures.states).values()
        for record in stages
    )
    columns = "workflow step reached abandoned leaving_rate=rate"
    yield _make_table(t, "funnel", columns, stages, "abandoned")
    spans = _count_abandoned_by_span(figures)
    leaving = ((t(f"insights.spans.{start}"), start, runs) for start, runs in spans.items())
    yield _make_table(t, "leaving", "span from_ms=from runs", leaving, "abandoned")


def _count_abandoned_by_span(figures: Figures) -> dict[int, int]:
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


# --- hours, days and months of charts -----------------------------------------------------------------------


# A longer window is drawn only from its first event on.
_MAX_WHOLE_WINDOW: Final = timedelta(days=62)
# Older events are not drawn.
_MAX_WINDOW: Final = timedelta(days=3660)
# With more hours than this, days are drawn instead.
_MAX_HOURS_SHOWN: Final = 73
# With more days than this, months are drawn instead.
_MAX_DAYS_SHOWN: Final = 400
# The most labels below a chart.
_MAX_SLOT_LABELS: Final = 11
# The round distances between labels of hours, days and months, by the length of their names.
_WORD_STEPS: Final = {0: (1,), 13: (1, 3, 6, 12), 10: (1, 2, 7, 14, 28, 56), 7: (1, 2, 3, 6, 12)}


def list_hours(since: datetime, until: datetime, first: str) -> list[str]:
    """List the hours of a window as `YYYY-MM-DD HH`. `first` is the first hour with an event."""
    return _list_slot_names((since, until), first, timedelta(hours=1), 13)


def list_days(since: datetime, until: datetime, first: str) -> list[str]:
    """List the days of a window as `YYYY-MM-DD`. `first` is the first day with an event."""
    return _list_slot_names((since, until), first, timedelta(days=1), 10)


def coarsen_names(names: Sequence[str]) -> list[str]:
    """Return the hours if there are few, else their days, else their months: each once, in order."""
    for letters, most in ((13, _MAX_HOURS_SHOWN), (10, _MAX_DAYS_SHOWN)):
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
    steps = _WORD_STEPS[letters]
    step = next((step for step in steps if len(names) <= step * _MAX_SLOT_LABELS), steps[-1])
    slots = []
    for index, name in enumerate(names):
        # The number that decides on labels: hour of day, month of year, or days until the last.
        match letters:
            case 13:
                position = int(name[11:])
            case 7:
                position = int(name[5:]) - 1
            case _:
                position = len(names) - 1 - index
        word = "" if position % step else _format_slot_word(t, name)
        slots.append(Slot(f"{name}:00" if letters == 13 else name, word))
    return tuple(slots)


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
    moment, until = window
    if until - moment > _MAX_WHOLE_WINDOW:
        try:
            begin = datetime.fromisoformat(first).replace(tzinfo=until.tzinfo)
        except ValueError:
            # The store may have an invalid hour or day.
            begin = until
        moment = max(begin, until - _MAX_WINDOW)
    last, names = until.isoformat(" ")[:letters], []
    while moment.isoformat(" ")[:letters] <= last:
        names.append(moment.isoformat(" ")[:letters])
        moment += unit
    return names


# --- boards -------------------------------------------------------------------------------------------------


# The most funnels that are drawn. The table has all workflows.
_MAX_FUNNELS: Final = 4

# The look of each lifecycle, in the order of the bars.
_LIFECYCLE_LOOKS: Final = {
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
    """One part of a board: a table, and the charts that are drawn from it, as SVG."""

    table: Table
    charts: tuple[str, ...]


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
    tables = build_tables(t, figures, meanings)
    panels = {
        "workflows": _draw_workflows(t, figures),
        "steps": _draw_steps(t, figures),
        "telemetry": _draw_telemetry(t, figures),
        "activity": _draw_activity(t, figures),
    }
    return tuple(
        Board(
            name,
            t(f"insights.boards.{name}"),
            tuple(Panel(tables[table], tuple(charts)) for table, charts in drawn.items()),
        )
        for name, drawn in panels.items()
    )


def _draw_workflows(t: MessageCatalog, figures: Figures) -> dict[str, list[str]]:
    """Draw the charts of runs: their lifecycles, how they end, and how long they take."""
    lifecycles = [
        Bar(str(each), runs, _LIFECYCLE_LOOKS[each])
        for each, runs in count_by_lifecycle(figures.runs).items()
    ]
    endings = compute_run_endings(figures.runs)
    counts = Counter({(record.workflow, record.lifecycle): record.runs for record in figures.runs})
    stacks = tuple(
        Stack(record.workflow, tuple(counts[record.workflow, each] for each in _LIFECYCLE_LOOKS))
        for record in endings
    )
    keys = tuple(LegendKey(str(lifecycle), look) for lifecycle, look in _LIFECYCLE_LOOKS.items())
    ended = StackedChart(t("insights.charts.ended"), keys, stacks, t("insights.none.run"))
    means = {record.workflow: record.mean_completed_ms for record in endings}
    times = [
        _make_time_bar(record.workflow, record.times, means.get(record.workflow))
        for record in figures.run_times
        if record.lifecycle is Lifecycle.COMPLETED
    ]
    return {
        "lifecycles": [_draw_bars(t, "charts.lifecycles", Unit.COUNT, lifecycles, "run")],
        "workflows": [draw_stacked_chart(t, ended), _draw_time_bars(t, "runs", times, "completed")],
    }


def _draw_steps(t: MessageCatalog, figures: Figures) -> dict[str, list[str]]:
    """Draw the charts of steps: durations, failures, refusals and repetitions."""
    means = {(record.step, record.agent): record.mean_ms for record in compute_step_timings(figures.steps)}
    times = [
        _make_time_bar(
            f"{record.step}, {record.agent}" if record.agent else record.step,
            record.times,
            means.get((record.step, record.agent)),
        )
        for record in figures.step_times
    ]
    failing = [
        Bar(record.step, record.failure_rate, BAD)
        for record in compute_step_endings(figures.steps)
        if record.failed
    ]
    states = sorted(figures.states, key=lambda record: (record.workflow, record.step))
    names = {
        (record.workflow, record.step): f"{record.step or t('insights.words.several')} · {record.workflow}"
        for record in states
    }
    refused = [
        Bar(names[record.workflow, record.step], record.refusal_rate or 0, WARN)
        for record in sorted(states, key=lambda record: -(record.refusal_rate or 0))
        if record.refused
    ]
    again = [
        Bar(names[record.workflow, record.step], record.again, "s4")
        for record in sorted(states, key=lambda record: -record.again)
        if record.again
    ]
    return {
        "times": [_draw_time_bars(t, "steps", times, "step")],
        "steps": [_draw_bars(t, "charts.failing", Unit.PERCENT, failing, "failed")],
        "states": [
            _draw_bars(t, "charts.refused", Unit.PERCENT, refused, "refused"),
            _draw_bars(t, "charts.again", Unit.COUNT, again, "round"),
        ],
    }


def _draw_telemetry(t: MessageCatalog, figures: Figures) -> dict[str, list[str]]:
    """Draw the charts of the journal: entries by hour and kind, step tokens, and refused calls."""
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
    slots = build_slots(t, names)
    hours = SeriesChart(t("insights.charts.hours"), slots, series, t("insights.none.entry"))
    kinds = [
        Bar(str(record.kind), record.entries, WARN if record.kind is EntryKind.ERROR_OCCURRED else "s1")
        for record in figures.kinds
    ]
    tokens = count_tokens(figures.tokens)
    words = (
        ("generated", tokens.generated, "s1"),
        ("validated", tokens.validated, GOOD),
        ("expired", tokens.expired, WARN),
    )
    counted = words if tokens.expiry_rate is not None else ()
    token_bars = [Bar(t(f"insights.heads.{word}"), count, look) for word, count, look in counted]
    codes = [
        Bar(record.code or t("insights.words.no_code"), record.entries, WARN) for record in figures.errors
    ]
    return {
        "hours": [draw_line_chart(t, hours)],
        "kinds": [_draw_bars(t, "tables.kinds", Unit.COUNT, kinds, "entry")],
        "tokens": [_draw_bars(t, "tables.tokens", Unit.COUNT, token_bars, "token")],
        "errors": [_draw_bars(t, "charts.codes", Unit.COUNT, codes, "refused")],
    }


def _draw_activity(t: MessageCatalog, figures: Figures) -> dict[str, list[str]]:
    """Draw the charts of started runs, and of where and when runs are abandoned."""
    none = t("insights.none.abandoned")
    endings = compute_run_endings(figures.runs)
    rates = [
        Bar(record.workflow, record.abandonment_rate, WARN)
        for record in sorted(endings, key=lambda record: (-record.abandonment_rate, record.workflow))
        if record.abandoned
    ]
    words = (t("insights.words.went_on"), t("insights.words.abandoned"))
    funnels = [
        FunnelChart(
            t("insights.charts.funnel", workflow=name),
            tuple(Stage(record.step, record.reached, record.abandoned) for record in steps),
            words,
            none,
        )
        for name, steps in list(build_funnels(figures.states).items())[:_MAX_FUNNELS]
    ]
    funnels = funnels or [FunnelChart(t("insights.tables.funnel"), (), words, none)]
    spans = _count_abandoned_by_span(figures)
    titles = [t(f"insights.spans.{start}") for start in spans]
    spread = SeriesChart(
        t("insights.tables.leaving"),
        tuple(Slot(title, title) for title in titles),
        (Series(t("insights.heads.runs"), WARN, tuple(spans.values())),),
        none,
    )
    return {
        "days": [_draw_days(t, figures)],
        "starts": [],
        "abandonment": [_draw_bars(t, "tables.abandonment", Unit.PERCENT, rates, "abandoned")],
        "funnel": [draw_funnel_chart(t, funnel) for funnel in funnels],
        "leaving": [draw_column_chart(t, spread)],
    }


def _draw_days(t: MessageCatalog, figures: Figures) -> str:
    """Draw a column per day with the most started workflows, and the others as one series."""
    by_workflow: dict[str, Counter[str]] = {}
    for record in figures.days:
        by_workflow.setdefault(record.workflow, Counter())[record.day] += record.runs
    ranked = sorted(by_workflow, key=lambda name: (-by_workflow[name].total(), name))
    most = len(SERIES_CLASSES) - 1
    first = next(iter(count_by_day(figures.days)), "")
    names = coarsen_names(list_days(figures.days_since, figures.at, first))
    series = [
        Series(name, look, sum_counts(by_workflow[name], names))
        for name, look in zip(ranked[:most], SERIES_CLASSES, strict=False)
    ]
    if len(ranked) > most:
        others = sum((by_workflow[name] for name in ranked[most:]), Counter[str]())
        series.append(Series(t("insights.words.others"), SERIES_CLASSES[-1], sum_counts(others, names)))
    none, slots = t("insights.none.started"), build_slots(t, names)
    return draw_column_chart(t, SeriesChart(t("insights.charts.days"), slots, tuple(series), none))


def _draw_bars(t: MessageCatalog, title: str, unit: Unit, bars: Sequence[Bar], empty: str) -> str:
    title, none = t(f"insights.{title}"), t(f"insights.none.{empty}")
    return draw_bar_chart(t, BarChart(title, unit, tuple(bars), none))


def _draw_time_bars(t: MessageCatalog, name: str, bars: Iterable[Bar], empty: str) -> str:
    ordered = tuple(sorted(bars, key=lambda bar: (-bar.value, bar.name)))
    words = (t("insights.words.half"), t("insights.words.most"), t("insights.words.mean"))
    title, none = t(f"insights.times.{name}"), t(f"insights.none.{empty}")
    return draw_bar_chart(t, BarChart(title, Unit.MILLISECONDS, ordered, none, words))


def _make_time_bar(name: str, times: DurationHistogram, mean: float | None) -> Bar:
    return Bar(name, times.percentile(50) or 0, "s1", times.percentile(95), mean)
