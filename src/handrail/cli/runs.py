"""`handrail runs` and `handrail watch`: list, show and follow runs, and act on them.

A run that the store only mirrors can be shown and commented on. Only its agent moves it.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from msgspec.structs import replace

from handrail.app.actions import Action, AddComment, CompleteStep, Control, Fork
from handrail.app.app import App
from handrail.app.catalog import open_catalog
from handrail.app.faces import load_message_catalog
from handrail.app.live_runs import list_parent_folders, read_workflow_text
from handrail.app.run_pictures import build_graph_marks, build_stretches, reconstruct_run
from handrail.app.run_view import (
    event_cells,
    event_data,
    format_run_view,
    row_data,
    run_data,
    run_view_data,
)
from handrail.cli.options import MomentParam, TextParam, normalize_project, project_option, store_option
from handrail.cli.output import (
    MAX_NUMBER,
    SCHEMA_VERSION,
    Failure,
    NotFound,
    confirm_action,
    json_option,
    number_or_diff_options,
    print_diff,
    print_json,
    print_row,
    print_table,
    print_text,
)
from handrail.cli.store import open_cli_app
from handrail.documents.strict_json import MAX_BYTES, JsonFlaw, parse_object
from handrail.documents.text import escape_for_terminal
from handrail.drawing.marks import RunMarks
from handrail.drawing.timeline import TimelineOptions, draw_timeline_svg
from handrail.engine.facts import Value
from handrail.engine.lifecycle import (
    ABANDON,
    DIVERGE,
    FAIL,
    PAUSE,
    RESUME,
    TRIGGERS_NEEDING_REASON,
    is_terminal,
)
from handrail.engine.model import Actor, Authority, Lifecycle, Run, Workflow
from handrail.engine.refusals import RefusalCode
from handrail.runtime.ports.queries import (
    MAX_PREFIX_MATCHES,
    MAX_SEARCH_CHARACTERS,
    PAGE_SIZE,
    ArtifactRow,
    LiveRun,
    RunFilter,
    RunQueries,
    RunRow,
    iterate_pages,
)
from handrail.runtime.records import Caller, JournalEntry, format_rfc3339
from handrail.runtime.status import inspect_run
from handrail.runtime.system import SystemClock, get_login_name, read_bytes
from handrail.runtime.turn import Reply
from handrail.workflows.load import load_workflow
from handrail.workflows.outline import read_outline

# How many seconds pass between two checks whether the store has changed.
POLL_SECONDS: Final = 0.1
# The sign of a state: the run has been in it, is in it, or has not been in it.
RAIL_MARKS: Final = {"been": "●", "here": "▶", "ahead": "○"}
_EVENT_WIDTHS: Final = (7, 24, 26, 20, 0)
_MAX_RAIL_MARKS: Final = 16
_PIPE_COLUMNS: Final = 80
run_argument: Final = click.argument("run", type=TextParam())


@click.group()
def runs() -> None:
    """List runs, see where each stands, what happened to it and what it made, and act on it.

    RUN is the id of a run, or the beginning of one id only.
    """


def find_run(records: RunQueries, given: str) -> RunRow:
    """Return the run with this id, or the only run whose id begins with it."""
    row = records.run(given)
    if row is not None:
        return row
    ids = records.find_ids(given)
    row = records.run(ids[0]) if len(ids) == 1 else None
    if row is not None:
        return row
    if not ids:
        raise NotFound("run", given, "handrail runs list")
    listed = f"{', '.join(ids)}{', …' if len(ids) == MAX_PREFIX_MATCHES else ''}"
    raise Failure("ambiguous", f"several runs begin with `{given}`", f"say which: {listed}")


@runs.command("list")
@click.option(
    "--project", type=TextParam(), default="", help="Only those of a project: its folder, or its name."
)
@click.option("--face", type=TextParam(), default="", help="Only those that came in by this face.")
@click.option("--workflow", type=TextParam(), default="", help="Only those of this workflow.")
@click.option(
    "--lifecycle",
    "lifecycles",
    type=click.Choice([str(lifecycle) for lifecycle in Lifecycle]),
    multiple=True,
    help="Only those with this lifecycle; may be given several times.",
)
@click.option(
    "--text",
    type=TextParam(MAX_SEARCH_CHARACTERS),
    default="",
    help="Only those with this in their id, their goal, or the name of their workflow, state or project.",
)
@click.option(
    "--since", type=MomentParam(), help="Only those started at this time or later, or this long ago."
)
@click.option("--until", type=MomentParam(), help="Only those started before this time, or this long ago.")
@click.option("--after", type=TextParam(), default="", metavar="RUN", help="Go on behind this run.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=PAGE_SIZE, show_default=True, help="How many at most."
)
@store_option
@json_option
def list_runs(  # noqa: PLR0913 - each option is one argument
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
    wanted = RunFilter(normalize_project(project), face, workflow, kinds, text, since, until)
    with open_cli_app(store) as app:
        last_seen = find_run(app.runs, after).id if after else ""
        rows = app.runs.runs(wanted, last_seen, limit + 1)
        idle, now = app.idle_limits, app.now()
    shown = [(row, idle.is_quiet(row, now)) for row in rows[:limit]]
    more = rows[limit - 1].id if len(rows) > limit else None
    if as_json:
        print_json({"runs": [run_data(row, quiet=quiet) for row, quiet in shown], "next": more})
        return
    cells = [
        (
            row.id,
            row.workflow,
            f"{row.lifecycle}{', waiting' * row.waiting}{', quiet' * quiet}",
            row.state,
            format_rfc3339(row.started),
            row.goal,
        )
        for row, quiet in shown
    ]
    print_table(cells, ("run", "workflow", "lifecycle", "state", "started", "goal"))
    if not shown:
        click.echo("no such run", err=True)
    if more:
        click.echo(f"there are more: the same with --after {more}", err=True)


@runs.command()
@run_argument
@store_option
@json_option
def show(run: str, store: str | None, *, as_json: bool) -> None:
    """Show where a run stands: its steps, what it waits for, its last refusals, and its comments."""
    with open_cli_app(store) as app:
        view = app.view(find_run(app.runs, run))
    if as_json:
        print_json(run_view_data(view))
    else:
        click.echo(format_run_view(view))


@runs.command()
@run_argument
@click.option("-f", "--follow", is_flag=True, help="Go on as things happen, until the run ends or Ctrl-C.")
@click.option(
    "--after",
    type=click.IntRange(0, MAX_NUMBER),
    default=0,
    show_default=True,
    help="Begin behind this number.",
)
@store_option
@json_option
def events(run: str, after: int, store: str | None, *, follow: bool, as_json: bool) -> None:
    """Print the journal of a run, one line for each entry.

    With `--json` and `--follow` each line is a JSON object with `schema` and `event`.
    """
    with open_cli_app(store) as app:
        row = find_run(app.runs, run)
        read_journal = partial(app.runs.journal, run=row.id)
        if as_json and not follow:
            print_json({"events": [event_data(entry) for entry in iterate_pages(read_journal, after)]})
            return
        while True:
            version, now = app.store.data_version(), app.runs.run(row.id)
            for entry in iterate_pages(read_journal, after):
                after = entry.number
                if as_json:
                    click.echo(json.dumps({"schema": SCHEMA_VERSION, "event": event_data(entry)}))
                else:
                    print_row(event_cells(entry), _EVENT_WIDTHS)
            if not follow or now is None or is_terminal(now.lifecycle):
                return
            while app.store.data_version() == version:
                time.sleep(POLL_SECONDS)


@runs.command()
@run_argument
@number_or_diff_options("artifact")
@store_option
@json_option
def artifacts(
    run: str, number: int | None, diff: tuple[int, int] | None, store: str | None, *, as_json: bool
) -> None:
    """List the artifacts of a run, or print the text of artifact NUMBER.

    In a pipe a text is printed byte for byte; on a terminal, what would give orders to it is written out.
    With `--json`, the one artifact is `artifact` with its `content`, and a difference is `diff`.
    """
    if diff and number:
        raise click.UsageError("give NUMBER or --diff, not both")
    with open_cli_app(store) as app:
        records, row = app.runs, find_run(app.runs, run)
        if diff:
            (before, old), (after, new) = (_load_artifact(records, row, one) for one in diff)
            heads = (f"{before.number} {before.title}", f"{after.number} {after.title}")
            print_diff((old, new), heads, as_json=as_json)
            return
        if number:
            found, content = _load_artifact(records, row, number)
            if as_json:
                print_json({"artifact": {**row_data(found), "content": content}})
            else:
                print_text(content)
            return
        rows = list(iterate_pages(partial(records.artifacts, row.id)))
    if as_json:
        print_json({"artifacts": [row_data(row) for row in rows]})
        return
    cells = [
        (str(one.number), one.type, one.title, one.step, "final" if one.final else "", str(one.size))
        for one in rows
    ]
    print_table(cells, ("number", "type", "title", "step", "final", "bytes"))
    if not rows:
        click.echo("no artifact yet", err=True)


def _load_artifact(records: RunQueries, run: RunRow, number: int) -> tuple[ArtifactRow, str]:
    rows = [row for row in records.artifacts(run.id, number - 1, 1) if row.number == number]
    content = records.content(run.id, number)
    if not rows or content is None:
        raise NotFound("artifact", str(number), f"handrail runs artifacts {run.id}")
    return rows[0], content


@runs.command()
@run_argument
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to a new file that only you may read, instead of stdout.",
)
@store_option
def export(run: str, to: Path | None, store: str | None) -> None:
    """Print everything about a run as one JSON object: steps, artifacts, events, and the workflow it walks.

    Tokens and kept replies are left out.
    """
    with open_cli_app(store) as app:
        row = find_run(app.runs, run)
        data = app.store.maintenance.export(row.id)
    if data is None:
        raise NotFound("run", run, "handrail runs list")
    if to is None:
        print_json(dict(data))
        return
    try:
        descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Failure("exists", f"{to} is there already", "name another file with --to") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"schema": SCHEMA_VERSION, **data}, file, indent=2)
        file.write("\n")
    click.echo(f"written to {escape_for_terminal(str(to))}", err=True)


@runs.command("timeline")
@run_argument
@click.option(
    "--width",
    type=click.IntRange(280, 4000),
    default=960,
    show_default=True,
    help="For a page so many pixels wide.",
)
@click.option("--linear", is_flag=True, help="Do not shorten times in which nothing happened.")
@store_option
def draw_timeline(run: str, width: int, store: str | None, *, linear: bool) -> None:
    """Draw the time of a run on stdout, as SVG: whom each step waited for when, and what was refused."""
    loaded = _load_run(store, run)
    stretches, refused = build_stretches(loaded.workflow, loaded.journal, SystemClock().now())
    title, options = f"{loaded.row.workflow}, run {loaded.row.id}", TimelineOptions(float(width), linear)
    click.echo(draw_timeline_svg(load_message_catalog(), title, stretches, refused, options))


def load_run_marks(store: str | None, run: str) -> tuple[Workflow, RunMarks]:
    """Return the workflow of a run, and the marks that show the run in its graph."""
    loaded = _load_run(store, run)
    return loaded.workflow, build_graph_marks(loaded.workflow, loaded.run, loaded.facts, loaded.journal)


@dataclass(frozen=True, slots=True)
class _LoadedRun:
    """A run with its workflow and journal, and the facts if they can be read."""

    row: RunRow
    run: Run
    workflow: Workflow
    journal: tuple[JournalEntry, ...]
    facts: dict[str, Value]


def _load_run(store: str | None, run: str) -> _LoadedRun:
    with open_cli_app(store) as app:
        row = find_run(app.runs, run)
        journal = tuple(iterate_pages(partial(app.runs.journal, run=row.id)))
        if row.authority is Authority.SQL:
            stored = app.world.runs.load(row.id)
            if stored is None:
                raise NotFound("run", row.id, "handrail runs list")
            facts = dict(inspect_run(app.world, stored).facts or {})
            workflow = app.world.workflow_of(stored.run.digest, stored.run.workflow)
            return _LoadedRun(row, stored.run, workflow, journal, facts)
        # A run that is kept elsewhere follows the workflow that its project has now.
        catalog = open_catalog(Path(row.project))
        source = catalog.source(row.workflow)
        installed = load_workflow(source, catalog.source).workflow if source else None
        if installed is None:
            raise NotFound("workflow", row.workflow, f"handrail workflows list --project {row.project}")
        mirrored = reconstruct_run(installed, row, app.runs.open_steps(row.id), journal)
    return _LoadedRun(
        row, mirrored, installed, journal, {installed.derive: row.state} if installed.derive else {}
    )


_CONTROL_HELP: Final = {
    PAUSE: "Let a run rest: no output is taken until it is resumed.",
    RESUME: "Let a paused run go on; the agent calls for its step, and gets a fresh token.",
    ABANDON: "Give a run up.",
    DIVERGE: "End a run whose work went on elsewhere, outside of its workflow.",
    FAIL: "End a run, and its open step, as failed.",
}

_SEVERAL_RUNS_HELP: Final = (
    "Several runs are acted on one after the other; with `--json`, `acted` then has what came of each, and a"
    " refusal of one keeps no other back."
)


def _build_control_command(trigger: str, about: str) -> click.Command:
    needed = "needed" if trigger in TRIGGERS_NEEDING_REASON else "may be left out"

    @click.command(trigger, help=f"{about}\n\n{_SEVERAL_RUNS_HELP}")
    @click.argument("runs", metavar="RUN...", type=TextParam(), nargs=-1, required=True)
    @click.option(
        "--reason", type=TextParam(), default="", help=f"Why; {needed}. It is kept and shown with the run."
    )
    @store_option
    @json_option
    def control(runs: tuple[str, ...], reason: str, store: str | None, *, as_json: bool) -> None:
        action = Control(trigger, reason)
        if len(runs) == 1:
            with open_cli_app(store) as app:
                reply = _act(app, runs[0], action)
            print_reply_or_fail(reply, as_json=as_json)
            return
        replies: list[Reply] = []
        with open_cli_app(store) as app:
            for run in dict.fromkeys(runs):
                try:
                    reply = _act(app, run, action)
                except Failure as failure:
                    reply = {"error": failure.data()}
                replies.append(reply if "error" not in reply else {"run": run, **reply})
                if not as_json:
                    _print_reply(replies[-1])
        if as_json:
            print_json({"acted": replies})
        if any("error" in reply for reply in replies):
            raise SystemExit(Failure.exit_code)

    return control


for _trigger, _about in _CONTROL_HELP.items():
    runs.add_command(_build_control_command(_trigger, _about))


@runs.command("complete-step")
@run_argument
@click.option(
    "--output",
    type=click.Path(allow_dash=True),
    required=True,
    metavar="FILE|-",
    help="The output of the step as a JSON object: a file, or - for stdin.",
)
@store_option
@json_option
def complete_step(run: str, output: str, store: str | None, *, as_json: bool) -> None:
    """Hand in the output of a step that you did by hand.

    It meets the same contract as the output of an agent, and is entered as external.
    """
    try:
        most = MAX_BYTES + 1
        data = sys.stdin.buffer.read(most) if output == "-" else read_bytes(Path(output), most)
    except FileNotFoundError:
        raise NotFound("file", output, "name a file with --output, or give - and write to stdin") from None
    payload = parse_object(data)
    if isinstance(payload, JsonFlaw):
        repair = "give one JSON object with summary, artifacts, references and confidence"
        raise Failure(payload.code, f"`{output}` is no step output: {payload.sentence}", repair)
    with open_cli_app(store) as app:
        reply = _act(app, run, CompleteStep(payload))
    print_reply_or_fail(reply, as_json=as_json)


@runs.command()
@run_argument
@click.option(
    "--step", type=TextParam(), default="", metavar="NAME", help="Begin with this; where it stood by default."
)
@click.option(
    "--workflow",
    type=click.Choice(["current"]),
    help="Go on by the workflow as it is now, instead of the one that the run began with.",
)
@click.option("--yes", is_flag=True, help="Do not ask before you go where no agent could.")
@store_option
@json_option
def fork(  # noqa: PLR0913 - each option is one argument
    run: str, step: str, workflow: str | None, store: str | None, *, yes: bool, as_json: bool
) -> None:
    """Go on from a run that has ended: with a new run that has what it finished and made.

    You may begin with any step of the workflow. One that an agent could not go to is entered as an override.
    Asked again, the same run is told, until it has moved on.
    """
    action = Fork(step, updates_workflow=workflow is not None)
    with open_cli_app(store) as app:
        reply = _act(app, run, action)
        if warning := reply.get("warning"):
            if yes:
                click.echo(escape_for_terminal(str(warning)), err=True)
            else:
                confirm_action(str(warning))
            reply = _act(app, run, replace(action, confirmed=True))
    print_reply_or_fail(reply, as_json=as_json)


@runs.command()
@run_argument
@click.argument("text", type=TextParam())
@store_option
@json_option
def comment(run: str, text: str, store: str | None, *, as_json: bool) -> None:
    """Write TEXT to a run, for its agent and whoever looks at it. Nothing moves, and no token is used up.

    The next answer tells the agent. A run may be paused or over, and kept anywhere; TEXT has at most 4000
    characters.
    """
    with open_cli_app(store) as app:
        reply = _act(app, run, AddComment(text))
    print_reply_or_fail(reply, as_json=as_json)


def _act(app: App, run: str, action: Action) -> Reply:
    """Act on a run for the user who typed the command."""
    return app.act(find_run(app.runs, run), action, Caller(Actor.PERSON, get_login_name(), "cli"))


def print_reply_or_fail(reply: Reply, *, as_json: bool) -> None:
    """Print what happened, and the next step on stderr. A refusal ends the command."""
    if isinstance(error := reply.get("error"), Mapping):
        raise _build_failure(error)
    if as_json:
        print_json(dict(reply))
    else:
        _print_reply(reply)


def _print_reply(reply: Reply) -> None:
    """Print what happened, and the next step on stderr. Print a refusal like a failure, but raise nothing."""
    if isinstance(error := reply.get("error"), Mapping):
        failure = _build_failure(error)
        failure.as_json = False
        click.echo(f"{escape_for_terminal(str(reply['run']))}:", err=True)
        failure.show()
        return
    click.echo(escape_for_terminal(str(reply["told"])))
    click.echo(f"  {escape_for_terminal(str(reply['then']))}", err=True)


def _build_failure(error: Mapping[str, Any]) -> Failure:
    """Return the failure for a reply with an error. Only a refused turn says why it was refused."""
    if "why" in error:
        return RefusalFailure(error)
    return Failure(error["code"], error["message"], error["repair"])


class RefusalFailure(Failure):
    """A refused call: the code, the rule and the facts it saw, what is needed, and what is possible."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["code"], error["message"], error["repair"])
        self.error = error

    def data(self) -> dict[str, object]:
        """Return the error as programs get it."""
        return dict(self.error)

    def lines(self) -> tuple[str, ...]:
        """Return the facts seen, what is needed, and the repair; for a missing reason only the repair."""
        why = self.error["why"]
        if self.code == RefusalCode.REASON:
            return (self.repair,)
        seen = [f"seen: {one['fact']} = {msgspec.json.encode(one['value']).decode()}" for one in why["seen"]]
        return (*seen, *(f"needed: {line}" for line in why["needed"]), self.repair)


