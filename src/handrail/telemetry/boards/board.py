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
from handrail.workflows.catalogue import Catalogue

FUNNELS: Final = 4
"""How many workflows have a funnel drawn; the table has all."""

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


def boards(t: Catalogue, figures: Figures, meanings: Mapping[str, str]) -> tuple[Board, ...]:
    """The four dashboards; `meanings` says what the codes of refusals mean."""
    return (
        workflow_performance(t, figures),
        step_performance(t, figures),
        telemetry(t, figures, meanings),
        user_activity(t, figures),
    )


# --- workflow performance -----------------------------------------------------------------------------------


def workflow_performance(t: Catalogue, figures: Figures) -> Board:
    """How many runs stand where, how they end, and how long they take."""
    standing, ends = tabled.lifecycles_table(t, figures), tabled.workflows_table(t, figures)
    panels = (
        Panel(standing.title, (_counted(t, figures),), standing),
        Panel(ends.title, (_ended(t, figures), _run_times(t, figures)), ends),
    )
    return _board(t, "workflows", panels)


def _counted(t: Catalogue, figures: Figures) -> str:
    shown = tuple(Bar(str(each), runs, LOOKS[each]) for each, runs in lifecycles(figures.runs).items())
    return bars(t, Bars(t("insights.charts.lifecycles"), Unit.COUNT, shown, t("insights.none.run")))


def _ended(t: Catalogue, figures: Figures) -> str:
    counts = Counter({(one.workflow, one.lifecycle): one.runs for one in figures.runs})
    stacks = tuple(
        Stack(one.workflow, tuple(counts[one.workflow, each] for each in LOOKS))
        for one in endings(figures.runs)
    )
    keys = tuple(Key(str(lifecycle), look) for lifecycle, look in LOOKS.items())
    return stacked(t, Stacked(t("insights.charts.ended"), keys, stacks, t("insights.none.run")))


def _run_times(t: Catalogue, figures: Figures) -> str:
    means = {one.workflow: one.mean_completed_ms for one in endings(figures.runs)}
    done = [one for one in figures.run_times if one.lifecycle is Lifecycle.COMPLETED]
    shown = [_timed(one.workflow, one.times, means.get(one.workflow)) for one in done]
    return _time_bars(t, "runs", shown, "completed")


# --- step performance ---------------------------------------------------------------------------------------


def step_performance(t: Catalogue, figures: Figures) -> Board:
    """How long steps take, which fail, which are refused, and which are begun again."""
    times, ends, states = (
        make(t, figures) for make in (tabled.times_table, tabled.steps_table, tabled.states_table)
    )
    failing = tuple(Bar(one.step, one.failure_rate, BAD) for one in step_endings(figures.steps) if one.failed)
    panels = (
        Panel(times.title, (_step_times(t, figures),), times),
        Panel(
            ends.title,
            (bars(t, Bars(t("insights.charts.failing"), Unit.PERCENT, failing, t("insights.none.failed"))),),
            ends,
        ),
        Panel(states.title, (_refused(t, figures), _again(t, figures)), states),
    )
    return _board(t, "steps", panels)


def _step_times(t: Catalogue, figures: Figures) -> str:
    means = {(one.step, one.agent): one.mean_ms for one in timed(figures.steps)}
    shown = [
        _timed(_by(one.step, one.agent), one.times, means.get((one.step, one.agent)))
        for one in figures.step_times
    ]
    return _time_bars(t, "steps", shown, "step")


def _refused(t: Catalogue, figures: Figures) -> str:
    found = [(one.refusal_rate, one) for one in figures.states if one.refused]
    ordered = sorted(found, key=lambda pair: (-(pair[0] or 0), pair[1].workflow, pair[1].step))
    shown = tuple(Bar(_state(t, one), rate or 0, WARN) for rate, one in ordered)
    return bars(t, Bars(t("insights.charts.refused"), Unit.PERCENT, shown, t("insights.none.refused")))


def _again(t: Catalogue, figures: Figures) -> str:
    found = sorted(figures.states, key=lambda one: (-one.again, one.workflow, one.step))
    shown = tuple(Bar(_state(t, one), one.again, "s4") for one in found if one.again)
    return bars(t, Bars(t("insights.charts.again"), Unit.COUNT, shown, t("insights.none.round")))


# --- telemetry ----------------------------------------------------------------------------------------------


def telemetry(t: Catalogue, figures: Figures, meanings: Mapping[str, str]) -> Board:
    """What the journal tells: entries over time and by kind, step tokens, and refused calls."""
    hours, kinds = tabled.hours_table(t, figures), tabled.kinds_table(t, figures)
    tokens, errors = tabled.tokens_table(t, figures), tabled.errors_table(t, figures, meanings)
    counted = tuple(
        Bar(str(one.kind), one.entries, WARN if one.kind is EntryKind.ERROR_OCCURRED else "s1")
        for one in figures.kinds
    )
    refused = tuple(Bar(one.code or t("insights.words.no_code"), one.entries, WARN) for one in figures.errors)
    panels = (
        Panel(hours.title, (_hours(t, figures, hours),), hours),
        Panel(kinds.title, (bars(t, Bars(kinds.title, Unit.COUNT, counted, kinds.empty)),), kinds),
        Panel(tokens.title, (_tokens(t, figures),), tokens),
        Panel(
            errors.title,
            (bars(t, Bars(t("insights.charts.codes"), Unit.COUNT, refused, t("insights.none.refused"))),),
            errors,
        ),
    )
    return _board(t, "telemetry", panels)


