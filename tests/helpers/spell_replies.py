"""What a reply of the face `spells` must be, whatever it tells: the words open in a state, and its form."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import jsonschema_rs

from helpers.replies import list_leaves
from helpers.servers import ToolAnswer

OPEN: Final[Mapping[str, tuple[str, ...]]] = {
    # typed from the source and the rulings; Expecto in GATHER_EDITING needs a plan.md
    "GATHER_NEEDS_PLAN": ("Accio", "Expecto", "Lumos", "Reparo"),
    "GATHER_EDITING": ("Accio", "Expecto", "Finite", "Lumos", "Reparo"),
    "ACHIEVE_TASK_DRAFTING": ("Accio", "Finite", "Lumos", "Reparo"),
    "ACHIEVE_TASK_EXECUTED": ("Accio", "Lumos"),
    "ACHIEVE_COMPLETE": ("Finite", "Lumos", "Reparo"),
    "PR_GATHERING_COMMENTS": ("Accio", "Finite", "Lumos", "Reparo", "Reverto"),
    "PR_REVIEW_TASK_DRAFT": ("Accio", "Finite", "Lumos", "Reparo", "Reverto"),
    "PR_APPLIED_PENDING_ARCHIVE": ("Accio", "Lumos"),
    "PR_CONFIRM_RESTART_COMMENTS": ("Accio", "Finite", "Lumos", "Reparo", "Reverto"),
    "PR_CONFIRM_RESTART_TASK": ("Accio", "Finite", "Lumos", "Reparo", "Reverto"),
    "ERROR_TASK_MISSING": ("Accio", "Finite", "Lumos", "Reparo"),
    "ERROR_TASK_RESULTS_MISSING": ("Accio", "Finite", "Lumos", "Reparo"),
    "ERROR_PLAN_MISSING": ("Accio", "Lumos"),
    "ERROR_COMMENTS_MISSING": ("Accio", "Finite", "Lumos", "Reparo"),
    "ERROR_REVIEW_TASK_MISSING": ("Accio", "Lumos"),
}
PHASES: Final = ("Gather Acceptance Criteria", "Achieve Acceptance Criteria", "Handle PR Reviews")
ALWAYS: Final = {
    "message_to_user",
    "instructions_to_coding_agent",
    "options",
    "state",
    "phase",
    "step_token",
}
REFUSED: Final = {"code", "why", "next"}


def find_broken_spell_rules(answer: ToolAnswer, schema: Mapping[str, Any]) -> list[str]:
    """What is not as ruled about a reply from inside a project."""
    reply = answer.reply
    wanted = ALWAYS | (REFUSED if answer.failed else set())
    found = [f"{name} is missing" for name in sorted(wanted - set(reply))]
    found += [f"{name} does not belong here" for name in sorted(set(reply) - wanted - {"sub_state"})]
    found += [f"the text lacks {leaf!a}" for leaf in list_leaves(reply) if leaf not in answer.text]
    found += [error.message for error in jsonschema_rs.iter_errors(dict(schema), reply)]
    return found or list(_odd(answer))


def _odd(answer: ToolAnswer) -> Iterator[str]:
    reply = answer.reply
    if reply["state"] not in OPEN or reply["phase"] not in PHASES:
        yield f"it stands in {reply['state']}, {reply['phase']}"
    if not (reply["message_to_user"].strip() and reply["instructions_to_coding_agent"].strip()):
        yield "it says nothing"
    if answer.failed and [call["tool"] for call in reply["next"]] != [w.lower() for w in reply["options"]]:
        yield f"{reply['next']} for {reply['options']}"
    if answer.failed and not (reply["why"]["rule"] and reply["code"]):
        yield f"it gives no reason: {reply['why']}"
