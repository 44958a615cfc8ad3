"""`handrail stats`: how runs go, in numbers. The four dashboards that the source of the steps names."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

import click

from handrail.faces.board.texts import catalogue
from handrail.faces.cli.output import as_json, one_line, print_json, print_text
from handrail.faces.cli.stored import Moment, at_store, opened
from handrail.faces.cli.told import MEANINGS
from handrail.shell.insights import measured
from handrail.shell.records import rfc3339
from handrail.shell.system import SystemClock
from handrail.telemetry.boards.figures import Figures
from handrail.telemetry.boards.tabled import NAMES, tables
from handrail.telemetry.tables import Table, csv, narrowed, objects
from handrail.telemetry.units import NOTHING, Unit, shown

MOST: Final = 10
"""How many rows of a table people are shown; `--json` has all."""

_WORKFLOWS: Final = (
    *("workflow", "runs", "completion_rate", "mean_completed_ms"),
    *("p50_completed_ms", "p95_completed_ms", "abandonment_rate"),
)
"""What people are shown of workflows."""

_Tables = Mapping[str, Table]


@click.command()
@click.option(
    "--since",
    type=Moment(),
    help="Entries, tokens, refusals and started runs from this time on, or from this long ago.",
)
@click.option(
    "--csv",
    "wanted",
    type=click.Choice(NAMES),
    metavar="TABLE",
    help=f"Print one table as CSV: {', '.join(NAMES[:-1])} or {NAMES[-1]}.",
)
@at_store
@as_json
def stats(since: datetime | None, wanted: str | None, store: str | None, *, as_json: bool) -> None:
    """Print how runs go: by workflow, by step, what the journal tells, how many are started and abandoned.

    Runs and steps are counted over all time. Without `--since`, entries are those of the last 24 hours,
    started runs those of the last 7 days, tokens and refusals those of all time. Days are in UTC. What half
    or 95 % stay within is exact in its first two digits; means are exact.
    """
    if wanted and as_json:
        raise click.UsageError("--csv and --json are two forms of the same numbers: name one of them")
    with opened(store) as found:
        figures = measured(found.measures, SystemClock().now(), since)
    every = tables(catalogue(), figures, MEANINGS)
    if wanted:
        print_text(csv(every[wanted]))
    elif as_json:
        print_json(_data(figures, every))
    else:
        click.echo("\n".join(map(one_line, _lines(figures, every))))


# --- for people ---------------------------------------------------------------------------------------------


def _lines(figures: Figures, every: _Tables) -> Iterator[str]:
    yield "Workflow performance"
    yield from _table(every["lifecycles"])
    if every["workflows"].rows:
        yield ""
        yield from _table(narrowed(every["workflows"], *_WORKFLOWS))
    yield from ("", "Step performance")
    yield from _steps(every)
    yield from ("", f"Telemetry since {rfc3339(figures.kinds_since)}")
    yield from _table(every["kinds"])
    when = f"since {rfc3339(figures.since)}" if figures.since else "of all time"
    for name in ("tokens", "errors"):
        yield from ("", f"{every[name].title} {when}")
        yield from _table(every[name])
    yield from ("", f"Runs started since {rfc3339(figures.days_since)}")
    yield from _table(every["days"])
    yield from ("", "Runs abandoned")
    yield from _abandoned(every)


def _steps(every: _Tables) -> Iterator[str]:
    times, states = every["times"], every["states"]
    yield from _table(times)
    if not states.rows:
        return
    failing = narrowed(every["steps"], "step", "steps", "failed", "failure_rate", having="failed")
    again = narrowed(states, "workflow", "step", "opened", "again", having="again")
    refused = narrowed(states, "workflow", "step", "accepted", "refused", "refusal_rate", having="refused")
    for table, empty in (
        (failing, "no step failed"),
        (again, "no run went round"),
        (refused, "no call was refused"),
    ):
        yield ""
        yield from _table(table) if table.rows else (f"  {empty}",)


def _abandoned(every: _Tables) -> Iterator[str]:
    yield from _table(every["abandonment"])
    left = narrowed(
        every["funnel"], *("workflow", "step", "reached", "abandoned", "leaving_rate"), having="abandoned"
    )
    if left.rows:
        yield ""
        yield from _table(left)


def _table(table: Table) -> Iterator[str]:
    """The first rows under their heads; words begin at one column, and numbers end at one."""
    if not table.rows:
        yield f"  {table.empty}"
        return
    units = [column.unit for column in table.columns]
    rows = [
        [shown(cell, unit) or NOTHING for cell, unit in zip(row, units, strict=True)]
        for row in table.rows[:MOST]
    ]
    lines = [[column.head for column in table.columns], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, units, strict=True)
        padded = [cell.ljust(size) if unit is Unit.WORD else cell.rjust(size) for cell, size, unit in cells]
        yield f"  {'  '.join(padded)}".rstrip()
    if len(table.rows) > MOST:
        yield f"  and {len(table.rows) - MOST} more: --json has all"


# --- for programs -------------------------------------------------------------------------------------------


def _data(figures: Figures, every: _Tables) -> dict[str, object]:
    told = {name: objects(table) for name, table in every.items()}
    since = rfc3339(figures.since) if figures.since else None
    return {
        **{name: told[name] for name in ("lifecycles", "workflows", "steps", "times", "states")},
        "entries": {"since": rfc3339(figures.kinds_since), "kinds": told["kinds"], "hours": told["hours"]},
        "tokens": {"since": since, **told["tokens"][0]},
        "errors": {"since": since, "codes": told["errors"]},
        "started": {"since": rfc3339(figures.days_since), "days": told["days"], "workflows": told["starts"]},
        **{name: told[name] for name in ("abandonment", "funnel", "leaving")},
    }
