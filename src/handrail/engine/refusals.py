"""Refusals from choices: which rule, what was seen, what is needed; `decide` adds what may be called."""

from collections.abc import Iterator, Mapping, Sequence

from handrail.engine.choose import FactsOf, Tried, needed, seen
from handrail.engine.facts import Value
from handrail.engine.guards import Guard, Verdict
from handrail.engine.model import Refused, Seen, Transition

CODES = {
    "arguments": "an input or a parameter is unknown, missing or of the wrong type",
    "attempts_spent": "the step has been tried as often as the workflow lets an agent try it",
    "contract": "the step output breaks the step's contract",
    "guard_error": "a guard could not be evaluated; nothing moves until the workflow or the fact is mended",
    "kept_elsewhere": "the run lives in files or in a commit, where there is one only: it cannot be forked",
    "later_step": "an agent forks a run where it stood or where it has been, not further on",
    "no_row": "this state does not know the trigger",
    "no_target": "the row goes to the state a variable holds, and the variable holds none",
    "not_accepted": "a row is open, but what came with the event does not meet its `accept`",
    "not_ended": "only a run that has ended can be forked",
    "not_now": "the state knows the trigger, but no row's `when` holds",
    "not_running": "the run's lifecycle does not allow it",
    "not_yours": "the trigger is the word of somebody else",
    "reason": "a reason must be given",
    "refused": "a row of the workflow refuses this",
    "router_loop": "a router was reached twice in one turn",
    "router_stuck": "no row of a router holds",
    "unknown_state": "the workflow has no such state",
    "unknown_step": "the workflow has no such step to fork the run at",
    "which_step": "several steps are open, or none with this number",
    "wrong_value": "a row would set a variable to a value that it may not hold",
}
"""Every code a refusal can have, and what it means."""


def broken(tried: Tried, facts: FactsOf) -> Refused:
    """A guard that could not be evaluated refuses: it never passes, and no later row takes its place."""
    guard = tried.guards_that(Verdict.ERROR)[0]
    error = tried.outcomes[tried.guards.index(guard)].error
    return Refused(
        "guard_error",
        tried.row.id,
        (*seen((guard,), facts(tried.row.scope)), Seen("guard.error", error)),
        (f"`{guard.text}` that can be evaluated",),
    )


def said(row: Transition, facts: FactsOf) -> Refused:
    """The refusal that a row of the workflow is."""
    guards = (*row.when, *row.accept)
    return Refused("refused", row.id, seen(guards, facts(row.scope)), say=row.refuse)


def unmet(code: str, tried: Sequence[Tried], facts: FactsOf) -> Refused:
    """No row: each line that failed, the facts it saw, and what it needs."""
    seen_: dict[str, Value] = {}
    needed_: list[str] = []
    for attempt in tried:
        failed = attempt.guards_that(Verdict.FAILS)
        view = facts(attempt.row.scope)
        seen_ |= {fact.fact: fact.value for fact in seen(failed, view)}
        seen_ |= {
            f"{name}.problems": view[f"{name}.problems"] for name in _drafts_of(failed, attempt.row, view)
        }
        needed_ += [needed(guard) for guard in failed]
    return Refused(
        code,
        ", ".join(attempt.row.id for attempt in tried),
        tuple(Seen(name, value) for name, value in seen_.items()),
        tuple(dict.fromkeys(needed_)),
    )


def _drafts_of(guards: Sequence[Guard], row: Transition, view: Mapping[str, Value]) -> Iterator[str]:
    """The drafts these guards read, if they can say what is wrong: an edit that failed tells why."""
    read = {fact.name for guard in guards for fact in guard.facts}
    for name, _ in row.drafts:
        if f"{name}.problems" in view and any(fact.startswith(f"{name}.") for fact in read):
            yield name
