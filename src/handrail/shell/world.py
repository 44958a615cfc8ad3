"""The world of a turn: the ports it uses and the settings it keeps, put together by whoever starts a face."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

from handrail.engine.model import Workflow
from handrail.shell.drafts import DRAFTERS
from handrail.shell.facts import Drafter, Reader
from handrail.shell.items import ITEM_DRAFTERS, ITEM_READERS
from handrail.shell.plans import PLAN_DRAFTERS, PLAN_READERS
from handrail.shell.ports import Clock, Feed, Files, Ids, Mirror, Runs
from handrail.shell.readers import READERS
from handrail.shell.records import Stored
from handrail.shell.resolve import Resolved
from handrail.shell.watching import Watch

WorkflowOf: TypeAlias = Callable[[Stored], Workflow]
"""Which workflow a run walks through: the one it started with, or the one installed."""

Revised: TypeAlias = Callable[[Stored, Resolved], int]
"""The revision that a turn leaves, by the run before it and what it makes of the world."""


def counted(stored: Stored, _: Resolved) -> int:
    """Each turn adds one."""
    return stored.revision + 1


@dataclass(frozen=True, slots=True)
class World:
    """Everything a turn touches. `lifetime` is how long a token is good.

    Without a lifetime tokens do not expire: each is good for the revision it was issued at, and the store
    keeps none. `mirror` brings the common store up to date with a run that is kept elsewhere; what
    cannot be written there now is caught up later, and never fails a turn. `revised` says which revision a
    turn leaves. `watch`, if there is one, is told what came of each.
    """

    runs: Runs
    clock: Clock
    ids: Ids
    feed: Feed
    key: bytes
    workflow_of: WorkflowOf
    workspace: Files | None = None
    readers: Mapping[str, Reader] = field(default_factory=lambda: {**READERS, **ITEM_READERS, **PLAN_READERS})
    drafters: Mapping[str, Drafter] = field(
        default_factory=lambda: {**DRAFTERS, **ITEM_DRAFTERS, **PLAN_DRAFTERS}
    )
    lifetime: timedelta | None = timedelta(minutes=10)
    mirror: Mirror | None = None
    revised: Revised = counted
    watch: Watch | None = None
