"""A run in pictures: how it stands in its workflow, and `handrail runs timeline`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from handrail.engine.facts import Value
from handrail.engine.model import Authority, Run, Workflow
from handrail.faces.board.texts import catalogue
from handrail.faces.cli.output import NotFound
from handrail.faces.cli.stored import at_store, found_run, opened, openings, the_run
from handrail.shell.catalog import catalog
from handrail.shell.opening import Store
from handrail.shell.pictured import marks_of, run_of, stretches_of
from handrail.shell.records import Written
from handrail.shell.standing import look
from handrail.shell.system import SystemClock
from handrail.shell.view import RunRow, every
from handrail.workflows.draw.marks import Marks
from handrail.workflows.draw.timeline import Form, timeline
from handrail.workflows.load import load


@dataclass(frozen=True, slots=True)
class _Found:
    """A run with its journal, the workflow it walks through, and the facts if they can be read."""

    row: RunRow
    run: Run
    workflow: Workflow
    journal: tuple[Written, ...]
    facts: dict[str, Value]


def standing(store: str | None, run: str) -> tuple[Workflow, Marks]:
    """The workflow of a run, and how the run stands in it; of one kept elsewhere, what its mirror tells."""
    with _found(store, run) as found:
        return found.workflow, marks_of(found.workflow, found.run, found.facts, found.journal)


@click.command("timeline")
@the_run
@click.option(
    "--width",
    type=click.IntRange(280, 4000),
    default=960,
    show_default=True,
    help="For a page so many pixels wide.",
)
@click.option("--linear", is_flag=True, help="Do not shorten times in which nothing happened.")
@at_store
def timeline_(run: str, width: int, store: str | None, *, linear: bool) -> None:
    """Draw the time of a run on stdout, as SVG: whom each step waited for when, and what was refused."""
    with _found(store, run) as found:
        told, refused = stretches_of(found.workflow, found.journal, SystemClock().now())
    title = f"{found.row.workflow}, run {found.row.id}"
    click.echo(timeline(catalogue(), title, told, refused, Form(float(width), linear)))


@contextmanager
def _found(store: str | None, run: str) -> Iterator[_Found]:
    with opened(store) as kept:
        row = found_run(kept.records, run)
        journal = tuple(every(partial(kept.records.journal, run=row.id)))
        if row.authority is Authority.SQL:
            yield _own(kept, row, journal)
        else:
            yield _mirrored(kept, row, journal)


def _own(kept: Store, row: RunRow, journal: tuple[Written, ...]) -> _Found:
    """A run of this store: its workflow is the text that it started with."""
    with openings().world(kept.path) as world:
        stored = world.runs.load(row.id)
        if stored is None:
            raise NotFound("run", row.id, "handrail runs list")
        shown = look(world, stored)
        return _Found(row, stored.run, world.workflow_of(stored), journal, dict(shown.facts or {}))


def _mirrored(kept: Store, row: RunRow, journal: tuple[Written, ...]) -> _Found:
    """A run that is kept elsewhere: its workflow is the one that its project has now."""
    shelf = catalog(Path(row.project))
    source = shelf.source(row.workflow)
    workflow = load(source, shelf.source).workflow if source else None
    if workflow is None:
        raise NotFound("workflow", row.workflow, f"handrail workflows list --project {row.project}")
    run = run_of(workflow, row, kept.records.open_steps(row.id), journal)
    return _Found(row, run, workflow, journal, {workflow.derive: row.state} if workflow.derive else {})
