"""A workflow at a glance: what a hook must know of it, read from its text in a moment, and judged by nobody.

Whoever starts a run has loaded the text in full, and found its problems. A program that is started at every
word of a person, and every edit of an agent, has no time for that.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml

from handrail.workflows.render import Placeholder, placeholders, render

if TYPE_CHECKING:
    from handrail.engine.facts import Value

NO_EDITS: Final = "none"
"""What `edits` says where no file may be changed."""

STATE_FILE: Final = "state.json"

Find: TypeAlias = Callable[[str], str]
"""The text of the workflow of a name; empty if there is none."""

_LOADER: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_GLOB: Final = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_SAID: Final = ("instructions_to_coding_agent", "guidance")


@dataclass(frozen=True, slots=True)
class Glance:
    """What hooks must know of a workflow: the words that a person says in it, and the tool that only looks.

    `folder` and `state_file` are where a run in files is kept. `states` are those in which a run can stay.
    """

    words: tuple[str, ...] = ()
    looks: str = ""
    folder: str = ""
    state_file: str = STATE_FILE
    states: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stay:
    """What is asked of an agent in a state. `edits` are the files it may change; None: whatever it likes."""

    about: str = ""
    task: str = ""
    forbidden: tuple[str, ...] = ()
    done_when: tuple[str, ...] = ()
    edits: tuple[str, ...] | None = None


def glance(text: str) -> Glance:
    """The words and the looking tool of a workflow. Raises `ValueError` for what is no YAML."""
    document = _document(text)
    tools = _table(document.get("tools"))
    said = any(_table(tool).get("who") == "person" for tool in tools.values())
    looks = (name for name, tool in tools.items() if _table(tool).get("reads") == "true")
    kept = (str(document.get("folder", "")), str(document.get("state_file", STATE_FILE)))
    return Glance(tuple(tools) if said else (), next(looks, ""), *kept, tuple(_stays(document)))


def _stays(document: Mapping[str, Any]) -> Iterator[str]:
    for name, state in _table(document.get("states")).items():
        if not {_table(state).get("router"), _table(state).get("terminal")} & {"true"}:
            yield name
    yield from (str(_table(step).get("name", "")) for step in _list(document.get("steps")))


def stay(text: str, state: str, find: Find) -> Stay:
    """What a state of a workflow asks for; one inside another workflow is called by both, with a `/` between.

    Nothing, if there is no such state. Raises `ValueError` for what is no YAML.
    """
    document = _document(text)
    outer, _, inner = state.partition("/")
    steps = [step for step in _list(document.get("steps")) if _table(step).get("name") == outer]
    found = _table(_table(document.get("states")).get(outer) or next(iter(steps), None))
    if inner:
        return stay(find(str(found.get("workflow", ""))), inner, find)
    face = _table(found.get("face"))
    told = (str(face[name]) for name in _SAID if name in face)
    return Stay(
        str(found.get("about", "")),
        str(found.get("task", "")) or next(told, ""),
        _texts(found.get("forbidden_actions")),
        _texts(found.get("done_when")),
        _edits(found.get("edits")),
    )


def filled(text: str, values: "Mapping[str, Value]") -> str:
    """A text with the placeholders filled that have a value; the others stay as they are."""
    named = {one.name for one in placeholders(text) if isinstance(one, Placeholder)}
    return render(text, values) if named <= values.keys() else text


def allowed(edits: tuple[str, ...] | None, path: str) -> bool:
    """True if a file of a project, by its path below that, may be changed.

    In `edits` a `*` stands for anything within a name, `**` for any folders.
    """
    return edits is None or any(re.fullmatch(_pattern(glob), path, re.DOTALL) for glob in edits)


def _pattern(glob: str) -> str:
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(signs.get(piece) or re.escape(piece) for piece in _GLOB.findall(glob))


@lru_cache(maxsize=8)
def _document(text: str) -> Mapping[str, Any]:
    try:
        return _table(yaml.load(text, Loader=_LOADER))  # noqa: S506 - the loader makes nothing but texts
    except yaml.YAMLError as error:
        raise ValueError(f"a workflow is no YAML: {error}") from error


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> tuple[str, ...]:
    """A list of texts, or one text standing for a list of one."""
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),) if value else ()


def _edits(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    return () if value == NO_EDITS else _texts(value)
