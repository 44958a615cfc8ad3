"""What somebody sees on the pages: the runs of the projects that they may see, and no others."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from starlette.requests import HTTPConnection

from handrail.engine.model import Who
from handrail.faces.board.hub import Hub
from handrail.shell.access import Grant, Scope
from handrail.shell.opening import Openings, Serving
from handrail.shell.records import Caller, project_name
from handrail.shell.shelf import Shelf
from handrail.shell.sweep import Limits
from handrail.shell.view import Measures, RunRow

VIEWER: Final = "handrail_viewer"
"""Where it is kept, in the state of a request, who looks."""

MOST: Final = 64
"""Of how many sets of projects boards are kept."""

Seen: TypeAlias = frozenset[str] | None
"""The names of the projects that somebody may see; None for all."""


@dataclass(frozen=True, slots=True)
class Naming:
    """What projects are `called` by their roots, and the other way round; `hide` puts names for paths."""

    called: Callable[[str], str] = project_name
    root_of: Callable[[str], str] = str
    hide: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class Board:
    """Runs as some may see them; `limits` say when one has gone quiet.

    `openings` are for what the store only mirrors: a run in the files of a project, or in a commit.
    `shelves` are the definitions as each project sees them, by what projects are called; if there is no
    project, those that every project sees, under no name. `measures` are for who may see every project.
    `reach` is how many runs a filter looks through at a time; 0 for all.
    """

    serving: Serving
    limits: Limits
    naming: Naming
    hub: Hub
    openings: Openings
    shelves: Callable[[], Mapping[str, Shelf]]
    measures: Measures | None
    reach: int = 0

    def now(self) -> datetime:
        """The time by the clock of the store's turns."""
        return self.serving.world.clock.now()

    def mark(self, row: RunRow, now: datetime) -> str:
        """The one word for how a run stands: its lifecycle, or why a running one does not move."""
        if row.lifecycle.value == "running" and row.waiting:
            return "waiting"
        if row.lifecycle.value == "running" and self.limits.is_quiet(row, now):
            return "quiet"
        return str(row.lifecycle)


async def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody at a board: who they are, and whether they may act there.

    `still` says whether they would be let in now as they were: a token may be revoked, or they may have left.
    """

    board: Board
    principal: str
    acts: bool
    leaves: bool = False
    still: Callable[[], Awaitable[bool]] = _always

    @property
    def caller(self) -> Caller:
        """Who acts, as the journal has it."""
        return Caller(Who.PERSON, self.principal, "board")


def viewer_of(connection: HTTPConnection) -> Viewer:
    """Who sent a request that was let in."""
    found: Viewer = connection.scope["state"][VIEWER]
    return found


@dataclass(slots=True)
class Boards:
    """The boards of a server, one for each set of projects that somebody may see.

    `halted` is set once the disk has not confirmed a write.
    """

    made: Callable[[Seen], Board]
    halted: asyncio.Event = field(default_factory=asyncio.Event)
    _kept: dict[Seen, Board] = field(default_factory=dict)

    def viewer(self, grant: Grant, *, leaves: bool, still: Callable[[], Awaitable[bool]]) -> Viewer:
        """Somebody who was let in; whoever came with a token can leave."""
        acts = Scope.WRITE in grant.scopes
        return Viewer(self._of(grant.projects), grant.principal, acts, leaves, still)

    def close(self) -> None:
        """End what every page hears."""
        for board in self._kept.values():
            board.hub.close()

    def _of(self, seen: Seen) -> Board:
        board = self._kept.pop(seen, None) or self.made(seen)
        unused = [one for one, kept in self._kept.items() if not kept.hub.pages]
        for one in unused[: max(0, len(self._kept) + 1 - MOST)]:
            del self._kept[one]
        self._kept[seen] = board
        return board
