"""Entry point of `handrail hook`: read the client's JSON and return early for ordinary chat messages.

A client waits for this at every user message and every agent edit. So it imports neither click nor most of
Handrail; benchmarks/bench_hook.py has the limits.

A hook never breaks the client. On any error stdout stays empty, stderr gets one line, and the status is 0.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from handrail.documents.text import match_command_word

HOOK_EVENTS: Final = ("prompt", "session", "edit", "stop")
HOOK_CLIENTS: Final = ("claude", "codex", "gemini")
_OPTIONS: Final = ("--client", "--face", "--store")
# The longest message that can mean "continue the run".
_MAX_CONTINUE_CHARACTERS: Final = 32
_STORE_VARIABLE: Final = "HANDRAIL_STORE"
_MAX_INPUT_BYTES: Final = 64 * 1024 * 1024


def answer_hook(words: Sequence[str]) -> None:
    """Run the hook named by the command line: JSON on stdin, and JSON on stdout if there is an answer."""
    try:
        answer = _answer(words)
        if answer:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - our faults must not block the user's work
        why = (str(error) or type(error).__name__).strip().partition("\n")[0]
        line = "".join(sign if sign.isprintable() else "?" for sign in why)
        sys.stderr.write(f"handrail hook: {line}: handrail doctor says more\n")


def _answer(words: Sequence[str]) -> Mapping[str, Any] | None:
    event, options = words[0] if words else "", _parse_options(words[1:])
    client = options.get("--client", "")
    if event not in HOOK_EVENTS or client not in HOOK_CLIENTS:
        raise ValueError(f"say: handrail hook {'|'.join(HOOK_EVENTS)} --client {'|'.join(HOOK_CLIENTS)}")
    given = json.loads(sys.stdin.buffer.read(_MAX_INPUT_BYTES))
    if not isinstance(given, dict):
        raise TypeError("what came on stdin is no JSON object")
    typed = str(given.get("prompt", ""))
    if event == "prompt" and len(typed) > _MAX_CONTINUE_CHARACTERS and not match_command_word(typed):
        return None
    # This import loads YAML and the store reader. It takes four times as long as starting Python, so ordinary
    # messages return before it.
    from handrail.clients.hooks import HOOK_HANDLERS, HookRequest  # noqa: PLC0415 - the reason above

    store = options.get("--store") or os.environ.get(_STORE_VARIABLE, "")
    return HOOK_HANDLERS[event](HookRequest(given, client, options.get("--face", ""), store))


def _parse_options(words: Sequence[str]) -> dict[str, str]:
    """Parse `--name value` and `--name=value`. Ignore everything else."""
    options: dict[str, str] = {}
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in _OPTIONS:
            options[name] = value if equals else "".join(words[number + 1 : number + 2])
    return options
