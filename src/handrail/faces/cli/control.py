"""`handrail runs pause` and the like: what a person does to a run.

The same turns as an agent's: what the lifecycle or a contract refuses is refused here too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from handrail.documents.strict import LARGEST, Flaw, parse
from handrail.engine.lifecycle import ABANDON, CONTINUE, DIVERGE, FAIL, NEEDS_REASON, PAUSE, RESUME
from handrail.engine.model import Authority, Event, Who
from handrail.faces.cli.acted import rendered, say
from handrail.faces.cli.output import Failure, NotFound, as_json
from handrail.faces.cli.stored import Text, at_store, found_run, opened, openings, the_run
from handrail.shell.folders import folders
from handrail.shell.records import Caller
from handrail.shell.system import login
from handrail.shell.turn import Call, take_turn
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
    found = [folder.path for folder in folders(project) if folder.new.id == row.id]
    where = found[0] if found else project
    message = f"run {row.id} is kept in {where}, and cannot be turned from here yet"
    repair = f"have its agent call it there; how it stands: handrail repair --project {row.project}"
    return Failure("elsewhere", message, repair)
