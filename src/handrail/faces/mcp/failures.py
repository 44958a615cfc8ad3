"""Answers to calls that failed through no fault of the caller: shaped like a refusal, no exception text."""

from collections.abc import Mapping
from typing import Any

from handrail.engine.facts import writable
from handrail.faces.mcp.face import Answer
from handrail.faces.mcp.forms import OUTPUT
from handrail.faces.mcp.replies import markdown
from handrail.faces.mcp.texts import texts
from handrail.shell.faults import Fault

TEXTS = texts("steps")


def fault_answer(tool: str, arguments: Mapping[str, Any], fault: Fault) -> Answer:
    """What the world did, and the repair; nothing has moved, so the same call may be sent again.

    The output of a step may be long and is known to whoever sent it: its place is told, not what it was.
    """
    short = {name: {} if name == OUTPUT else writable(value) for name, value in arguments.items()}
    again = {"tool": tool, "arguments": short, "who": "agent"}
    return failure(fault.code, fault.message, [fault.repair], [again])


def internal_answer(incident: str) -> Answer:
    """A bug of ours: only its number is told; the rest stands in the log."""
    return failure("internal", TEXTS.say("internal", incident=incident), [TEXTS.say("internal_needed")], [])


def failure(code: str, error: str, needed: list[str], following: list[dict[str, Any]]) -> Answer:
    """An answer that says no without a rule: what is needed, and what may be called."""
    reply = {
        "status": "error",
        "error": error,
        "code": code,
        "why": {"rule": "store" if code != "internal" else code, "seen": [], "needed": needed},
        "next": following,
    }
    return Answer(reply, markdown(reply), failed=True)
