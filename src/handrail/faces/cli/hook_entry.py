"""The entry of `handrail hook`: reads what the client gives, and answers nothing to what is mere talk.

A client waits for this at every message of a person and every edit of an agent, so it imports neither click
nor anything of Handrail; benchmarks/bench_hook.py has the limits.

A hook never breaks the client: whatever goes wrong here, nothing is on stdout, one line on stderr, and the
status is 0.
"""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from handrail.shell.view import OpenReadOnly

EVENTS: Final = ("prompt", "session", "edit", "stop")
CLIENTS: Final = ("claude", "codex", "gemini")
_OPTIONS: Final = ("--client", "--face", "--store")
_WORD: Final = re.compile(r"\s*([A-Za-z][\w-]{0,63})\s*(?::(.*))?", re.DOTALL)
_PICKED: Final = re.compile(
    r"\s*/(?:mcp__handrail__|mcp\.handrail\.|handrail:)?([A-Za-z][\w-]{0,63})(?:\s+(.*))?", re.DOTALL
)
"""A prompt of the server that a person picked from a menu, as clients write it, and what stands behind it."""

_NEXT: Final = 32
"""How long a message is at most that lets a run go on."""

_STORE: Final = "HANDRAIL_STORE"
_LARGEST: Final = 64 * 1024 * 1024


def answer_hook(words: Sequence[str], open_store: "OpenReadOnly") -> None:
    """Answer the hook that these words name: JSON on stdin, and on stdout if there is something to say."""
    try:
        answer = _answer(words, open_store)
        if answer:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - no fault of ours may keep a person from working
        _complain(str(error) or type(error).__name__)


def _answer(words: Sequence[str], open_store: "OpenReadOnly") -> Mapping[str, Any] | None:
    event, options = words[0] if words else "", _options(words[1:])
    client = options.get("--client", "")
    if event not in EVENTS or client not in CLIENTS:
        raise ValueError(f"say: handrail hook {'|'.join(EVENTS)} --client {'|'.join(CLIENTS)}")
    given = json.loads(sys.stdin.buffer.read(_LARGEST))
    if not isinstance(given, dict):
        raise TypeError("what came on stdin is no JSON object")
    if event == "prompt" and _is_talk(str(given.get("prompt", ""))):
        return None
    # Imports YAML and the records of a store, four times what Python takes to start: not for mere talk.
    from handrail.faces.cli.hook_answers import ANSWERS, Asked

    store = options.get("--store") or os.environ.get(_STORE, "")
    return ANSWERS[event](Asked(given, client, options.get("--face", ""), store, open_store))


def match_word(typed: str) -> re.Match[str] | None:
    """The word that a whole message may be, and the note behind it."""
    return _WORD.fullmatch(typed) or _PICKED.fullmatch(typed)


def _is_talk(typed: str) -> bool:
    """True of a message that cannot be a word, as most messages."""
    return len(typed) > _NEXT and not match_word(typed)


def _options(words: Sequence[str]) -> dict[str, str]:
    """The options of a hook, each with its value behind it or behind `=`; all else is passed over."""
    found: dict[str, str] = {}
    for number, word in enumerate(words):
        name, is_, value = word.partition("=")
        if name in _OPTIONS:
            found[name] = value if is_ else "".join(words[number + 1 : number + 2])
    return found


def _complain(why: str) -> None:
    """One line, which cannot give orders to a terminal."""
    first = "".join(sign if sign.isprintable() else "?" for sign in why.strip().partition("\n")[0])
    sys.stderr.write(f"handrail hook: {first}: handrail doctor says more\n")
