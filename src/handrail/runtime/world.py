"""`World`: everything a turn touches, in one value. Also the workflow that a run is pinned to.

Start at `World`. The store keeps the workflow text that a run started with, so that any process can load it
again and continue.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from handrail.engine.model import Workflow
from handrail.engine.problems import Problem
from handrail.runtime.errors import Unreadable
from handrail.runtime.gather import Drafter, FactReader, load_drafters, load_readers
from handrail.runtime.ports.turn import Clock, Feed, Files, IdSource, Mirror, Runs
from handrail.runtime.records import Definition, StoredRun
from handrail.runtime.resolve import ResolvedEffects
from handrail.workflows.load import SourceFinder, WorkflowSource, load_workflow
from handrail.workflows.registry import BUILT_IN_REGISTRY, Registry

WorkflowLookup: TypeAlias = Callable[[str, str], Workflow]
"""Returns the workflow that a run started with, by digest and name."""

RevisionRule: TypeAlias = Callable[[StoredRun, ResolvedEffects], int]
"""Returns the revision after a turn, given the run before it and its resolved effects."""


class TurnResult(StrEnum):
    """The result of a turn."""

    ACCEPTED = "accepted"
    WAITING = "waiting"
    REFUSED = "refused"
    REPEATED = "repeated"
    FAILED = "failed"


class TurnReport(Struct, frozen=True):
    """The report of a finished turn. It contains no text written by an agent.

    `code` is the code of the refusal or the fault. `workflow` and `run` are empty if the run is unknown.
    """

    trigger: str
    ended: TurnResult
    code: str
    workflow: str
    run: str
    since: datetime
    until: datetime


TurnObserver: TypeAlias = Callable[[TurnReport], None]
"""Receives the report of every turn. Must not raise and must be quick: the next turn waits for it."""


class World(Struct, frozen=True):
    """Everything a turn touches.

    - `lifetime`: how long a token is valid. None: tokens do not expire, each is valid at the revision it was
      issued at, and the store keeps none.
    - `mirror`: copies a run that is kept elsewhere into the common store. A failed copy is made up for
      later and never fails a turn.
    - `workflow`: the installed workflow, which a run in files or in a commit follows. None: `workflow_of`
      finds the one that the run started with.
    - `readers`, `drafters`: return what reads facts and tries edits, loaded on first use.
    - `next_revision`: returns the revision after a turn. None: each turn adds one.
    - `watch`: receives the report of each turn.
    """

    runs: Runs
    clock: Clock
    ids: IdSource
    feed: Feed
    key: bytes
    workflow_of: WorkflowLookup
    workspace: Files | None = None
    workflow: Workflow | None = None
    readers: Callable[[], Mapping[str, FactReader]] = load_readers
    drafters: Callable[[], Mapping[str, Drafter]] = load_drafters
    lifetime: timedelta | None = timedelta(minutes=10)
    mirror: Mirror | None = None
    next_revision: RevisionRule | None = None
    watch: TurnObserver | None = None


# The workflow that a run is pinned to.


class PackedWorkflow(Struct, frozen=True):
    """The texts of a workflow and its sub-workflows: all that is needed to load it again."""

    source: WorkflowSource
    others: Mapping[str, WorkflowSource] = field(default_factory=dict)


class PinnedWorkflow(Struct, frozen=True):
    """A workflow and the definition that its runs keep; or the problems in its text."""

    workflow: Workflow | None
    definition: Definition | None
    problems: tuple[Problem, ...] = ()


def pin_workflow(
    source: WorkflowSource, find: SourceFinder, registry: Registry = BUILT_IN_REGISTRY
) -> PinnedWorkflow:
    """Load a workflow together with the definition that a run of it must keep."""
    others: dict[str, WorkflowSource] = {}

    def find_and_keep(name: str) -> WorkflowSource | None:
        other = find(name)
        if other is not None:
            others[name] = other
        return other

    loaded = load_workflow(source, find_and_keep, registry)
    workflow = loaded.workflow
    if workflow is None:
        return PinnedWorkflow(None, None, loaded.problems)
    text = msgspec.json.encode(PackedWorkflow(source, others))
    return PinnedWorkflow(workflow, Definition(workflow.digest, workflow.name, workflow.version, text))


def build_workflow_lookup(runs: Runs, registry: Registry = BUILT_IN_REGISTRY) -> WorkflowLookup:
    """Return a lookup for the workflows of runs in this store. Each text is loaded once per process."""

    @cache
    def workflow_of(digest: str, name: str) -> Workflow:
        definition = runs.definition(digest)
        repair = "restore the store from a backup, or fork the run with the workflow as it is now"
        if definition is None:
            raise Unreadable(f"the text of `{name}` is not in the store", repair)
        try:
            packed = msgspec.json.decode(definition.text, type=PackedWorkflow)
        except msgspec.DecodeError as error:
            raise Unreadable(f"the text of `{name}` in the store is damaged", repair) from error
        workflow = load_workflow(packed.source, packed.others.get, registry).workflow
        if workflow is None:
            raise Unreadable(f"this program cannot read the text that `{name}` began with", repair)
        return workflow

    return workflow_of
