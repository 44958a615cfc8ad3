"""A hook of a client, answered before anything is imported that takes its time.

A hook never breaks the client: whatever goes wrong here, nothing is on stdout, one line on stderr, and the
status is 0.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from handrail.shell.glances import Glances

EVENTS: Final = ("prompt", "session", "edit", "stop")
CLIENTS: Final = ("claude", "codex", "gemini")
OPTIONS: Final = ("--client", "--face", "--store")
_WORD: Final = re.compile(r"\s*([A-Za-z][\w-]{0,63})\s*(?::(.*))?", re.DOTALL)
_PICKED: Final = re.compile(
    r"\s*/(?:mcp__handrail__|mcp\.handrail\.|handrail:)?([A-Za-z][\w-]{0,63})(?:\s+(.*))?", re.DOTALL
)
"""A prompt of the server that a person picked from a menu, as clients write it, and what stands behind it."""

_NEXT: Final = 32
"""How long a message is at most that lets a run go on."""

_STORE: Final = "HANDRAIL_STORE"
_LARGEST: Final = 64 * 1024 * 1024


class Kept(Protocol):
    """What a hook can ask: how runs stand, and the key of the store."""

    @property
    def glances(self) -> "Glances":
        """How runs stand."""
        ...

    @property
    def key(self) -> Callable[[str], bytes]:
        """The key of a store."""
        ...


def asks_quickly(words: Sequence[str]) -> bool:
    """True if these words of the command line are a hook's, and nobody wants to read about it."""
    return list(words[:1]) == ["hook"] and not {"-h", "--help"} & set(words)


def quickly(words: Sequence[str], kept: Kept) -> None:
    """Answer the hook that these words name: JSON on stdin, and on stdout if there is something to say."""
    try:
        answer = _answer(words, kept)
        if answer:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - no fault of ours may keep a person from working
        _complain(str(error) or type(error).__name__)


def _answer(words: Sequence[str], kept: Kept) -> Mapping[str, Any] | None:
    event, options = words[0] if words else "", _options(words[1:])
    client = options.get("--client", "")
    if event not in EVENTS or client not in CLIENTS:
        raise ValueError(f"say: handrail hook {'|'.join(EVENTS)} --client {'|'.join(CLIENTS)}")
    given = json.loads(sys.stdin.buffer.read(_LARGEST))
    if not isinstance(given, dict):
        raise TypeError("what came on stdin is no JSON object")
    if event == "prompt" and _is_talk(str(given.get("prompt", ""))):
        return None
    from handrail.faces.cli.hooked import ANSWERS, Asked

    store = options.get("--store") or os.environ.get(_STORE, "")
    return ANSWERS[event](Asked(given, client, options.get("--face", ""), store, kept.glances, kept.key))


def worded(typed: str) -> re.Match[str] | None:
    """The word that a whole message may be, and the note behind it."""
    return _WORD.fullmatch(typed) or _PICKED.fullmatch(typed)


def _is_talk(typed: str) -> bool:
    """True of a message that is no word for sure, as most are: nothing more need be imported for it."""
    return len(typed) > _NEXT and not worded(typed)


def _options(words: Sequence[str]) -> dict[str, str]:
    """The options of a hook, each with its value behind it or behind `=`; all else is passed over."""
    found: dict[str, str] = {}
    for number, word in enumerate(words):
        name, is_, value = word.partition("=")
        if name in OPTIONS:
            found[name] = value if is_ else "".join(words[number + 1 : number + 2])
    return found


def _complain(why: str) -> None:
    """One line, which cannot give orders to a terminal."""
    first = "".join(sign if sign.isprintable() else "?" for sign in why.strip().partition("\n")[0])
    sys.stderr.write(f"handrail hook: {first}: handrail doctor says more\n")
