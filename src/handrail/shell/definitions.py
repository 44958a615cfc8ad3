"""The workflow of a run: the text it started with is kept, and read again by any process that goes on."""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct, field

from handrail.engine.model import Workflow
from handrail.engine.problems import Problem
from handrail.shell.faults import Unreadable
from handrail.shell.ports import Runs
from handrail.shell.records import Definition, Stored
from handrail.workflows.load import Find, Source, load
from handrail.workflows.registry import BUILT_IN, Registry


class Packed(Struct, frozen=True):
    """The texts of a workflow and of those inside it: all that is needed to read it again."""

    source: Source
    others: Mapping[str, Source] = field(default_factory=dict)


class Pinned(Struct, frozen=True):
    """A workflow and the definition that a run of it keeps; or its problems."""

    workflow: Workflow | None
    definition: Definition | None
    problems: tuple[Problem, ...] = ()


def pin(source: Source, find: Find, registry: Registry = BUILT_IN) -> Pinned:
    """The workflow of a text, with what a run of it must keep."""
    others: dict[str, Source] = {}

    def found(name: str) -> Source | None:
        other = find(name)
        if other is not None:
            others[name] = other
        return other

    loaded = load(source, found, registry)
    workflow = loaded.workflow
    if workflow is None:
        return Pinned(None, None, loaded.problems)
    text = msgspec.json.encode(Packed(source, others))
    return Pinned(workflow, Definition(workflow.digest, workflow.name, workflow.version, text))


def pinned_by(runs: Runs, registry: Registry = BUILT_IN) -> Callable[[Stored], Workflow]:
    """Which workflow a run of this store walks through; each text is read once per process."""
    known: dict[str, Workflow] = {}

    def workflow_of(stored: Stored) -> Workflow:
        digest = stored.run.digest
        if digest not in known:
            known[digest] = _restored(runs, stored, registry)
        return known[digest]

    return workflow_of


def _restored(runs: Runs, stored: Stored, registry: Registry) -> Workflow:
    definition = runs.definition(stored.run.digest)
    repair = "restore the store from a backup, or fork the run with the workflow as it is now"
    if definition is None:
        raise Unreadable(f"the text of `{stored.run.workflow}` is not in the store", repair)
    try:
        packed = msgspec.json.decode(definition.text, type=Packed)
    except msgspec.DecodeError as error:
        raise Unreadable(f"the text of `{stored.run.workflow}` in the store is damaged", repair) from error
    workflow = load(packed.source, packed.others.get, registry).workflow
    if workflow is None:
        raise Unreadable(f"this program cannot read the text that `{stored.run.workflow}` began with", repair)
    return workflow
