"""The runs under way in a project, as hooks, `brief`, `watch` and `doctor` tell of them.

A hook imports this, so nothing here loads a workflow in full: `workflows.outline` says why.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

import handrail
from handrail.engine.facts import Value
from handrail.shell.homes import settings_folder
from handrail.shell.reading import whole
from handrail.shell.view import LiveRun, OpenReadOnly
from handrail.workflows.outline import StateOutline, fill_text, read_state

WORDS: Final = "spells"
"""The workflow, and the face, whose words a person types."""


class _Text(msgspec.Struct, frozen=True):
    """The text of a workflow, as `definitions.Packed` has it."""

    text: str


class _Texts(msgspec.Struct, frozen=True):
    """The part of `definitions.Packed` that is read here; that one would import the loader."""

    source: _Text
    others: Mapping[str, _Text] = msgspec.field(default_factory=dict)


def find_live_runs(open_store: OpenReadOnly, address: str, folder: str) -> tuple[LiveRun, ...]:
    """The runs under way in a folder, or in the nearest above it that has any; none without a store."""
    with open_store(address) as store:
        return store.records.live_runs(folders_above(folder)) if store else ()


def folders_above(folder: str) -> tuple[str, ...]:
    """A folder and those above it, the nearest first; a path that is not UTF-8 has no runs."""
    here = whole(Path(folder))
    return tuple(one for one in map(str, (here, *here.parents)) if _is_utf8(one))


def workflow_text(run: LiveRun) -> str:
    """The text of a run's workflow: the one that the run began with, or the one that is installed."""
    return _texts(run).source.text if run.definition else installed_text(run.workflow)


def outline_state(run: LiveRun) -> StateOutline:
    """What the state of a run asks for. Raises `ValueError` for texts that cannot be read."""
    others = _texts(run).others if run.definition else {}

    def find(name: str) -> str:
        return others[name].text if name in others else ""

    return read_state(workflow_text(run), run.state, find)


def task_text(run: LiveRun) -> str:
    """What an agent shall do now, with the inputs and variables of the run filled in."""
    parts = {"inputs": run.run.inputs, "vars": run.run.vars}
    values: dict[str, Value] = {
        f"run.{part}.{name}": value for part, given in parts.items() for name, value in given.items()
    }
    return fill_text(outline_state(run).task, values)


def installed_text(workflow: str) -> str:
    """The text of a workflow that no project can replace: the user's own, or the one that is built in.

    Empty if there is none.
    """
    own = settings_folder() / "workflows"
    ours = Path(handrail.__file__).parent / "workflows" / "library"
    places = [own / f"{workflow}.yaml", own / workflow / "workflow.yaml"]
    places += [*ours.glob(f"*/{workflow}.yaml"), *ours.glob(f"*/{workflow}/workflow.yaml")]
    return next((place.read_text("utf-8") for place in places if place.is_file()), "")


def _texts(run: LiveRun) -> _Texts:
    return msgspec.json.decode(run.definition, type=_Texts)


def _is_utf8(path: str) -> bool:
    """False of a path with bytes that Python shows as lone surrogates."""
    return not any("\ud800" <= sign <= "\udfff" for sign in path)
