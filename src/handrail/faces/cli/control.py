"""`handrail runs pause` and the like: what a person does to a run.

The same turns as an agent's: what the lifecycle or a contract refuses is refused here too.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from handrail.documents.strict import LARGEST, Flaw, parse
from handrail.engine.lifecycle import ABANDON, DIVERGE, FAIL, NEEDS_REASON, PAUSE, RESUME
from handrail.engine.model import Who
from handrail.faces.cli.acted import say, told
from handrail.faces.cli.byhand import (
    check_here,
    commented,
    completed,
    controlled,
    current,
    forked,
    past,
    where,
)
from handrail.faces.cli.output import Failure, NotFound, as_json, confirm, one_line, print_json
from handrail.faces.cli.stored import Text, at_store, found_run, opened, openings, the_run
from handrail.shell.fork import Fork, overrides
from handrail.shell.reading import read_bytes
from handrail.shell.records import Caller
from handrail.shell.system import login
from handrail.shell.turn import Reply
from handrail.shell.view import RunRow
from handrail.shell.world import World

_ABOUT: Final = {
    PAUSE: "Let a run rest: no output is taken until it is resumed.",
    RESUME: "Let a paused run go on; the agent calls for its step, and gets a fresh token.",
    ABANDON: "Give a run up.",
    DIVERGE: "End a run whose work went on elsewhere, outside of its workflow.",
    FAIL: "End a run, and its open step, as failed.",
}
_SEVERAL: Final = (
    "Several runs are acted on one after the other; with `--json`, `acted` then has what came of each, and a"
    " refusal of one keeps no other back."
)


def _control(trigger: str, about: str) -> click.Command:
    """The command that sends this trigger."""
    needed = "needed" if trigger in NEEDS_REASON else "may be left out"

    @click.command(trigger, help=f"{about}\n\n{_SEVERAL}")
    @click.argument("runs", metavar="RUN...", type=Text(), nargs=-1, required=True)
    @click.option(
        "--reason", type=Text(), default="", help=f"Why; {needed}. It is kept and shown with the run."
    )
    @at_store
    @as_json
    def control(runs: tuple[str, ...], reason: str, store: str | None, *, as_json: bool) -> None:
        if len(runs) > 1:
            _each(
                store,
                runs,
                lambda world, row: controlled(world, row, trigger, reason, person()),
                as_json=as_json,
            )
            return
        with turning(store, runs[0]) as (world, row):
            reply = controlled(world, row, trigger, reason, person())
        say(reply, as_json=as_json)

    return control


def _each(
    store: str | None,
    runs: Sequence[str],
    act: Callable[[World, RunRow], Reply],
    *,
    as_json: bool,
) -> None:
    """Act on each, and tell what came of it; what one is refused for keeps no other back.

    Exits with 1 if any was refused.
    """
    replies: list[Reply] = []
    with opened(store) as found, openings().world(found.path) as world:
        for run in dict.fromkeys(runs):
            try:
                row = found_run(found.records, run)
                check_here(row)
                reply = act(world, row)
            except Failure as failure:
                reply = {"error": failure.data()}
            replies.append(reply if "error" not in reply else {"run": run, **reply})
            if not as_json:
                told(replies[-1])
    if as_json:
        print_json({"acted": replies})
    if any("error" in reply for reply in replies):
        raise SystemExit(Failure.exit_code)


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
        reply = completed(world, row, payload, person())
    say(reply, as_json=as_json)


def _payload(path: str) -> dict[str, object]:
    """The step output in a file, or on stdin."""
    try:
        data = sys.stdin.buffer.read(LARGEST + 1) if path == "-" else read_bytes(Path(path), LARGEST + 1)
    except FileNotFoundError:
        raise NotFound("file", path, "name a file with --output, or give - and write to stdin") from None
    found = parse(data)
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
        asked = Fork(row.id, step, person(), current(row) if workflow else None)
        code = overrides(world, asked)
        if code:
            _past(step, code, yes=yes)
        reply = forked(world, asked, code)
    say(reply, as_json=as_json)


def _past(step: str, code: str, *, yes: bool) -> None:
    """Say that no agent could go there, and have it confirmed."""
    message = past(step, code)
    if yes:
        click.echo(one_line(message), err=True)
    else:
        confirm(message)


@click.command()
@the_run
@click.argument("text", type=Text())
@at_store
@as_json
def comment(run: str, text: str, store: str | None, *, as_json: bool) -> None:
    """Write TEXT to a run, for its agent and whoever looks at it. Nothing moves, and no token is used up.

    The next answer tells the agent. A run may be paused or over, and kept anywhere; TEXT has at most 4000
    characters.
    """
    with opened(store) as found:
        row = found_run(found.records, run)
        with openings().world(found.path) as world:
            there = where(world, row, openings().folder, found.mirrors.mirror)
            reply = commented(there, row, text, person())
    say(reply, as_json=as_json)


@contextmanager
def turning(store: str | None, run: str) -> Iterator[tuple[World, RunRow]]:
    """The world of turns over a store that is there, and the run that is meant, if it can be turned here."""
    with opened(store) as found:
        row = found_run(found.records, run)
        check_here(row)
        with openings().world(found.path) as world:
            yield world, row


def person() -> Caller:
    """Whoever typed the command."""
    return Caller(Who.PERSON, login(), "cli")
