"""The world of a turn: the ports it uses and the settings it keeps, put together by whoever starts a face."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct, field

from handrail.engine.model import Workflow
from handrail.shell.facts import Drafter, Reader
from handrail.shell.ports import Clock, Feed, Files, Ids, Mirror, Runs
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


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Late(Mapping[str, Value], Generic[Value]):
    """What is found by name, imported when somebody first asks: most runs read no document."""

    found: Callable[[], Mapping[str, Value]]

    def __getitem__(self, name: str) -> Value:
        """What is called so."""
        return self.found()[name]

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self.found())

    def __len__(self) -> int:
        """How many there are."""
        return len(self.found())


@cache
def _readers() -> Mapping[str, Reader]:
    from handrail.shell.items import ITEM_READERS  # noqa: PLC0415 - only for runs that read documents
    from handrail.shell.plans import PLAN_READERS  # noqa: PLC0415 - the same
    from handrail.shell.readers import READERS  # noqa: PLC0415 - the same

    return {**READERS, **ITEM_READERS, **PLAN_READERS}


@cache
def _drafters() -> Mapping[str, Drafter]:
    from handrail.shell.drafts import DRAFTERS  # noqa: PLC0415 - only for runs that edit documents
    from handrail.shell.items import ITEM_DRAFTERS  # noqa: PLC0415 - the same
    from handrail.shell.plans import PLAN_DRAFTERS  # noqa: PLC0415 - the same

    return {**DRAFTERS, **ITEM_DRAFTERS, **PLAN_DRAFTERS}


class World(Struct, frozen=True):
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
    readers: Mapping[str, Reader] = field(default_factory=lambda: Late(_readers))
    drafters: Mapping[str, Drafter] = field(default_factory=lambda: Late(_drafters))
    lifetime: timedelta | None = timedelta(minutes=10)
    mirror: Mirror | None = None
    revised: Revised = counted
    watch: Watch | None = None
