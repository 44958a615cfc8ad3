"""Actions of a person on a run: control, complete a step, fork, comment.

`App.act` takes an `Action` and returns a reply: what happened and what to do next, or why it was refused. The
CLI and the dashboard share them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Final, TypeAlias, assert_never

import msgspec
from msgspec import Struct

from handrail.app.definitions import Definitions, find_startable
from handrail.app.run_folders import find_run_folders
from handrail.app.run_view import CODE_MEANINGS
from handrail.engine.facts import Value
from handrail.engine.fork import FORK
from handrail.engine.lifecycle import CONTINUE, CONTROL_TRIGGERS, TRIGGERS_NEEDING_REASON, is_terminal
from handrail.engine.model import Accepted, Actor, Authority, Event, Lifecycle, Option, Refused, Run, Waiting
from handrail.engine.refusals import RefusalCode
from handrail.runtime.comments import write_comment
from handrail.runtime.fork import ForkRequest, find_agent_refusal_code, fork_run
from handrail.runtime.ports.queries import RunRow
from handrail.runtime.records import Caller, Origin
from handrail.runtime.turn import Call, NewRun, Outcome, Reply, take_turn
from handrail.runtime.world import World

_NEXT_STEP_TEXTS: Final[Mapping[Lifecycle, str]] = {
    Lifecycle.RUNNING: "tell the agent: call workflow_next_step with execution_id {run}",
    Lifecycle.PAUSED: "to go on: handrail runs resume {run}",
    Lifecycle.COMPLETED: "what it made: handrail runs artifacts {run}",
    Lifecycle.FAILED: "to go on with what it has: handrail runs fork {run}",
    Lifecycle.ABANDONED: "to go on with what it has: handrail runs fork {run}",
    Lifecycle.DIVERGED: "to go on with what it has: handrail runs fork {run}",
}

COMMENT: Final = "comment"


class Control(Struct, frozen=True):
    """Send a trigger that acts on the whole run, such as pause."""

    trigger: str
    reason: str = ""


class CompleteStep(Struct, frozen=True):
    """Hand in the output of a step that the person did."""

    output: Mapping[str, Value]


class Fork(Struct, frozen=True):
    """Continue a run that has ended, from `step` or from where it was.

    With `updates_workflow`, continue with the workflow as it is now. A fork that no agent could make must be
    `confirmed`.
    """

    step: str = ""
    updates_workflow: bool = False
    confirmed: bool = False


class AddComment(Struct, frozen=True):
    """Write a comment to the run. It changes nothing else."""

    text: str


Action: TypeAlias = Control | CompleteStep | Fork | AddComment
"""What a person can do to a run; `App.act` does it."""


def is_mirrored(row: RunRow) -> bool:
    """True if another place keeps the run. Then the store only mirrors it, and only its agent moves it."""
    return row.authority is not Authority.SQL


def refuse_mirrored_run(row: RunRow) -> Reply:
    """Return the refusal to move a run that the store only mirrors."""
    project = Path(row.project)
    where = next(
        (folder.path for folder in find_run_folders(project) if folder.new_run.id == row.id), project
    )
    message = f"run {row.id} is kept in {where}, and is moved by its agent only"
    repair = f"have its agent call it there; how it stands: {inspection_command(row)}"
    return _render_error("elsewhere", message, repair)


def control_run(world: World, row: RunRow, trigger: str, reason: str, caller: Caller) -> Reply:
    """Send a trigger that acts on the whole run."""
    call = Call(row.id, Event(trigger, by=Actor.PERSON, note=reason), caller)
    return take_turn(world, call, lambda outcome: render_outcome(trigger, outcome, ""))


def complete_step_by_hand(world: World, row: RunRow, payload: Mapping[str, Value], caller: Caller) -> Reply:
    """Hand in the output of a step that a person did. The journal marks it as external."""
    call = Call(row.id, Event(CONTINUE, payload, Actor.PERSON), caller, external=True)
    done = f"{row.state} was completed by hand; "
    return take_turn(world, call, lambda outcome: render_outcome("complete-step", outcome, done))


def fork_by_hand(world: World, definitions: Definitions, row: RunRow, fork: Fork, caller: Caller) -> Reply:
    """Fork a run that has ended. If no agent could, the person must have confirmed it."""
    current = None
    if fork.updates_workflow:
        found = find_startable(definitions, row.workflow)
        if isinstance(found, Refused):
            problem = f"`{row.workflow}` as it is now cannot be taken: {CODE_MEANINGS[found.code]}"
            return _render_error(found.code, problem, "; ".join(found.needed))
        current = NewRun(found.workflow, Origin(row.face, row.authority), found.definition)
    request = ForkRequest(row.id, fork.step, caller, current)
    overrides = find_agent_refusal_code(world, request)
    if overrides and not fork.confirmed:
        begin = f"begin with `{fork.step}`" if fork.step else "begin where it stood"
        because = CODE_MEANINGS[overrides]
        return {"warning": f"no agent could {begin} ({because}): it will be entered as your override"}
    more = {"parent": row.id, "overrides": overrides or None}
    happened = f"run {row.id} was forked; "
    return fork_run(world, request, lambda outcome: render_outcome(FORK, outcome, happened, more))


def add_comment(world: World, row: RunRow, text: str, caller: Caller) -> Reply:
    """Write a comment to a run in any lifecycle. The agent sees it with its next reply."""
    refused = write_comment(world, row.id, text, caller)
    if refused:
        return render_outcome(COMMENT, Outcome(refused, None), "")
    return {
        "run": row.id,
        "workflow": row.workflow,
        "lifecycle": str(row.lifecycle),
        "state": row.state,
        "revision": row.revision,
        "told": f"the comment was written to run {row.id}",
        "then": f"the next answer tells its agent; how it stands: handrail runs show {row.id}",
    }


def inspection_command(row: RunRow) -> str:
    """Return the command that shows a run kept in files or a commit, and what can be fixed there."""
    if row.authority is Authority.DESCRIPTION:
        return f"handrail plan show --project {quote(row.project)}"
    title = f" {row.face}/{row.goal}" if row.goal else ""
    return f"handrail repair{title} --project {quote(row.project)}"


def render_outcome(
    action: str, outcome: Outcome, happened: str, more: Mapping[str, object] | None = None
) -> Reply:
    """Render the outcome of an action, as `--json` prints it.

    The sentence begins with `happened`, then describes the run. `more` is added unless the action was
    refused.
    """
    stored = outcome.stored
    match outcome.decision:
        case Refused() as refused:
            return {"error": _refusal_data(action, refused, stored.run if stored else None)}
        case Waiting(run, _, waits_for):
            next_step = "what it waits for: handrail runs show {run}"
        case Accepted(run):
            waits_for, next_step = (), _NEXT_STEP_TEXTS[run.lifecycle]
        case _:
            assert_never(outcome.decision)
    states = ", ".join(step.state for step in run.open)
    status = f"{run.lifecycle} in {states}" if states else str(run.lifecycle)
    if waits_for:
        status = f"{status} and waits for {', '.join(waits_for)}"
    return {
        "run": run.id,
        "workflow": run.workflow,
        "lifecycle": str(run.lifecycle),
        "state": states,
        "revision": stored.revision if stored else 0,
        "told": f"{happened}run {run.id} is {status}",
        "then": next_step.format(run=run.id),
        **(more or {}),
    }


def _render_error(code: str, message: str, repair: str) -> Reply:
    return {"error": {"code": code, "message": message, "repair": repair}}


def _refusal_data(action: str, refused: Refused, run: Run | None) -> dict[str, object]:
    meaning = f": {CODE_MEANINGS[refused.code]}" if refused.code in CODE_MEANINGS else ""
    options = _options_data(refused.next, run)
    return {
        "code": refused.code,
        "message": f"{action} was refused as {refused.code}{meaning}",
        "repair": _repair_text(refused, options),
        "why": {
            "rule": refused.rule,
            "seen": msgspec.to_builtins(refused.seen),
            "needed": list(refused.needed),
        },
        "next": options,
    }


def _options_data(options: Sequence[Option], run: Run | None) -> list[dict[str, str]]:
    """List the options, each with the command a person can type; the command is empty if there is none."""
    if run is None:
        return []
    possible = [
        {"trigger": option.trigger, "who": str(option.who), "command": _option_command(option.trigger, run)}
        for option in options
    ]
    fork = {"trigger": FORK, "who": str(Actor.PERSON), "command": f"handrail runs fork {run.id}"}
    return [*possible, fork] if is_terminal(run.lifecycle) and not possible else possible


def _option_command(trigger: str, run: Run) -> str:
    if trigger == CONTINUE:
        return f"handrail runs complete-step {run.id} --output FILE"
    if trigger == FORK:
        return f"handrail runs fork {run.id} --step NAME"
    reason = " --reason TEXT" if trigger in TRIGGERS_NEEDING_REASON else ""
    return f"handrail runs {trigger} {run.id}{reason}" if trigger in CONTROL_TRIGGERS else ""


def _repair_text(refused: Refused, options: Sequence[Mapping[str, str]]) -> str:
    if refused.code is RefusalCode.REASON:
        return "give it with --reason TEXT"
    described = "; ".join(map(_describe_option, options))
    return f"possible now: {described}" if described else "handrail runs list"


def _describe_option(option: Mapping[str, str]) -> str:
    who = f"{option['trigger']}, by the {option['who']}"
    if not option["command"]:
        return who
    return option["command"] if option["who"] == Actor.PERSON else f"{who}, or by you: {option['command']}"
