"""The pages of a server over HTTP: for each tenant the runs of its projects, and a door of their own."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp

from handrail.faces.board.app import application, is_page
from handrail.faces.board.boards import Board, Boards, Naming
from handrail.faces.board.entrance import Entrance, Links
from handrail.faces.board.hub import Hub
from handrail.faces.mcp.projects import NamedProjects, shelves
from handrail.faces.web.serving import Known
from handrail.faces.web.tenants import Seen
from handrail.faces.web.who import Door
from handrail.shell.access import Grant, Scope
from handrail.shell.fence import fenced
from handrail.shell.opening import Openings, Serving, limits
from handrail.shell.shelf import Shelf
from handrail.shell.system import login
from handrail.shell.trust import Trusted


@dataclass(frozen=True, slots=True)
class ServedPages:
    """The pages over a store; `secret` is that of the store: any of several servers knows a cookie by it."""

    boards: Boards
    secret: bytes

    def at(self, url: str, door: Door, told: Callable[[str], None]) -> tuple[ASGIApp, Callable[[], None]]:
        """The pages of a server at this URL behind this door; and what makes `told` say where they are.

        Where nobody is asked who they are, a link lets in whoever sees what the server says.
        """
        if door.asks:
            entrance = Entrance(self.boards, self._key(b"tokens"), asks=door.admitted, knows=door.known)
            return application(entrance), lambda: told(f"{url}/")
        links = Links(lambda path: told(f"{url}{path}"))
        person = Grant(login(), frozenset(Scope))
        return application(Entrance(self.boards, self._key(b"links"), links, person)), links.renew

    def _key(self, of: bytes) -> bytes:
        return base64.urlsafe_b64encode(hmac.digest(self.secret, b"pages by " + of, hashlib.sha256))

    def has(self, path: str) -> bool:
        """Whether there is one at this path."""
        return is_page(path)

    def close(self) -> None:
        """End what they hear."""
        self.boards.close()


def boards(serving: Serving, openings: Openings, known: Known) -> Callable[[Seen], Board]:
    """How a board is made for those who may see these projects."""
    shelf_of = shelves(Trusted())

    def made(seen: Seen) -> Board:
        among = known.among(seen)
        projects = NamedProjects(among, shelf_of, known.folders)
        behind = fenced(serving, lambda: tuple(map(str, projects.roots)))
        naming = Naming(
            lambda root: projects.label(root) or "",
            lambda name: str(among().get(name, name)),
            projects.hide,
        )

        def seen_shelves() -> Mapping[str, Shelf]:
            return {name: shelf_of(str(root)) for name, root in among().items()} or {"": shelf_of("")}

        measures = serving.measures if seen is None else None
        return Board(behind, limits(), naming, Hub(behind), openings, seen_shelves, measures)

    return made
