"""What goes between a process and PostgreSQL, as libpq writes it down: counted, so no clock is asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.database import PgDatabase


@dataclass(slots=True)
class Wire:
    """How many statements were sent, how often an answer was waited for, and the bytes both ways.

    Notifications, which are sent behind turns and at most so many in a second, are told apart.
    """

    statements: int = 0
    round_trips: int = 0
    sent: int = 0
    received: int = 0
    notifications: int = 0


class Traced(PgDatabase):
    """A database with one connection, which can be overheard."""

    def __init__(self, place: DatabaseUrl) -> None:
        super().__init__(place, connections=1)

    @contextmanager
    def overheard(self, path: Path) -> Iterator[Wire]:
        """A block; when it has ended, what went over the wire in it is counted. It is written to the file."""
        seen = Wire()
        with path.open("w") as file:
            with self._borrow("writes") as connection:
                connection.pgconn.trace(file.fileno())
            yield seen
            with self._borrow("writes") as connection:
                connection.pgconn.untrace()
        for line in path.read_text("utf-8", "replace").splitlines():
            _count(seen, line.split("\t"))


def _count(seen: Wire, parts: list[str]) -> None:
    """One message: the time, from which side, its length, its name, and what it says."""
    if len(parts) < 4:
        return
    _, side, length, name, *said = parts
    if side == "F":
        seen.sent += 1 + int(length)
    else:
        seen.received += 1 + int(length)
    if name == "CommandComplete" and '"NOTIFY"' in said[0]:
        seen.notifications += 1
        seen.round_trips -= 1
    elif name == "CommandComplete":
        seen.statements += 1
    elif name == "ReadyForQuery":
        seen.round_trips += 1
