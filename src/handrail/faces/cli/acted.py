"""What a person is told who acted on a run: what happened and what to do next, or why it was refused."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, assert_never

import click
import msgspec

from handrail.engine.fork import FORK
from handrail.engine.lifecycle import CONTINUE, CONTROLS, NEEDS_REASON, terminal
from handrail.engine.model import Accepted, Lifecycle, Option, Refused, Run, Waiting, Who
from handrail.faces.cli.output import Failure, one_line, print_json
from handrail.faces.cli.told import MEANINGS
from handrail.shell.turn import Outcome, Reply

_THEN: Final[Mapping[Lifecycle, str]] = {
    Lifecycle.RUNNING: "tell the agent: call workflow_next_step with execution_id {run}",
    Lifecycle.PAUSED: "to go on: handrail runs resume {run}",
    Lifecycle.COMPLETED: "what it made: handrail runs artifacts {run}",
    Lifecycle.FAILED: "to go on with what it has: handrail runs fork {run}",
    Lifecycle.ABANDONED: "to go on with what it has: handrail runs fork {run}",
    Lifecycle.DIVERGED: "to go on with what it has: handrail runs fork {run}",
}
_REASON: Final = "reason"
_WAITS: Final = "what it waits for: handrail runs show {run}"


class Refusal(Failure):
    """A call that was refused: the code, the rule and what it saw, what is needed, and what is possible."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["code"], error["message"], error["repair"])
        self.error = error

    def data(self) -> dict[str, object]:
        """What programs are told."""
        return dict(self.error)

    def lines(self) -> tuple[str, ...]:
        """What was seen and what is needed, line by line, then the repair; which may say all of it."""
        why = self.error["why"]
        if self.code == _REASON:
            return (self.repair,)
        seen = [f"seen: {one['fact']} = {msgspec.json.encode(one['value']).decode()}" for one in why["seen"]]
        return (*seen, *(f"needed: {line}" for line in why["needed"]), self.repair)


def rendered(action: str, outcome: Outcome, happened: str, more: Mapping[str, object] | None = None) -> Reply:
    """The outcome of an action, as `--json` prints it; `happened` is told first, then how the run stands.

    `more` is what else there is to say if it was not refused.
    """
    stored = outcome.stored
    match outcome.decision:
        case Refused() as refused:
            return {"error": _refused(action, refused, stored.run if stored else None)}
        case Waiting(run, _, facts):
            stands, then = f"{_stands(run)} and waits for {', '.join(facts)}", _WAITS
        case Accepted(run):
            stands, then = _stands(run), _THEN[run.lifecycle]
        case _:
            assert_never(outcome.decision)
    return {
        "run": run.id,
        "workflow": run.workflow,
        "lifecycle": str(run.lifecycle),
        "state": _where(run),
        "revision": stored.revision if stored else 0,
        "told": f"{happened}run {run.id} is {stands}",
        "then": then.format(run=run.id),
        **(more or {}),
    }


def say(reply: Reply, *, as_json: bool) -> None:
    """Print what happened, and what to do next on stderr; a refusal ends the command."""
    error = reply.get("error")
    if isinstance(error, Mapping):
        raise Refusal(error)
    if as_json:
        print_json(dict(reply))
    else:
        told(reply)


def told(reply: Reply) -> None:
    """Print what happened, and what to do next on stderr; a refusal as a failure is told."""
    error = reply.get("error")
    if isinstance(error, Mapping):
        why = Refusal(error) if "why" in error else Failure(error["code"], error["message"], error["repair"])
        why.as_json = False
        click.echo(f"{one_line(str(reply['run']))}:", err=True)
        why.show()
        return
    click.echo(one_line(str(reply["told"])))
    click.echo(f"  {one_line(str(reply['then']))}", err=True)


def _where(run: Run) -> str:
    return ", ".join(step.state for step in run.open)


def _stands(run: Run) -> str:
    return f"{run.lifecycle} in {_where(run)}" if run.open else str(run.lifecycle)


def _refused(action: str, refused: Refused, run: Run | None) -> dict[str, object]:
    meaning = f": {MEANINGS[refused.code]}" if refused.code in MEANINGS else ""
    options = _options(refused.next, run)
    return {
        "code": refused.code,
        "message": f"{action} was refused as {refused.code}{meaning}",
        "repair": _repair(refused, options),
        "why": {
            "rule": refused.rule,
            "seen": msgspec.to_builtins(refused.seen),
            "needed": list(refused.needed),
        },
        "next": options,
    }


def _options(options: Sequence[Option], run: Run | None) -> list[dict[str, str]]:
    """What is possible now, with the command that a person types for it, if there is one."""
    if run is None:
        return []
    found = [
        {"trigger": option.trigger, "who": str(option.who), "command": _command(option.trigger, run)}
        for option in options
    ]
    ended = {"trigger": FORK, "who": str(Who.PERSON), "command": f"handrail runs fork {run.id}"}
    return [*found, ended] if terminal(run.lifecycle) and not found else found


def _command(trigger: str, run: Run) -> str:
    if trigger == CONTINUE:
        return f"handrail runs complete-step {run.id} --output FILE"
    if trigger == FORK:
        return f"handrail runs fork {run.id} --step NAME"
    reason = " --reason TEXT" if trigger in NEEDS_REASON else ""
    return f"handrail runs {trigger} {run.id}{reason}" if trigger in CONTROLS else ""


def _repair(refused: Refused, options: Sequence[Mapping[str, str]]) -> str:
    if refused.code == _REASON:
        return "give it with --reason TEXT"
    told = "; ".join(map(_possible, options))
    return f"possible now: {told}" if told else "handrail runs list"


def _possible(option: Mapping[str, str]) -> str:
    who = f"{option['trigger']}, by the {option['who']}"
    if not option["command"]:
        return who
    return option["command"] if option["who"] == Who.PERSON else f"{who}, or by you: {option['command']}"
