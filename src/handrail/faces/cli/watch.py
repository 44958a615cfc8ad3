"""`handrail watch`: the runs of a project, the step each is in, and how far it has come; live."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from handrail.faces.cli.output import SCHEMA, as_json, one_line, print_json
from handrail.faces.cli.placed import project_option
from handrail.faces.cli.stored import at_store, opened
from handrail.shell.live_runs import folders_above, workflow_text
from handrail.shell.view import LiveRun
from handrail.workflows.outline import read_outline

POLL: Final = 0.1
"""How many seconds pass between two looks at whether something was committed."""

MARKS: Final = {"been": "●", "here": "▶", "ahead": "○"}
"""How a state is marked: the run has been in it, is in it, or neither."""

_RAIL: Final = 16
_NARROW: Final = 80


@click.command()
@click.option("--once", is_flag=True, help="Print how it is now, and end.")
@project_option("The project")
@at_store
@as_json
def watch(project: Path, store: str | None, *, once: bool, as_json: bool) -> None:
    """Watch the runs of a project: the step each is in, and how far it has come, as it happens.

    ● is a state that the run has been in, ▶ where it is, ○ one that it has not been in. Ctrl-C ends it.
    With `--json` and without `--once` each line is a JSON object.
    """
    roots = folders_above(str(project))
    with opened(store) as found:
        looks = _looks(lambda: found.records.live_runs(roots), found.pulse, once=once)
        if as_json:
            for runs in looks:
                _print_data(runs, once=once)
        elif sys.stdout.isatty() and not once:
            _live(looks)
        else:
            for runs in looks:
                click.echo("\n".join(lines(runs, _NARROW)))


def _looks(
    live_runs: Callable[[], tuple[LiveRun, ...]], pulse: Callable[[], int], *, once: bool
) -> Iterator[tuple[LiveRun, ...]]:
    """How the runs are, and again whenever that is another."""
    last: tuple[LiveRun, ...] | None = None
    while True:
        beat, runs = pulse(), live_runs()
        if runs != last:
            yield runs
        if once:
            return
        last = runs
        while pulse() == beat:
            time.sleep(POLL)


def _live(looks: Iterator[tuple[LiveRun, ...]]) -> None:
    """The runs on a terminal, always as they are."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False) as live:
        for runs in looks:
            live.update(Text("\n".join(lines(runs, console.width))), refresh=True)


def _print_data(runs: Sequence[LiveRun], *, once: bool) -> None:
    told: dict[str, object] = {"runs": [_data(run) for run in runs]}
    if once:
        print_json(told)
    else:
        click.echo(json.dumps({"schema": SCHEMA, **told}))


def _data(run: LiveRun) -> dict[str, object]:
    return {
        "run": run.id,
        "workflow": run.workflow,
        "lifecycle": run.lifecycle,
        "state": run.state,
        "waiting": run.waiting,
        "goal": run.goal,
        "rail": [{"state": state, "mark": mark} for state, mark in rail(run)],
    }


def rail(run: LiveRun) -> list[tuple[str, str]]:
    """Each state of a run's workflow, and whether the run is `here`, has `been` there, or it is `ahead`."""
    visited = {name.partition("/")[0] for name in run.run.attempts}
    here = run.state.partition("/")[0]
    states = read_outline(workflow_text(run)).states
    return [(one, "here" if one == here else "been" if one in visited else "ahead") for one in states]


def lines(runs: Sequence[LiveRun], width: int) -> Iterator[str]:
    """The runs, two lines for each, none wider than the terminal."""
    if not runs:
        yield "no run is under way here; handrail runs list shows those that have ended"
    for run in runs:
        mark = ", waiting" if run.waiting else ""
        yield _fit(
            f"{_short([mark for _, mark in rail(run)])}  {run.state}  {run.workflow}, {run.lifecycle}{mark}",
            width,
        )
        goal = f"  {run.goal}" if run.goal else ""
        yield _fit(f"    {run.id}{goal}", width)


def _short(marks: Sequence[str]) -> str:
    """A rail in signs; of a long one how many there are of each."""
    if len(marks) <= _RAIL:
        return "".join(MARKS[mark] for mark in marks)
    return f"{MARKS['been']}{marks.count('been')} {MARKS['here']} {MARKS['ahead']}{marks.count('ahead')}"


def _fit(text: str, width: int) -> str:
    clean = one_line(text)
    return clean if len(clean) <= width else clean[: width - 1] + "…"
