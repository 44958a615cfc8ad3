"""What whoever watches over a server is told of its turns: that there was one, and what came of it."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from handrail.engine.model import Accepted, Refused
from handrail.shell.faults import Fault

if TYPE_CHECKING:
    from handrail.shell.turn import Call, Outcome, Render, Reply
    from handrail.shell.world import World


class Ended(StrEnum):
    """How a turn can end."""

    ACCEPTED = "accepted"
    WAITING = "waiting"
    REFUSED = "refused"
    REPEATED = "repeated"
    FAILED = "failed"


class Came(Struct, frozen=True):
    """What came of a turn; nothing in it was written by an agent.

    `code` is that of the refusal or the fault. `workflow` and `run` are empty where the run is not known.
    """

    trigger: str
    ended: Ended
    code: str
    workflow: str
    run: str
    since: datetime
    until: datetime


Watch: TypeAlias = Callable[[Came], None]
"""Told of every turn once it is over. Must not raise, and be quick: the next turn waits for it."""


def watched(
    watch: Watch, world: "World", call: "Call", render: "Render", take: "Callable[[Render], Reply]"
) -> "Reply":
    """Take a turn, and tell who watches what came of it. Raises what the turn raises."""
    since, last = world.clock.now(), _Last()

    def rendered(outcome: "Outcome") -> "Reply":
        last.outcome = outcome
        return render(outcome)

    def told(ended: Ended, code: str) -> None:
        found = last.outcome
        run = found.stored.run.id if found and found.stored and found.stored.revision else ""
        name = found.workflow.name if found and found.workflow else ""
        known = run or (call.run if ended is Ended.REPEATED else "")
        watch(Came(call.event.trigger, ended, code, name, known, since, world.clock.now()))

    try:
        reply = take(rendered)
    except Fault as fault:
        told(Ended.FAILED, fault.code)
        raise
    told(*_how(last.outcome))
    return reply


class _Last(Struct):
    """What was rendered last: a turn that is tried again is rendered again."""

    outcome: "Outcome | None" = None


def _how(outcome: "Outcome | None") -> tuple[Ended, str]:
    if outcome is None:
        return Ended.REPEATED, ""
    match outcome.decision:
        case Refused(code=code):
            return Ended.REFUSED, code
        case Accepted():
            return Ended.ACCEPTED, ""
        case _:
            return Ended.WAITING, ""
