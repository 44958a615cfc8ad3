"""Find the live runs of a folder and read what their current state asks for.

Hooks, `brief`, `watch` and `doctor` use this. Because hooks must start fast, nothing here loads a workflow in
full; see `workflows.outline`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

import handrail
from handrail.engine.facts import Value
from handrail.runtime.ports.queries import LiveRun
from handrail.runtime.system import resolve_path, settings_folder
from handrail.stores.sql.reader import open_read_only
from handrail.workflows.outline import StateOutline, fill_text, read_state

# The name of the workflow and of the face whose words a person types.
SPELLS_WORKFLOW: Final = "spells"


class _Text(msgspec.Struct, frozen=True):
    """One workflow text in a `runtime.world.PackedWorkflow`."""

    text: str


class _Texts(msgspec.Struct, frozen=True):
    """The part of `runtime.world.PackedWorkflow` that is needed here.

    Importing that class would import the workflow loader.
    """

    source: _Text
    others: Mapping[str, _Text] = msgspec.field(default_factory=dict)


def find_live_runs(address: str, folder: str) -> tuple[LiveRun, ...]:
    """Find the live runs of a folder, or of its nearest parent that has any; none without a store."""
    with open_read_only(address) as store:
        return store.records.live_runs(list_parent_folders(folder)) if store else ()


def list_parent_folders(folder: str) -> tuple[str, ...]:
    """List a folder and its parents, the nearest first. Paths that are not UTF-8 have no runs."""
    start = resolve_path(Path(folder))
    # Python represents bytes that are not UTF-8 as lone surrogates.
    paths = map(str, (start, *start.parents))
    return tuple(path for path in paths if not any("\ud800" <= letter <= "\udfff" for letter in path))


def read_workflow_text(run: LiveRun) -> str:
    """Return the workflow text that the run started with; if none is stored, the installed one."""
    return _unpack_definition(run).source.text if run.definition else read_installed_workflow(run.workflow)


def outline_state(run: LiveRun) -> StateOutline:
    """Read what the current state of a run asks for. Raises `ValueError` if the text cannot be parsed."""
    others = _unpack_definition(run).others if run.definition else {}

    def find(name: str) -> str:
        return others[name].text if name in others else ""

    return read_state(read_workflow_text(run), run.state, find)


def render_task(run: LiveRun) -> str:
    """Return the agent's current task, with the inputs and variables of the run filled in."""
    parts = {"inputs": run.run.inputs, "vars": run.run.vars}
    values: dict[str, Value] = {
        f"run.{part}.{name}": value for part, variables in parts.items() for name, value in variables.items()
    }
    return fill_text(outline_state(run).task, values)


def read_installed_workflow(workflow: str) -> str:
    """Read the user's or the built-in text of a workflow; empty if there is none.

    Project files are not read, so a project cannot replace it.
    """
    own = settings_folder() / "workflows"
    built_in = Path(handrail.__file__).parent / "workflows" / "library"
    places = [own / f"{workflow}.yaml", own / workflow / "workflow.yaml"]
    places += [*built_in.glob(f"*/{workflow}.yaml"), *built_in.glob(f"*/{workflow}/workflow.yaml")]
    return next((place.read_text("utf-8") for place in places if place.is_file()), "")


def _unpack_definition(run: LiveRun) -> _Texts:
    return msgspec.json.decode(run.definition, type=_Texts)
