"""`handrail runs pause` and the like: what a person does to a run.

The same turns as an agent's: what the lifecycle or a contract refuses is refused here too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from handrail.documents.strict import LARGEST, Flaw, parse
from handrail.engine.fork import FORK
from handrail.engine.lifecycle import ABANDON, CONTINUE, DIVERGE, FAIL, NEEDS_REASON, PAUSE, RESUME
from handrail.engine.model import Authority, Event, Refused, Who
from handrail.faces.cli.acted import rendered, say
from handrail.faces.cli.output import Failure, NotFound, as_json, confirm, one_line
from handrail.faces.cli.stored import Text, at_store, found_run, opened, openings, the_run
from handrail.faces.cli.told import MEANINGS
from handrail.shell.folders import folders
from handrail.shell.fork import Fork, overrides
from handrail.shell.fork import fork as fork_run
from handrail.shell.records import Caller, Origin
from handrail.shell.shelf import Shelf
from handrail.shell.starting import startable
from handrail.shell.system import login
from handrail.shell.trust import Trusted
from handrail.shell.turn import Call, New, take_turn
from handrail.shell.view import RunRow
from handrail.shell.world import World

_ABOUT: Final = {
    PAUSE: "Let a run rest: no output is taken until it is resumed.",
    RESUME: "Let a paused run go on; the agent calls for its step, and gets a fresh token.",
    ABANDON: "Give a run up.",
    DIVERGE: "End a run whose work went on elsewhere, outside of its workflow.",
    FAIL: "End a run, and its open step, as failed.",
}


def _control(trigger: str, about: str) -> click.Command:
    """The command that sends this trigger."""
    needed = "needed" if trigger in NEEDS_REASON else "may be left out"

    @click.command(trigger, help=about)
    @the_run
    @click.option(
        "--reason", type=Text(), default="", help=f"Why; {needed}. It is kept and shown with the run."
    )
    @at_store
    @as_json
    def control(run: str, reason: str, store: str | None, *, as_json: bool) -> None:
        with turning(store, run) as (world, row):
            call = Call(row.id, Event(trigger, by=Who.PERSON, note=reason), person())
            reply = take_turn(world, call, lambda outcome: rendered(trigger, outcome, ""))
        say(reply, as_json=as_json)

    return control


CONTROLLING: Final = tuple(_control(trigger, about) for trigger, about in _ABOUT.items())
"""The commands that change the lifecycle of a run."""


@click.command("complete-step")
@the_run
@click.option(
    "--output",
    type=click.Path(allow_dash=True),
    required=True,
    metavar="FILE|-",
    help="The output of the step as a JSON object: a file, or - for stdin.",
)
@at_store
@as_json
def complete_step(run: str, output: str, store: str | None, *, as_json: bool) -> None:
    """Hand in the output of a step that you did by hand.

    It meets the same contract as the output of an agent, and is entered as external.
    """
    payload = _payload(output)
    with turning(store, run) as (world, row):
        call = Call(row.id, Event(CONTINUE, payload, Who.PERSON), person(), external=True)
        done = f"{row.state} was completed by hand; "
        reply = take_turn(world, call, lambda outcome: rendered("complete-step", outcome, done))
    say(reply, as_json=as_json)


def _payload(path: str) -> dict[str, object]:
    """The step output in a file, or on stdin."""
    try:
        with click.open_file(path, "rb") as file:
            found = parse(file.read(LARGEST + 1))
    except FileNotFoundError:
        raise NotFound("file", path, "name a file with --output, or give - and write to stdin") from None
    if isinstance(found, Flaw):
        repair = "give one JSON object with summary, artifacts, references and confidence"
        raise Failure(found.code, f"`{path}` is no step output: {found.sentence}", repair)
    return found


@click.command()
@the_run
@click.option(
    "--step", type=Text(), default="", metavar="NAME", help="Begin with this; where it stood by default."
)
@click.option(
    "--workflow",
    type=click.Choice(["current"]),
    help="Go on by the workflow as it is now, instead of the one that the run began with.",
)
@click.option("--yes", is_flag=True, help="Do not ask before you go where no agent could.")
@at_store
@as_json
def fork(  # noqa: PLR0913 - each option is one argument
    run: str, step: str, workflow: str | None, store: str | None, *, yes: bool, as_json: bool
) -> None:
    """Go on from a run that has ended: with a new run that has what it finished and made.

    You may begin with any step of the workflow. One that an agent could not go to is entered as an override.
    Asked again, the same run is told, until it has moved on.
    """
    with turning(store, run) as (world, row):
        asked = Fork(row.id, step, person(), _current(row) if workflow else None)
        code = overrides(world, asked)
        if code:
            _past(step, code, yes=yes)
        more = {"parent": row.id, "overrides": code or None}
        happened = f"run {row.id} was forked; "
        reply = fork_run(world, asked, lambda outcome: rendered(FORK, outcome, happened, more))
    say(reply, as_json=as_json)


def _past(step: str, code: str, *, yes: bool) -> None:
    """Say that no agent could go there, and have it confirmed."""
    begin = f"begin with `{step}`" if step else "begin where it stood"
    message = f"no agent could {begin} ({MEANINGS[code]}): it will be entered as your override"
    if yes:
        click.echo(one_line(message), err=True)
    else:
        confirm(message)


def _current(row: RunRow) -> New:
    """The workflow of a run as its project has it now."""
    found = startable(Shelf(Path(row.project), Trusted()), row.workflow)
    if isinstance(found, Refused):
        message = f"`{row.workflow}` as it is now cannot be taken: {MEANINGS[found.code]}"
        raise Failure(found.code, message, "; ".join(found.needed))
    return New(found.workflow, Origin(row.face, row.authority), found.definition)


@contextmanager
def turning(store: str | None, run: str) -> Iterator[tuple[World, RunRow]]:
    """The world of turns over a store that is there, and the run that is meant, if it can be turned here."""
    with opened(store) as found:
        row = found_run(found.records, run)
        if row.authority is not Authority.SQL:
            raise _elsewhere(row)
        with openings().world(found.path) as world:
            yield world, row


def person() -> Caller:
    """Whoever typed the command."""
    return Caller(Who.PERSON, login(), "cli")


def _elsewhere(row: RunRow) -> Failure:
    """Why a run that this store only mirrors cannot be turned from here."""
    project = Path(row.project)
    found = [folder for folder in folders(project) if folder.new.id == row.id]
    where = found[0].path if found else project
    title = "".join(f" {folder.title}" for folder in found if folder.name)
    message = f"run {row.id} is kept in {where}, and cannot be turned from here yet"
    repair = f"have its agent call it there; how it stands: handrail repair{title} --project {row.project}"
    return Failure("elsewhere", message, repair)