@click.command()
@click.option("--once", is_flag=True, help="Print how it is now, and end.")
@project_option("The project")
@store_option
@json_option
def watch(project: Path, store: str | None, *, once: bool, as_json: bool) -> None:
    """Watch the runs of a project: the step each is in, and how far it has come, as it happens.

    ● is a state that the run has been in, ▶ where it is, ○ one that it has not been in. Ctrl-C ends it.
    With `--json` and without `--once` each line is a JSON object.
    """
    roots = list_parent_folders(str(project))
    with open_cli_app(store) as app:
        snapshots = _watch_changes(lambda: app.runs.live_runs(roots), app.store.data_version, once=once)
        if as_json:
            for runs in snapshots:
                data: dict[str, object] = {"runs": [_live_run_data(run) for run in runs]}
                if once:
                    print_json(data)
                else:
                    click.echo(json.dumps({"schema": SCHEMA_VERSION, **data}))
        elif sys.stdout.isatty() and not once:
            from rich import console, live, text  # slow to import, and only a terminal needs it

            terminal = console.Console(highlight=False)
            with live.Live(console=terminal, auto_refresh=False) as view:
                for runs in snapshots:
                    view.update(text.Text("\n".join(_live_run_lines(runs, terminal.width))), refresh=True)
        else:
            for runs in snapshots:
                click.echo("\n".join(_live_run_lines(runs, _PIPE_COLUMNS)))


