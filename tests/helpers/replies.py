"""Whether a reply is as ruled, whatever it tells: its fields are those, and both forms say everything."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from handrail.mcp.faces import steps
from helpers.servers import TOOL, ToolAnswer

FIELDS: Final = {
    "ok": {"execution_id", "new_step_token", "next_step_contract", "human_message", "next"},
    "waiting": {"execution_id", "new_step_token", "next_step_contract", "human_message", "next"},
    "task_closed": {"execution_id", "synthesis", "human_message"},
    "error": {"execution_id", "new_step_token", "error", "code", "why", "next"},
}
ALWAYS: Final = {
    "ok": {"execution_id", "human_message"},
    "waiting": {"execution_id", "human_message"},
    "task_closed": {"execution_id", "synthesis", "human_message"},
    "error": {"error", "code", "why", "next"},
}
CONTRACT: Final = {"step_name", "allowed_actions", "forbidden_actions", "required_output_format"}


@cache
def read_tool_listing() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(steps.__file__).with_name("steps.json").read_text("utf-8"))
    return found


@cache
def _promised() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(read_tool_listing()["outputSchema"])


def find_broken_reply_rules(answer: ToolAnswer) -> list[str]:
    reply = answer.reply
    status = str(reply.get("status"))
    if status not in FIELDS:
        return [f"status {status}"]
    names = set(reply) - {"status"}
    found = [f"{name} is missing" for name in sorted(ALWAYS[status] - names)]
    found += [f"{name} does not belong here" for name in sorted(names - FIELDS[status])]
    found += [f"the text lacks {leaf!a}" for leaf in list_leaves(reply) if not _in(leaf, answer.text)]
    found += [error.message for error in _promised().iter_errors(reply)]
    if answer.failed != (status == "error"):
        found.append(f"isError is {answer.failed} for {status}")
    return [*found, *_unruled_parts(reply)]


def _unruled_parts(reply: dict[str, Any]) -> Iterator[str]:
    contract, why = reply.get("next_step_contract"), reply.get("why")
    if contract is not None and set(contract) - {"output_schema"} != CONTRACT:
        yield f"the contract has {sorted(contract)}"
    if contract is not None and "new_step_token" not in reply:
        yield "a step without a token"
    if why is not None and not (set(why) == {"rule", "seen", "needed"} and why["rule"] and why["needed"]):
        yield f"why is {why}"
    if "synthesis" in reply and set(reply["synthesis"]) != {"outcome_summary", "model_output"}:
        yield f"the synthesis has {sorted(reply['synthesis'])}"
    for call in reply.get("next", ()):
        if set(call) != {"tool", "arguments", "who"} or call["who"] not in {"agent", "person"}:
            yield f"next is {call}"
        elif call["tool"] != TOOL or find_argument_errors(call["arguments"]):
            yield f"no such call: {call}"


def find_argument_errors(arguments: dict[str, Any]) -> list[str]:
    """What the listed schema says against these arguments."""
    return [
        error.message for error in jsonschema_rs.iter_errors(read_tool_listing()["inputSchema"], arguments)
    ]


def list_leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from list_leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from list_leaves(part)


def _in(leaf: str, text: str) -> bool:
    """Whether it stands in the text, as it is or in JSON."""
    return leaf in text or json.dumps(leaf, ensure_ascii=False)[1:-1] in text
