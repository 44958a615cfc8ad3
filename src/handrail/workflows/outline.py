"""Read the outline of a workflow, which hooks and briefs show, from its text without compiling it.

`load.load_workflow` compiles every guard and checks the whole text. Importing it takes as long as four starts
of Python, and a hook starts at every message of a person and every edit of an agent. A run began with a text
that was loaded in full, so nothing is checked again here.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import yaml
from msgspec import Struct

from handrail.engine.facts import Value
from handrail.engine.model import STATE_FILES
from handrail.workflows.templates import Placeholder, find_placeholders, render_template

# The value of `edits` if no file may be changed.
NO_EDITS: Final = "none"

# A function that returns the text of the workflow with this name; empty if there is none.
TextFinder: TypeAlias = Callable[[str], str]
_LOADER: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_GLOB: Final = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_GLOB_SIGNS: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_INSTRUCTION_KEYS: Final = ("instructions_to_coding_agent", "guidance")


class Outline(Struct, frozen=True):
    """A workflow in short: the words that a person can say in it, and the tool that only reads.

    `folder` and `state_file` are where a run in files is kept. `states` are those in which a run can stay.
    """

    words: tuple[str, ...] = ()
    looks: str = ""
    folder: str = ""
    state_file: str = STATE_FILES[0]
    states: tuple[str, ...] = ()


class StateOutline(Struct, frozen=True):
    """What a state asks of an agent. `edits` are the files that it may change; None means any file."""

    about: str = ""
    task: str = ""
    forbidden: tuple[str, ...] = ()
    done_when: tuple[str, ...] = ()
    edits: tuple[str, ...] | None = None


def read_outline(text: str) -> Outline:
    """Return the outline of a workflow. Raises `ValueError` for a text that is not YAML."""
    document = _load_document(text)
    tools = _as_table(document.get("tools"))
    has_person_tool = any(_as_table(tool).get("who") == "person" for tool in tools.values())
    reading_tools = (name for name, tool in tools.items() if _as_table(tool).get("reads") == "true")
    states = [
        name
        for name, state in _as_table(document.get("states")).items()
        if "true" not in {_as_table(state).get("router"), _as_table(state).get("terminal")}
    ]
    states += [str(_as_table(step).get("name", "")) for step in _as_list(document.get("steps"))]
    return Outline(
        tuple(tools) if has_person_tool else (),
        next(reading_tools, ""),
        str(document.get("folder", "")),
        str(document.get("state_file", STATE_FILES[0])),
        tuple(states),
    )


def read_state(text: str, state: str, find: TextFinder) -> StateOutline:
    """Return what a state of a workflow asks for; empty if there is no such state.

    A state inside a sub-workflow is named `outer/inner`. Raises `ValueError` for a text that is not YAML.
    """
    document = _load_document(text)
    outer, _, inner = state.partition("/")
    steps = [step for step in _as_list(document.get("steps")) if _as_table(step).get("name") == outer]
    table = _as_table(_as_table(document.get("states")).get(outer) or next(iter(steps), None))
    if inner:
        return read_state(find(str(table.get("workflow", ""))), inner, find)
    face, edits = _as_table(table.get("face")), table.get("edits")
    instructions = (str(face[name]) for name in _INSTRUCTION_KEYS if name in face)
    allowed = () if edits == NO_EDITS else _as_texts(edits)
    return StateOutline(
        str(table.get("about", "")),
        str(table.get("task", "")) or next(instructions, ""),
        _as_texts(table.get("forbidden_actions")),
        _as_texts(table.get("done_when")),
        None if edits is None else allowed,
    )


def fill_text(text: str, values: Mapping[str, Value]) -> str:
    """Return a text with its placeholders filled, or unchanged if one of them has no value."""
    named = {item.name for item in find_placeholders(text) if isinstance(item, Placeholder)}
    return render_template(text, values) if named <= values.keys() else text


def allows_edit(edits: tuple[str, ...] | None, path: str) -> bool:
    """True if a project file may be changed. In `edits`, `*` is anything within a name, `**` any folders."""
    if edits is None:
        return True
    pieces = [_GLOB.findall(glob) for glob in edits]
    patterns = ["".join(_GLOB_SIGNS.get(piece) or re.escape(piece) for piece in each) for each in pieces]
    return any(re.fullmatch(pattern, path, re.DOTALL) for pattern in patterns)


@lru_cache(maxsize=8)
def _load_document(text: str) -> Mapping[str, Any]:
    try:
        return _as_table(yaml.load(text, Loader=_LOADER))  # noqa: S506 - the base loader builds only texts
    except yaml.YAMLError as error:
        raise ValueError(f"a workflow is no YAML: {error}") from error


def _as_table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _as_texts(value: object) -> tuple[str, ...]:
    """Return a list of texts; one text counts as a list of one."""
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),) if value else ()
