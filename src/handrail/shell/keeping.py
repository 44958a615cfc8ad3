"""Keeping house in a store: is it sound, how large is it, what of it is old. No turn is taken here."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from handrail.engine.facts import Value

DAMAGE: Final[Mapping[str, str]] = {
    "file": "the database file itself is not sound",
    "reference": "a row belongs to a run that is not there",
    "unreadable": "what is there could not be read to the end",
    "revision": "the run is at another revision than its journal",
    "gap": "a turn is missing in the journal of the run",
    "chain": "the journal of the run is not the one its turns left",
    "record": "the record of the run is none",
    "columns": "a column of the run says something else than its record",
    "definition": "the text of the workflow that the run goes on with is gone",
    "steps": "the open steps of the run are not the ones kept as running",
    "replies": "more replies are kept than are ever asked for",
    "artifacts": "an artifact of the run is missing",
}
"""Every code of a damage, and what it means."""


class Damage(Struct, frozen=True):
    """Something in a store that no turn of ours leaves so; `run` is empty if it is about no single one."""

    code: str
    run: str
    message: str


class Counts(Struct, frozen=True):
    """How much there is, or was."""

    runs: int = 0
    steps: int = 0
    artifacts: int = 0
    events: int = 0


class Pruned(Struct, frozen=True):
    """What was moved from the store into an archive; `kept` runs were called meanwhile, and stay too."""

    archive: Path
    archived: Counts
    kept: int


Tell: TypeAlias = Callable[[str], None]
"""Hears how far something long has come, in words for people."""


class Copied(Struct, frozen=True):
    """What a copy of a store holds: how many rows of each table; and whether an earlier attempt went on."""

    tables: Mapping[str, int]
    continued: bool


Progress: TypeAlias = Callable[[str, int, int], None]
"""Hears what is being done to rows, with how many it was, and how many there are."""


class Keeper(Protocol):
    """Who looks after a store."""

    def check(self) -> Iterator[Damage]:
        """Every damage that can be found, run by run; others may go on working meanwhile."""
        ...

    def size(self) -> int:
        """How many bytes the store takes."""
        ...

    def vacuum(self) -> tuple[int, int]:
        """Give unused space back; how many bytes the store took before, and takes now."""
        ...

    def old(self, before: datetime) -> int:
        """How many runs `prune` would take: ended before this time, and not needed to count on from."""
        ...

    def prune(self, before: datetime, archive: Path, tell: Tell) -> Pruned:
        """Move those runs into a new archive, beside an old one of that name; deleted is what was read back.

        Raises `Unreadable` if the archive does not hold what was written: then nothing was deleted.
        """
        ...

    def export(self, run: str) -> Mapping[str, Value] | None:
        """Everything about one run but its tokens and replies, or None."""
        ...