def _watch_changes(
    live_runs: Callable[[], tuple[LiveRun, ...]], data_version: Callable[[], int], *, once: bool
) -> Iterator[tuple[LiveRun, ...]]:
    """Yield the active runs, and yield them again whenever they change."""
    last: tuple[LiveRun, ...] | None = None
    while True:
        version, runs = data_version(), live_runs()
        if runs != last:
            yield runs
        if once:
            return
        last = runs
        while data_version() == version:
            time.sleep(POLL_SECONDS)


def _build_rail(run: LiveRun) -> list[tuple[str, str]]:
    """Return each state of a run's workflow with its mark: `here`, `been` or `ahead`."""
    visited = {name.partition("/")[0] for name in run.run.attempts}
    here = run.state.partition("/")[0]
    states = read_outline(read_workflow_text(run)).states
    return [(state, "here" if state == here else "been" if state in visited else "ahead") for state in states]


def _live_run_data(run: LiveRun) -> dict[str, object]:
    return {
        "run": run.id,
        "workflow": run.workflow,
        "lifecycle": run.lifecycle,
        "state": run.state,
        "waiting": run.waiting,
        "goal": run.goal,
        "rail": [{"state": state, "mark": mark} for state, mark in _build_rail(run)],
    }


def _live_run_lines(runs: Sequence[LiveRun], width: int) -> Iterator[str]:
    """Yield two lines for each run, none wider than the terminal."""
    if not runs:
        yield "no run is under way here; handrail runs list shows those that have ended"
    for run in runs:
        marks = [mark for _, mark in _build_rail(run)]
        rail = "".join(RAIL_MARKS[mark] for mark in marks)
        if len(marks) > _MAX_RAIL_MARKS:
            been, here, ahead = RAIL_MARKS.values()
            rail = f"{been}{marks.count('been')} {here} {ahead}{marks.count('ahead')}"
        waiting = ", waiting" if run.waiting else ""
        goal = f"  {run.goal}" if run.goal else ""
        for line in (
            f"{rail}  {run.state}  {run.workflow}, {run.lifecycle}{waiting}",
            f"    {run.id}{goal}",
        ):
            clean = escape_for_terminal(line)
            yield clean if len(clean) <= width else clean[: width - 1] + "…"
