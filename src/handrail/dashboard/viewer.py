"""Who looks at the dashboard, and what they may see.

A `Dashboard` has the app for one set of projects. A `Viewer` is a signed-in person at a dashboard.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from starlette.requests import HTTPConnection

from handrail.app.app import App
from handrail.app.definitions import Definitions
from handrail.app.projects import VisibleProjects
from handrail.dashboard.hub import Hub
from handrail.engine.model import Actor, Lifecycle
from handrail.runtime.ports.access import AccessScope, Grant
from handrail.runtime.ports.queries import Measures, RunRow
from handrail.runtime.records import Caller

# The key of the viewer in the state of a request.
VIEWER_KEY: Final = "handrail_viewer"
# How many dashboards are cached, one for each set of visible projects.
MAX_DASHBOARDS: Final = 64


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The pages over an app, which is limited to the projects that their viewers may see.

    `load_definitions` returns the definitions of each project by its name. Without a project, it returns
    those that every project sees, under the empty name. `measures` is None unless the viewer may see every
    project.
    `reach` is how many runs a filter searches at a time; 0 means all.
    """

    app: App
    hub: Hub
    load_definitions: Callable[[], Mapping[str, Definitions]]
    measures: Measures | None
    reach: int = 0

    def mark(self, row: RunRow, now: datetime) -> str:
        """Return the status of a run in one word: its lifecycle, or `waiting` or `quiet` if it is running."""
        if row.lifecycle is Lifecycle.RUNNING and row.waiting:
            return "waiting"
        if row.lifecycle is Lifecycle.RUNNING and self.app.idle_limits.is_quiet(row, now):
            return "quiet"
        return str(row.lifecycle)


async def _always_admitted() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person at a dashboard: their name, and whether they may act.

    `leaves` is True if they can sign out. `is_still_admitted` checks whether they would be let in again with
    the same grant: meanwhile, the token may be revoked, or they may have signed out.
    """

    board: Dashboard
    principal: str
    acts: bool
    leaves: bool = False
    is_still_admitted: Callable[[], Awaitable[bool]] = _always_admitted

    @property
    def caller(self) -> Caller:
        """The person as the journal records them."""
        return Caller(Actor.PERSON, self.principal, "board")


def get_viewer(connection: HTTPConnection) -> Viewer:
    """Return the viewer of a request that was let in."""
    viewer: Viewer = connection.scope["state"][VIEWER_KEY]
    return viewer


@dataclass(slots=True)
class Dashboards:
    """The dashboards of a server, one for each set of visible projects; `build` makes one.

    `halted` is set once the disk has not confirmed a write.
    """

    build: Callable[[VisibleProjects], Dashboard]
    halted: asyncio.Event = field(default_factory=asyncio.Event)
    _cache: dict[VisibleProjects, Dashboard] = field(default_factory=dict)

    def viewer(self, grant: Grant, *, leaves: bool, still: Callable[[], Awaitable[bool]]) -> Viewer:
        """Return the viewer for a grant. `leaves` is True if they came with a token, and can sign out."""
        acts = AccessScope.WRITE in grant.scopes
        return Viewer(self._get_dashboard(grant.projects), grant.principal, acts, leaves, still)

    def close(self) -> None:
        """End the live updates of every page."""
        for board in self._cache.values():
            board.hub.close()

    def _get_dashboard(self, visible: VisibleProjects) -> Dashboard:
        """Return the cached dashboard, or build it. Evict the least recently used ones without open pages."""
        board = self._cache.pop(visible, None) or self.build(visible)
        unused = [projects for projects, cached in self._cache.items() if not cached.hub.page_count]
        for projects in unused[: max(0, len(self._cache) + 1 - MAX_DASHBOARDS)]:
            del self._cache[projects]
        self._cache[visible] = board
        return board
