"""Boards: one function for each dashboard, from what was measured to panels of charts and tables."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from handrail.engine.model import Lifecycle
from handrail.telemetry.boards import tabled
from handrail.telemetry.boards.calendar import days_of, fitting, hours_of, slots, summed
from handrail.telemetry.boards.figures import Figures
from handrail.telemetry.charts.bars import Bar, Bars, bars
from handrail.telemetry.charts.frame import Key
from handrail.telemetry.charts.funnel import Funnel, Stage, funnel
from handrail.telemetry.charts.series import Row, Series, Slot, columns, lines
from handrail.telemetry.charts.stacked import Stack, Stacked, stacked
from handrail.telemetry.charts.style import BAD, GOOD, QUIET, SERIES, WARN
from handrail.telemetry.entries import EntryKind
from handrail.telemetry.measures import (
    StateMeasured,
    by_hour,
    endings,
    funnels,
    lifecycles,
    step_endings,
    timed,
)
from handrail.telemetry.measures import tokens as tokens_of
from handrail.telemetry.spread import Spread
from handrail.telemetry.tables import Table, objects
from handrail.telemetry.units import Cell, Unit

FUNNELS: Final = 4
"""How many workflows have a funnel drawn; the table has all."""

OTHERS: Final = "others"

LOOKS: Final = {
    Lifecycle.COMPLETED: GOOD,
    Lifecycle.FAILED: BAD,
    Lifecycle.ABANDONED: WARN,
    Lifecycle.DIVERGED: "s4",
    Lifecycle.RUNNING: "s1",
    Lifecycle.PAUSED: "s2",
    Lifecycle.IDLE: QUIET,
}
"""The look of each lifecycle, in the order in which bars show them."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One thing that a dashboard shows: charts as SVG, and the numbers they are drawn from."""

    title: str
    charts: tuple[str, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard."""

    name: str
    title: str
    panels: tuple[Panel, ...]

    @property
    def tables(self) -> dict[str, Table]:
        """Its tables by name."""
        return {panel.table.name: panel.table for panel in self.panels}

    def data(self) -> dict[str, list[dict[str, Cell]]]:
        """Its numbers as JSON has them, by the names of the tables."""
        return {name: objects(table) for name, table in self.tables.items()}


def boards(figures: Figures, meanings: Mapping[str, str]) -> tuple[Board, ...]:
    """The four dashboards; `meanings` says what the codes of refusals mean."""
    return (
        workflow_performance(figures),
        step_performance(figures),
        telemetry(figures, meanings),
        user_activity(figures),
    )


# --- workflow performance -----------------------------------------------------------------------------------


def workflow_performance(figures: Figures) -> Board:
    """How many runs stand where, how they end, and how long they take."""
    standing, ends = tabled.lifecycles_table(figures), tabled.workflows_table(figures)
    panels = (
        Panel(standing.title, (_counted(figures),), standing),
        Panel(ends.title, (_ended(figures), _run_times(figures)), ends),
    )
    return Board("workflows", "Workflow performance", panels)


def _counted(figures: Figures) -> str:
    shown = tuple(Bar(str(each), runs, LOOKS[each]) for each, runs in lifecycles(figures.runs).items())
    return bars(Bars("Runs by lifecycle", Unit.COUNT, shown, tabled.NO_RUN))


def _ended(figures: Figures) -> str:
    counts = Counter({(one.workflow, one.lifecycle): one.runs for one in figures.runs})
    stacks = tuple(
        Stack(one.workflow, tuple(counts[one.workflow, each] for each in LOOKS))
        for one in endings(figures.runs)
    )
    keys = tuple(Key(str(lifecycle), look) for lifecycle, look in LOOKS.items())
    return stacked(Stacked("How the runs of each workflow stand", keys, stacks, tabled.NO_RUN))


def _run_times(figures: Figures) -> str:
    means = {one.workflow: one.mean_completed_ms for one in endings(figures.runs)}
    done = [one for one in figures.run_times if one.lifecycle is Lifecycle.COMPLETED]
    shown = [_timed(one.workflow, one.times, means.get(one.workflow)) for one in done]
    return _time_bars("How long completed runs take", shown, "no run was completed yet")


# --- step performance ---------------------------------------------------------------------------------------


def step_performance(figures: Figures) -> Board:
    """How long steps take, which fail, which are refused, and which are begun again."""
    times, ends, states = (
        make(figures) for make in (tabled.times_table, tabled.steps_table, tabled.states_table)
    )
    failing = tuple(Bar(one.step, one.failure_rate, BAD) for one in step_endings(figures.steps) if one.failed)
    panels = (
        Panel(times.title, (_step_times(figures),), times),
        Panel(ends.title, (bars(Bars("Steps that fail", Unit.PERCENT, failing, "no step failed")),), ends),
        Panel(states.title, (_refused(figures), _again(figures)), states),
    )
    return Board("steps", "Step performance", panels)


def _step_times(figures: Figures) -> str:
    means = {(one.step, one.agent): one.mean_ms for one in timed(figures.steps)}
    shown = [
        _timed(_by(one.step, one.agent), one.times, means.get((one.step, one.agent)))
        for one in figures.step_times
    ]
    return _time_bars("How long completed steps take", shown, tabled.NO_STEP)


def _refused(figures: Figures) -> str:
    found = [(one.refusal_rate, one) for one in figures.states if one.refused]
    ordered = sorted(found, key=lambda pair: (-(pair[0] or 0), pair[1].workflow, pair[1].step))
    shown = tuple(Bar(_state(one), rate or 0, WARN) for rate, one in ordered)
    return bars(Bars("Calls that are refused", Unit.PERCENT, shown, "no call was refused"))


def _again(figures: Figures) -> str:
    found = sorted(figures.states, key=lambda one: (-one.again, one.workflow, one.step))
    shown = tuple(Bar(_state(one), one.again, "s4") for one in found if one.again)
    return bars(Bars("Steps begun again by the same run", Unit.COUNT, shown, "no run went round"))


# --- telemetry ----------------------------------------------------------------------------------------------


def telemetry(figures: Figures, meanings: Mapping[str, str]) -> Board:
    """What the journal tells: entries over time and by kind, step tokens, and refused calls."""
    hours, kinds = tabled.hours_table(figures), tabled.kinds_table(figures)
    tokens, errors = tabled.tokens_table(figures), tabled.errors_table(figures, meanings)
    counted = tuple(
        Bar(str(one.kind), one.entries, WARN if one.kind is EntryKind.ERROR_OCCURRED else "s1")
        for one in figures.kinds
    )
    refused = tuple(Bar(one.code or "(no code)", one.entries, WARN) for one in figures.errors)
    panels = (
        Panel(hours.title, (_hours(figures, hours),), hours),
        Panel(kinds.title, (bars(Bars("Entries by kind", Unit.COUNT, counted, kinds.empty)),), kinds),
        Panel(tokens.title, (_tokens(figures),), tokens),
        Panel(
            errors.title,
            (bars(Bars("Refused calls by code", Unit.COUNT, refused, "no call was refused")),),
            errors,
        ),
    )
    return Board("telemetry", "Telemetry", panels)


def _hours(figures: Figures, hours: Table) -> str:
    found = by_hour(figures.hours)
    names = fitting(hours_of(figures.kinds_since, figures.at, next(iter(found), "")))
    series = tuple(
        Series(word, look, summed({hour: counts[at] for hour, counts in found.items()}, names))
        for at, (word, look) in enumerate((("entries", "s1"), ("refused", WARN)))
    )
    return lines(Row("Entries over time", slots(names), series, hours.empty))


def _tokens(figures: Figures) -> str:
    found = tokens_of(figures.tokens)
    words = (
        ("issued", found.generated, "s1"),
        ("found good", found.validated, GOOD),
        ("expired", found.expired, WARN),
    )
    shown = tuple(Bar(*each) for each in words) if found.expiry_rate is not None else ()
    return bars(Bars("Step tokens", Unit.COUNT, shown, "no step token was issued"))


# --- user activity ------------------------------------------------------------------------------------------


def user_activity(figures: Figures) -> Board:
    """How many runs are started, and where and after how long they are abandoned."""
    days, starts, left = (
        make(figures) for make in (tabled.days_table, tabled.starts_table, tabled.abandonment_table)
    )
    stages, leaving = tabled.funnel_table(figures), tabled.leaving_table(figures)
    spans = tabled.leaving(figures)
    spread = Row(
        leaving.title,
        tuple(Slot(tabled.SPANS[start], tabled.SPANS[start]) for start in spans),
        (Series("runs", WARN, tuple(spans.values())),),
        leaving.empty,
    )
    ordered = sorted(endings(figures.runs), key=lambda one: (-one.abandonment_rate, one.workflow))
    rates = tuple(Bar(one.workflow, one.abandonment_rate, WARN) for one in ordered if one.abandoned)
    panels = (
        Panel(days.title, (_days(figures, days),), days),
        Panel(starts.title, (), starts),
        Panel(left.title, (bars(Bars("Runs abandoned", Unit.PERCENT, rates, left.empty)),), left),
        Panel(stages.title, _funnels(figures, stages), stages),
        Panel(leaving.title, (columns(spread),), leaving),
    )
    return Board("activity", "User activity", panels)


def _days(figures: Figures, days: Table) -> str:
    """Columns by day, in each the workflows that were started most, and the others together."""
    every = Counter[str]()
    by: dict[str, Counter[str]] = {}
    for one in figures.days:
        every[one.workflow] += one.runs
        by.setdefault(one.workflow, Counter())[one.day] += one.runs
    ranked = sorted(every, key=lambda name: (-every[name], name))
    few = len(SERIES) - 1
    named, others = (ranked, []) if len(ranked) <= few else (ranked[:few], ranked[few:])
    first = str(days.rows[0][0]) if days.rows else ""
    names = fitting(days_of(figures.days_since, figures.at, first))
    series = [Series(name, look, summed(by[name], names)) for name, look in zip(named, SERIES, strict=False)]
    if others:
        rest = sum((by[name] for name in others), Counter[str]())
        series.append(Series(OTHERS, SERIES[-1], summed(rest, names)))
    return columns(Row("Runs started by day", slots(names), tuple(series), days.empty))


def _funnels(figures: Figures, stages: Table) -> tuple[str, ...]:
    words = ("went on or is under way", "abandoned there")
    found = list(funnels(figures.states).items())[:FUNNELS]
    if not found:
        return (funnel(Funnel(stages.title, (), words, stages.empty)),)
    return tuple(
        funnel(
            Funnel(
                f"Where runs of {name} are abandoned",
                tuple(Stage(one.step, one.reached, one.abandoned) for one in by),
                words,
                stages.empty,
            )
        )
        for name, by in found
    )


# --- what they share ----------------------------------------------------------------------------------------


def _time_bars(title: str, shown: list[Bar], empty: str) -> str:
    ordered = tuple(sorted(shown, key=lambda bar: (-bar.value, bar.name)))
    words = ("half within", "95 of 100 within", "mean")
    return bars(Bars(title, Unit.MILLISECONDS, ordered, empty, words))


def _timed(name: str, times: Spread, mean: float | None) -> Bar:
    return Bar(name, times.quantile(50) or 0, "s1", times.quantile(95), mean)


def _state(one: StateMeasured) -> str:
    return f"{one.step or '(several)'} · {one.workflow}"


def _by(step: str, agent: str) -> str:
    return f"{step}, {agent}" if agent else step
