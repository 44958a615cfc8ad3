"""Build refusals from evaluated rows: which rule refused, what was seen, what is needed.

`decide` adds what may be called instead.
"""

from collections.abc import Sequence

from handrail.engine.facts import Value
from handrail.engine.guards import Verdict
from handrail.engine.model import FactReading, Refused, Transition
from handrail.engine.rows import EvaluatedRow, ScopedFacts, describe_needed, read_guard_facts

# Every code a refusal can have, and what it means.
REFUSAL_CODES = {
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


def refuse_guard_error(tried: EvaluatedRow, facts: ScopedFacts) -> Refused:
    """Refuse because a guard gave an error. It never passes, and no later row is taken instead."""
    guard = tried.guards_with(Verdict.ERROR)[0]
    error = tried.outcomes[tried.guards.index(guard)].error
    return Refused(
        "guard_error",
        tried.row.id,
        (*read_guard_facts((guard,), facts(tried.row.scope)), FactReading("guard.error", error)),
        (f"`{guard.text}` that can be evaluated",),
    )


def refuse_by_row(row: Transition, facts: ScopedFacts) -> Refused:
    """Build the refusal of a row that refuses."""
    guards = (*row.when, *row.accept)
    return Refused("refused", row.id, read_guard_facts(guards, facts(row.scope)), say=row.refuse)


def refuse_unmet(code: str, tried: Sequence[EvaluatedRow], facts: ScopedFacts) -> Refused:
    """Refuse because no row holds: list each failed guard, the facts it read, and what it needs."""
    seen: dict[str, Value] = {}
    needed: list[str] = []
    for attempt in tried:
        failed = attempt.guards_with(Verdict.FAILS)
        view = facts(attempt.row.scope)
        seen |= {fact.fact: fact.value for fact in read_guard_facts(failed, view)}
        # A draft that a failed guard reads says in `problems` why its edit failed.
        read = {fact.name for guard in failed for fact in guard.facts}
        for name, _ in attempt.row.drafts:
            if f"{name}.problems" in view and any(fact.startswith(f"{name}.") for fact in read):
                seen[f"{name}.problems"] = view[f"{name}.problems"]
        needed += [describe_needed(guard) for guard in failed]
    return Refused(
        code,
        ", ".join(attempt.row.id for attempt in tried),
        tuple(FactReading(name, value) for name, value in seen.items()),
        tuple(dict.fromkeys(needed)),
    )
