"""Whether a workflow may be started: it is there, sound, kept in a store, trusted, and has its personas."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from handrail.engine.model import Authority, Refused, Seen, Workflow
from handrail.shell.definitions import Pinned
from handrail.shell.hiding import Untrusted
from handrail.shell.records import Definition
from handrail.shell.shelf import Shelf

DIFF: Final = "diff"
"""What is seen of a file that hides another."""

CODES: Final[Mapping[str, str]] = {
    "unknown_workflow": "there is no workflow of that name that can be started here",
    "broken_workflow": "the file of the workflow has problems",
    "untrusted": "a file of the project hides another one, and nobody has trusted it",
    "persona_missing": "a step of the workflow names a persona that is not there",
}
"""Every code of a refusal that is about starting a workflow."""


class Startable(Struct, frozen=True):
    """A workflow that may be started, and what a run of it keeps."""

    workflow: Workflow
    definition: Definition | None


def startable(shelf: Shelf, name: str) -> Startable | Refused:
    """The workflow of this name, or why it cannot be started."""
    found = usable(shelf, name)
    if found is None or (isinstance(found, Startable) and found.workflow.authority is not Authority.SQL):
        return _unknown(shelf, name)
    if isinstance(found, Refused):
        return found
    return _unready(shelf, found.workflow) or found


def usable(shelf: Shelf, name: str) -> Startable | Refused | None:
    """The workflow of this name, wherever its runs are kept, or why it cannot be used; None if it is none."""
    pinned = shelf.pinned(name)
    if isinstance(pinned, Untrusted):
        return _untrusted(pinned)
    if pinned is None:
        return None
    if pinned.workflow is None:
        first = [f"{p.place.file}:{p.place.line}: {p.message}" for p in pinned.problems[:5]]
        return Refused("broken_workflow", name, (Seen("problems", len(pinned.problems)),), tuple(first))
    return Startable(pinned.workflow, pinned.definition)


def _unready(shelf: Shelf, workflow: Workflow) -> Refused | None:
    """Why a sound workflow cannot be started here: a file it would use is not trusted, or is not there."""
    if hiding := shelf.blocking(workflow):
        return _untrusted(hiding[0])
    agents = sorted({state.brief.agent for state in workflow.states.values() if state.brief})
    missing = [agent for agent in agents if shelf.persona(agent) is None]
    if not missing:
        return None
    needed = tuple(f"the file .handrail/agents/{agent}.md" for agent in missing)
    return Refused("persona_missing", workflow.name, (Seen("personas", missing),), needed)


def names(shelf: Shelf) -> tuple[str, ...]:
    """The names of the workflows that this face can start."""
    found = {one.name: shelf.pinned(one.name) for one in shelf.workflows() if not one.hidden}
    return tuple(
        name
        for name, pinned in found.items()
        if isinstance(pinned, Untrusted)
        or (isinstance(pinned, Pinned) and pinned.workflow and pinned.workflow.authority is Authority.SQL)
    )


def _unknown(shelf: Shelf, name: str) -> Refused:
    known = ", ".join(names(shelf))
    return Refused("unknown_workflow", "template_name", (Seen("template_name", name),), (f"one of {known}",))


def _untrusted(hiding: Untrusted) -> Refused:
    seen = (Seen("file", str(hiding.path)), Seen("hides", str(hiding.hides)), Seen(DIFF, hiding.diff))
    return Refused("untrusted", hiding.name, seen, (f"a person runs: handrail trust {hiding.name}",))
