"""The outline of a workflow: what hooks and briefs say about it, read from its text without compiling it.

`load.load` compiles every guard and checks the whole text. Importing it takes as long as four starts of
Python, and a hook is started at every message of a person and every edit of an agent. A run began with a
text that was loaded in full, so nothing is checked again here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml
from msgspec import Struct

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


class Outline(Struct, frozen=True):
    """A workflow in short: the words that a person says in it, and the tool that only looks.

    `folder` and `state_file` are where a run in files is kept. `states` are those in which a run can stay.
    """

    words: tuple[str, ...] = ()
    looks: str = ""
    folder: str = ""
    state_file: str = STATE_FILE
    states: tuple[str, ...] = ()


class StateOutline(Struct, frozen=True):
    """What a state asks of an agent. `edits` are the files that it may change; None: any file."""

    about: str = ""
    task: str = ""
    forbidden: tuple[str, ...] = ()
    done_when: tuple[str, ...] = ()
    edits: tuple[str, ...] | None = None


def read_outline(text: str) -> Outline:
    """The outline of a workflow. Raises `ValueError` for a text that is not YAML."""
    document = _document(text)
    tools = _table(document.get("tools"))
    said = any(_table(tool).get("who") == "person" for tool in tools.values())
    looks = (name for name, tool in tools.items() if _table(tool).get("reads") == "true")
    kept = (str(document.get("folder", "")), str(document.get("state_file", STATE_FILE)))
    return Outline(tuple(tools) if said else (), next(looks, ""), *kept, tuple(_stays(document)))


def _stays(document: Mapping[str, Any]) -> Iterator[str]:
    for name, state in _table(document.get("states")).items():
        if not {_table(state).get("router"), _table(state).get("terminal")} & {"true"}:
            yield name
    yield from (str(_table(step).get("name", "")) for step in _list(document.get("steps")))


def read_state(text: str, state: str, find: Find) -> StateOutline:
    """What a state of a workflow asks for; one inside another workflow is called by both, with a `/` between.

    Nothing, if there is no such state. Raises `ValueError` for a text that is not YAML.
    """
    document = _document(text)
    outer, _, inner = state.partition("/")
    steps = [step for step in _list(document.get("steps")) if _table(step).get("name") == outer]
    found = _table(_table(document.get("states")).get(outer) or next(iter(steps), None))
    if inner:
        return read_state(find(str(found.get("workflow", ""))), inner, find)
    face = _table(found.get("face"))
    told = (str(face[name]) for name in _SAID if name in face)
    return StateOutline(
        str(found.get("about", "")),
        str(found.get("task", "")) or next(told, ""),
        _texts(found.get("forbidden_actions")),
        _texts(found.get("done_when")),
        _edits(found.get("edits")),
    )


def fill_text(text: str, values: "Mapping[str, Value]") -> str:
    """A text with the placeholders filled that have a value; the others stay as they are."""
    named = {one.name for one in placeholders(text) if isinstance(one, Placeholder)}
    return render(text, values) if named <= values.keys() else text


def allows_edit(edits: tuple[str, ...] | None, path: str) -> bool:
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