def _hours(t: Catalogue, figures: Figures, hours: Table) -> str:
    found = by_hour(figures.hours)
    names = fitting(hours_of(figures.kinds_since, figures.at, next(iter(found), "")))
    series = tuple(
        Series(
            t(f"insights.words.{word}"),
            look,
            summed({hour: counts[at] for hour, counts in found.items()}, names),
        )
        for at, (word, look) in enumerate((("entries", "s1"), ("refused", WARN)))
    )
    return lines(t, Row(t("insights.charts.hours"), slots(t, names), series, hours.empty))


def _tokens(t: Catalogue, figures: Figures) -> str:
    found = tokens_of(figures.tokens)
    words = (
        ("generated", found.generated, "s1"),
        ("validated", found.validated, GOOD),
        ("expired", found.expired, WARN),
    )
    named = tuple(Bar(t(f"insights.heads.{word}"), count, look) for word, count, look in words)
    shown = named if found.expiry_rate is not None else ()
    return bars(t, Bars(t("insights.tables.tokens"), Unit.COUNT, shown, t("insights.none.token")))


# --- user activity ------------------------------------------------------------------------------------------


def user_activity(t: Catalogue, figures: Figures) -> Board:
    """How many runs are started, and where and after how long they are abandoned."""
    days, starts, left = (
        make(t, figures) for make in (tabled.days_table, tabled.starts_table, tabled.abandonment_table)
    )
    stages, leaving = tabled.funnel_table(t, figures), tabled.leaving_table(t, figures)
    spans = tabled.leaving(figures)
    spread = Row(
        leaving.title,
        tuple(Slot(tabled.span(t, start), tabled.span(t, start)) for start in spans),
        (Series(t("insights.heads.runs"), WARN, tuple(spans.values())),),
        leaving.empty,
    )
    ordered = sorted(endings(figures.runs), key=lambda one: (-one.abandonment_rate, one.workflow))
    rates = tuple(Bar(one.workflow, one.abandonment_rate, WARN) for one in ordered if one.abandoned)
    panels = (
        Panel(days.title, (_days(t, figures, days),), days),
        Panel(starts.title, (), starts),
        Panel(left.title, (bars(t, Bars(left.title, Unit.PERCENT, rates, left.empty)),), left),
        Panel(stages.title, _funnels(t, figures, stages), stages),
        Panel(leaving.title, (columns(t, spread),), leaving),
    )
    return _board(t, "activity", panels)


def _days(t: Catalogue, figures: Figures, days: Table) -> str:
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
        series.append(Series(t("insights.words.others"), SERIES[-1], summed(rest, names)))
    return columns(t, Row(t("insights.charts.days"), slots(t, names), tuple(series), days.empty))


def _funnels(t: Catalogue, figures: Figures, stages: Table) -> tuple[str, ...]:
    words = (t("insights.words.went_on"), t("insights.words.abandoned"))
    found = list(funnels(figures.states).items())[:FUNNELS]
    if not found:
        return (funnel(t, Funnel(stages.title, (), words, stages.empty)),)
    return tuple(
        funnel(
            t,
            Funnel(
                t("insights.charts.funnel", workflow=name),
                tuple(Stage(one.step, one.reached, one.abandoned) for one in by),
                words,
                stages.empty,
            ),
        )
        for name, by in found
    )


# --- what they share ----------------------------------------------------------------------------------------


def _board(t: Catalogue, name: str, panels: tuple[Panel, ...]) -> Board:
    return Board(name, t(f"insights.boards.{name}"), panels)


def _time_bars(t: Catalogue, name: str, shown: list[Bar], empty: str) -> str:
    ordered = tuple(sorted(shown, key=lambda bar: (-bar.value, bar.name)))
    half, most, mean = (t(f"insights.words.{word}") for word in ("half", "most", "mean"))
    return bars(
        t,
        Bars(
            t(f"insights.times.{name}"),
            Unit.MILLISECONDS,
            ordered,
            t(f"insights.none.{empty}"),
            (half, most, mean),
        ),
    )


def _timed(name: str, times: Spread, mean: float | None) -> Bar:
    return Bar(name, times.quantile(50) or 0, "s1", times.quantile(95), mean)


def _state(t: Catalogue, one: StateMeasured) -> str:
    return f"{one.step or t('insights.words.several')} · {one.workflow}"


def _by(step: str, agent: str) -> str:
    return f"{step}, {agent}" if agent else step
