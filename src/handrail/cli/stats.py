"""`handrail stats`: print figures about runs as text, CSV or JSON.

`app.insights` computes them; the dashboard shows the same figures as four boards of charts.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

import click

from handrail.app.faces import load_message_catalog
from handrail.app.insights import TABLE_NAMES, Figures, build_tables, load_figures
from handrail.app.run_view import CODE_MEANINGS
from handrail.cli.options import MomentParam, store_option
from handrail.cli.output import json_option, print_json, print_text
from handrail.cli.store import open_cli_app
from handrail.documents.text import escape_for_terminal
from handrail.drawing.tables import EMPTY_CELL, Table, Unit, format_cell, select_columns, to_csv, to_objects
from handrail.runtime.records import format_rfc3339
from handrail.runtime.system import SystemClock

# How many rows of a table the text report shows; `--json` has all.
MAX_ROWS: Final = 10

# The columns of the workflows table in the text report.
_WORKFLOW_COLUMNS: Final = (
    *("workflow", "runs", "completion_rate", "mean_completed_ms"),
    *("p50_completed_ms", "p95_completed_ms", "abandonment_rate"),
)

_Tables = Mapping[str, Table]


@click.command()
@click.option(
    "--since",
    type=MomentParam(),
    help="Entries, tokens, refusals and started runs from this time on, or from this long ago.",
)
@click.option(
    "--csv",
    "wanted",
    type=click.Choice(TABLE_NAMES),
    metavar="TABLE",
    help=f"Print one table as CSV: {', '.join(TABLE_NAMES[:-1])} or {TABLE_NAMES[-1]}.",
)
@store_option
@json_option
def stats(since: datetime | None, wanted: str | None, store: str | None, *, as_json: bool) -> None:
    """Print how runs go: by workflow, by step, what the journal tells, how many are started and abandoned.

    Runs and steps are counted over all time. Without `--since`, entries are those of the last 24 hours,
    started runs those of the last 7 days, tokens and refusals those of all time. Days are in UTC. What half
    or 95 % stay within is exact in its first two digits; means are exact.
    """
    if wanted and as_json:
        raise click.UsageError("--csv and --json are two forms of the same numbers: name one of them")
    with open_cli_app(store) as app:
        figures = load_figures(app.store.measures, SystemClock().now(), since)
    every = build_tables(load_message_catalog(), figures, CODE_MEANINGS)
    if wanted:
        print_text(to_csv(every[wanted]))
    elif as_json:
        print_json(_stats_data(figures, every))
    else:
        click.echo("\n".join(map(escape_for_terminal, _report_lines(figures, every))))


def _report_lines(figures: Figures, every: _Tables) -> Iterator[str]:
    yield "Workflow performance"
    yield from _table_lines(every["lifecycles"])
    if every["workflows"].rows:
        yield ""
        yield from _table_lines(select_columns(every["workflows"], *_WORKFLOW_COLUMNS))
    yield from ("", "Step performance")
    yield from _table_lines(every["times"])
    for table, empty in _list_step_tables(every):
        yield ""
        yield from _table_lines(table) if table.rows else (f"  {empty}",)
    yield from ("", f"Telemetry since {format_rfc3339(figures.kinds_since)}")
    yield from _table_lines(every["kinds"])
    when = f"since {format_rfc3339(figures.since)}" if figures.since else "of all time"
    for name in ("tokens", "errors"):
        yield from ("", f"{every[name].title} {when}")
        yield from _table_lines(every[name])
    yield from ("", f"Runs started since {format_rfc3339(figures.days_since)}")
    yield from _table_lines(every["days"])
    yield from ("", "Runs abandoned")
    yield from _table_lines(every["abandonment"])
    columns = ("workflow", "step", "reached", "abandoned", "leaving_rate")
    left = select_columns(every["funnel"], *columns, having="abandoned")
    if left.rows:
        yield ""
        yield from _table_lines(left)


def _list_step_tables(every: _Tables) -> tuple[tuple[Table, str], ...]:
    """Return the tables about steps, each with what to say if it is empty; none before the first step."""
    states = every["states"]
    if not states.rows:
        return ()
    failing = select_columns(every["steps"], "step", "steps", "failed", "failure_rate", having="failed")
    again = select_columns(states, "workflow", "step", "opened", "again", having="again")
    refused = select_columns(
        states, "workflow", "step", "accepted", "refused", "refusal_rate", having="refused"
    )
    return (failing, "no step failed"), (again, "no run went round"), (refused, "no call was refused")


def _table_lines(table: Table) -> Iterator[str]:
    """Format the first rows of a table below their heads: words aligned left, numbers right."""
    if not table.rows:
        yield f"  {table.empty}"
        return
    units = [column.unit for column in table.columns]
    rows = [
        [format_cell(cell, unit) or EMPTY_CELL for cell, unit in zip(row, units, strict=True)]
        for row in table.rows[:MAX_ROWS]
    ]
    lines = [[column.head for column in table.columns], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, units, strict=True)
        padded = [cell.ljust(size) if unit is Unit.WORD else cell.rjust(size) for cell, size, unit in cells]
        yield f"  {'  '.join(padded)}".rstrip()
    if len(table.rows) > MAX_ROWS:
        yield f"  and {len(table.rows) - MAX_ROWS} more: --json has all"


def _stats_data(figures: Figures, every: _Tables) -> dict[str, object]:
    rows = {name: to_objects(table) for name, table in every.items()}
    since = format_rfc3339(figures.since) if figures.since else None
    return {
        **{name: rows[name] for name in ("lifecycles", "workflows", "steps", "times", "states")},
        "entries": {
            "since": format_rfc3339(figures.kinds_since),
            "kinds": rows["kinds"],
            "hours": rows["hours"],
        },
        "tokens": {"since": since, **rows["tokens"][0]},
        "errors": {"since": since, "codes": rows["errors"]},
        "started": {
            "since": format_rfc3339(figures.days_since),
            "days": rows["days"],
            "workflows": rows["starts"],
        },
        **{name: rows[name] for name in ("abandonment", "funnel", "leaving")},
    }
