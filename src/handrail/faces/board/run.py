"""The pages alone, for whoever started them: `handrail dashboard`."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import anyio
from cryptography.fernet import Fernet

from handrail.faces.board.app import application
from handrail.faces.board.boards import Board, Boards, Naming
from handrail.faces.board.entrance import Entrance, Links
from handrail.faces.board.hub import Hub
from handrail.faces.mcp.projects import ShelfOf
from handrail.faces.mcp.projects import shelves as shelf_of
from handrail.faces.web.address import Address
from handrail.faces.web.ending import Ending, Finished
from handrail.faces.web.guard import Guard, known_by
from handrail.faces.web.run import Lasting, listening
from handrail.faces.web.who import Door
from handrail.shell.access import Grant, Scope
from handrail.shell.followed import seen
from handrail.shell.opening import Openings, Serving, limits
from handrail.shell.records import project_name
from handrail.shell.shelf import Shelf
from handrail.shell.system import login
from handrail.shell.trust import Trusted

REACH = 20_000
"""How many runs a filter looks through at a time."""

LIMIT = 2 * 1024 * 1024
"""How many bytes a request may have."""


def run(
    serving: Serving, openings: Openings, project: Path, where: Address, told: Callable[[str], None]
) -> bool:
    """Serve until told to end; False if the disk has not confirmed a write. `told` is told every link.

    The definitions that `project` sees are shown first.
    """
    shelves = partial(_shelves, serving, project, shelf_of(Trusted()))
    board = Board(serving, limits(), Naming(), Hub(serving), openings, shelves, serving.measures, reach=REACH)
    boards = Boards(lambda _: board, asyncio.Event())
    with listening(where) as (listener, bound):
        links = Links(lambda path: told(f"http://{bound}{path}"))
        person = Grant(login(), frozenset(Scope))
        pages = application(Entrance(boards, Fernet.generate_key(), links, person))
        ending = Ending()
        door = Door(None, serving.world.clock)
        guard = Guard(Finished(pages, ending), known_by(str(bound)), door, LIMIT, lambda: ending.begun)

        async def closed() -> None:
            boards.close()

        anyio.run(Lasting(guard, ending, closed, boards.halted).served, listener, links.renew)
    return not boards.halted.is_set()


def _shelves(serving: Serving, project: Path, shelf_of: ShelfOf) -> Mapping[str, Shelf]:
    """The shelves of this project, and of those that the store knows and that are still there."""
    found: dict[str, Shelf] = {}
    for root in dict.fromkeys((str(project), *_known(serving))):
        name = project_name(root)
        found[root if name in found else name] = shelf_of(root)
    return found


def _known(serving: Serving) -> Iterator[str]:
    registered = (one.root for one in serving.registry.projects())
    yield from (root for root in (*registered, *serving.roots()) if seen(Path(root)))
