"""`handrail runs`: which there are, where each stands, what happened to it, and what it made."""

import json
import os
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

import click

from handrail.engine.lifecycle import terminal
from handrail.engine.model import Lifecycle
from handrail.faces.cli.compared import LAST, one_or_diff, print_diff
from handrail.faces.cli.control import CONTROLLING, comment, complete_step, fork
from handrail.faces.cli.output import (
    SCHEMA,
    Failure,
    NotFound,
    as_json,
    one_line,
    print_json,
    print_row,
    print_table,
    print_text,
)
from handrail.faces.cli.pictured import timeline_
from handrail.faces.cli.stored import Moment, Text, at_store, folder_or_name, found_run, opened, the_run
from handrail.faces.cli.told import (
    as_data,
    described,
    event_cells,
    event_data,
    run_data,
    whole,
    whole_data,
)
from handrail.shell.opening import Store, limits
from handrail.shell.records import rfc3339
from handrail.shell.system import SystemClock
from handrail.shell.view import LONGEST, PAGE, ArtifactRow, Records, RunRow, Wanted, every

POLL: Final = 0.1
"""How many seconds pass between two looks at whether something was committed."""

_WIDTHS: Final = (7, 24, 26, 20, 0)


@click.group()
def runs() -> None:
    """List runs, see where each stands, what happened to it and what it made, and act on it.

    RUN is the id of a run, or the beginning of one id only.
    """


for command in (*CONTROLLING, comment, complete_step, fork, timeline_):
    runs.add_command(command)


@runs.command("list")
@click.option("--project", type=Text(), default="", help="Only those of a project: its folder, or its name.")
@click.option("--face", type=Text(), default="", help="Only those that came in by this face.")
@click.option("--workflow", type=Text(), default="", help="Only those of this workflow.")
@click.option(
    "--lifecycle",
    "lifecycles",
    type=click.Choice([str(lifecycle) for lifecycle in Lifecycle]),
    multiple=True,
    help="Only those with this lifecycle; may be given several times.",
)
@click.option(
    "--text",
    type=Text(LONGEST),
    default="",
    help="Only those with this in their id, their goal, or the name of their workflow, state or project.",
)
@click.option("--since", type=Moment(), help="Only those started at this time or later, or this long ago.")
@click.option("--until", type=Moment(), help="Only those started before this time, or this long ago.")
@click.option("--after", type=Text(), default="", metavar="RUN", help="Go on behind this run.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=PAGE, show_default=True, help="How many at most."
)
@at_store
@as_json
def list_(  # noqa: PLR0913 - each option is one argument
    *,
    project: str,
    face: str,
    workflow: str,
    lifecycles: tuple[str, ...],
    text: str,
    since: datetime | None,
    until: datetime | None,
    after: str,
    limit: int,
    store: str | None,
    as_json: bool,
) -> None:
    """List runs, the last started first; filters combine."""
    kinds = tuple(map(Lifecycle, lifecycles))
    wanted = Wanted(folder_or_name(project), face, workflow, kinds, text, since, until)
    with opened(store) as found:
        behind = found_run(found.records, after).id if after else ""
        rows = found.records.runs(wanted, behind, limit + 1)
    idle, now = limits(), SystemClock().now()
    shown = [(row, idle.is_quiet(row, now)) for row in rows[:limit]]
    more = rows[limit - 1].id if len(rows) > limit else None
    if as_json:
        print_json({"runs": [run_data(row, quiet=quiet) for row, quiet in shown], "next": more})
        return
    heads = ("run", "workflow", "lifecycle", "state", "started", "goal")
    print_table([_cells(row, quiet=quiet) for row, quiet in shown], heads)
    if not shown:
        click.echo("no such run", err=True)
    if more:
        click.echo(f"there are more: the same with --after {more}", err=True)


@runs.command()
@the_run
@at_store
@as_json
def show(run: str, store: str | None, *, as_json: bool) -> None:
    """Show where a run stands: its steps, what it waits for, its last refusals, and its comments."""
    with opened(store) as found:
        told = whole(found.records, found_run(found.records, run), limits(), SystemClock().now())
    if as_json:
        print_json(whole_data(told))
    else:
        click.echo(described(told))


