"""The links of a plan as facts of a turn: which are new, and the list of those handed on with them added."""

from collections.abc import Mapping
from typing import Final

from handrail.documents.links import fresh, handed, merged, safe_id
from handrail.engine.facts import Value
from handrail.shell.facts import Asked, Drafted, Drafter, Reader

_PLAN: Final = "plan.md"
_REFS: Final = "atlassian/refs"


def _new(asked: Asked, of: tuple[str, ...]) -> Value:
    plan, refs = (_text(asked.sight.read(path)) for path in of)
    return len(fresh(plan, refs))


def _refs(asked: Asked) -> Drafted:
    """The list with the new links; one that is no text cannot be added to without losing what it holds."""
    data = asked.sight.read(_REFS) or b""
    try:
        refs = data.decode()
    except UnicodeDecodeError:
        problem = f"{_REFS} is not UTF-8 text: save it as UTF-8, one link a line, or move it away"
        return Drafted({"ok": False, "problems": [problem], "listed": []})
    links = handed(fresh(_text(asked.sight.read(_PLAN)), refs))
    listed: Value = [f"{link} → {safe_id(link)}" for link in links]
    return Drafted({"ok": True, "problems": [], "listed": listed}, {"text": merged(refs, links)})


def _text(data: bytes | None) -> str:
    """A file as text; what is no text in it is marked, and nothing if it is not there."""
    return (data or b"").decode(errors="replace")


READERS: Final[Mapping[str, Reader]] = {"links.new": _new}
"""How facts about links are read."""

DRAFTERS: Final[Mapping[str, Drafter]] = {"links.refs": _refs}
"""How the list of links is edited on paper."""