@runs.command()
@the_run
@click.option("-f", "--follow", is_flag=True, help="Go on as things happen, until the run ends or Ctrl-C.")
@click.option(
    "--after", type=click.IntRange(0, LAST), default=0, show_default=True, help="Begin behind this number."
)
@at_store
@as_json
def events(run: str, after: int, store: str | None, *, follow: bool, as_json: bool) -> None:
    """Print the journal of a run, one line for each entry.

    With `--json` and `--follow` each line is a JSON object with `schema` and `event`.
    """
    with opened(store) as found:
        row = found_run(found.records, run)
        if follow:
            for told in _followed(found, row, after):
                _print_events(told, as_json=as_json)
            return
        journal = every(partial(found.records.journal, run=row.id), after)
        entries = [(event_data(one), event_cells(one)) for one in journal]
    if as_json:
        print_json({"events": [data for data, _ in entries]})
        return
    for _, cells in entries:
        print_row(cells, _WIDTHS)


@runs.command()
@the_run
@one_or_diff("artifact")
@at_store
@as_json
def artifacts(
    run: str, number: int | None, diff: tuple[int, int] | None, store: str | None, *, as_json: bool
) -> None:
    """List the artifacts of a run, or print the text of artifact NUMBER.

    In a pipe a text is printed byte for byte; on a terminal, what would give orders to it is written out.
    With `--json`, the one artifact is `artifact` with its `content`, and a difference is `diff`.
    """
    if diff and number:
        raise click.UsageError("give NUMBER or --diff, not both")
    with opened(store) as found:
        records, row = found.records, found_run(found.records, run)
        if diff:
            _print_diff(records, row, diff, as_json=as_json)
        elif number:
            _print_artifact(records, row, number, as_json=as_json)
        else:
            _print_artifacts(list(every(partial(records.artifacts, row.id))), as_json=as_json)


@runs.command()
@the_run
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to a new file that only you may read, instead of stdout.",
)
@at_store
def export(run: str, to: Path | None, store: str | None) -> None:
    """Print everything about a run as one JSON object: steps, artifacts, events, and the workflow it walks.

    Tokens and kept replies are left out.
    """
    with opened(store) as found:
        row = found_run(found.records, run)
        told = found.keeper.export(row.id)
    if told is None:
        raise NotFound("run", run, "handrail runs list")
    if to is None:
        print_json(dict(told))
        return
    try:
        descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Failure("exists", f"{to} is there already", "name another file with --to") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"schema": SCHEMA, **told}, file, indent=2)
        file.write("\n")
    click.echo(f"written to {one_line(str(to))}", err=True)


def _cells(row: RunRow, *, quiet: bool) -> tuple[str, ...]:
    marks = [mark for mark, is_so in (("waiting", row.waiting), ("quiet", quiet)) if is_so]
    lifecycle = ", ".join([row.lifecycle, *marks])
    return row.id, row.workflow, lifecycle, row.state, rfc3339(row.started), row.goal


_Told = tuple[dict[str, object], tuple[str, ...]]


def _followed(store: Store, run: RunRow, after: int) -> Iterator[_Told]:
    """Each entry behind this number, as it comes; ends with the run."""
    while True:
        pulse, row = store.pulse(), store.records.run(run.id)
        for written in every(partial(store.records.journal, run=run.id), after):
            after = written.number
            yield event_data(written), event_cells(written)
        if row is None or terminal(row.lifecycle):
            return
        while store.pulse() == pulse:
            time.sleep(POLL)


def _print_events(told: _Told, *, as_json: bool) -> None:
    data, cells = told
    if as_json:
        click.echo(json.dumps({"schema": SCHEMA, "event": data}))
    else:
        print_row(cells, _WIDTHS)


def _print_artifacts(rows: list[ArtifactRow], *, as_json: bool) -> None:
    if as_json:
        print_json({"artifacts": [as_data(row) for row in rows]})
        return
    cells = [
        (str(row.number), row.type, row.title, row.step, "final" if row.final else "", str(row.size))
        for row in rows
    ]
    print_table(cells, ("number", "type", "title", "step", "final", "bytes"))
    if not rows:
        click.echo("no artifact yet", err=True)


def _print_artifact(records: Records, run: RunRow, number: int, *, as_json: bool) -> None:
    row, content = _artifact(records, run, number)
    if as_json:
        print_json({"artifact": {**as_data(row), "content": content}})
    else:
        print_text(content)


def _artifact(records: Records, run: RunRow, number: int) -> tuple[ArtifactRow, str]:
    rows = [row for row in records.artifacts(run.id, number - 1, 1) if row.number == number]
    content = records.content(run.id, number)
    if not rows or content is None:
        raise NotFound("artifact", str(number), f"handrail runs artifacts {run.id}")
    return rows[0], content


def _print_diff(records: Records, run: RunRow, numbers: tuple[int, int], *, as_json: bool) -> None:
    (before, old), (after, new) = (_artifact(records, run, number) for number in numbers)
    heads = (f"{before.number} {before.title}", f"{after.number} {after.title}")
    print_diff((old, new), heads, as_json=as_json)
