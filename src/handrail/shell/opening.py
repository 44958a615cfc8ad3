"""What a face has of an open store, and the settings that a server reads from its environment."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from handrail.engine.model import Workflow
from handrail.shell.access import Access
from handrail.shell.carried import Carried
from handrail.shell.faults import Unreadable
from handrail.shell.folders import Folder, folders
from handrail.shell.keeping import Copied, Keeper, Progress
from handrail.shell.papers import lying
from handrail.shell.ports import Changes, Files, Mirror, Runs
from handrail.shell.rates import Rate
from handrail.shell.reading import whole
from handrail.shell.records import Artifact, Stored
from handrail.shell.registry import Registry
from handrail.shell.resolve import Resolved
from handrail.shell.store_address import Where
from handrail.shell.sweep import Limits
from handrail.shell.view import Measures, Records
from handrail.shell.workspace import Disk
from handrail.shell.world import World

Result = TypeVar("Result")

_LIFETIME: Final = "HANDRAIL_TOKEN_TTL"
_IDLE_RUNNING: Final = "HANDRAIL_IDLE_RUNNING"
_IDLE_PAUSED: Final = "HANDRAIL_IDLE_PAUSED"
_PATIENCE: Final = "HANDRAIL_VCS_SECONDS"
_LONGEST: Final = 31_536_000
_RATE: Final = "HANDRAIL_RATE"
_BURST: Final = "HANDRAIL_BURST"
_MOST_CALLS: Final = 1_000_000
_SIZE: Final = "HANDRAIL_SIZE"
_LARGEST: Final = 16 * 1024 * 1024


class Mirrors(Protocol):
    """The part of a store that shows runs of other stores."""

    def projects(self) -> tuple[str, ...]:
        """The roots of the projects that the store knows."""
        ...

    def mirror(self, source: Runs) -> Mirror:
        """What brings a run of this other store up to date here."""
        ...

    def rebuild(self, source: Runs, run: str, papers: tuple[Artifact, ...] = ()) -> int:
        """Make the mirror of a run anew if it is not what its journal says, else bring it up to date.

        `papers` are the files that it is about, as they lie there now.
        How many entries were brought over.
        """
        ...


class Store(Struct, frozen=True):
    """A store that is open. `pulse` gives another number whenever another connection has committed."""

    path: Where
    records: Records
    keeper: Keeper
    mirrors: Mirrors
    measures: Measures
    access: Access
    registry: Registry
    pulse: Callable[[], int]


class Work(Protocol):
    """Something that does what it is given, one piece after the other."""

    def call(self, work: Callable[[], Result]) -> Result:
        """The result of this work, or what it raises; `Busy` if it does not begin in time: it never will."""
        ...

    async def done(self, work: Callable[[], Result]) -> Result:
        """The same, for a task; cancelled before the work begins, it is never done."""
        ...


class Strain(Struct, frozen=True):
    """What waits: work for the thread that writes, and entries that listeners were not told of yet."""

    waiting: int
    behind: int


class Serving(Struct, frozen=True):
    """A store that a server serves from: turns are taken in the `writer`, questions asked anywhere.

    Turns that wait for other programs are taken `aside`, so that nobody else waits for those programs.
    `secret` is for what a server must recognise again; `sweep` gives up runs gone quiet, and is due once in
    `every` seconds. `mirror` shows the runs of another store here, and `among` are the records of the
    projects with these roots, as if there were no others. `strain` says what waits; it raises a fault if the
    store cannot be read. `measures` count the runs of every project, so behind a fence there are none;
    `roots` are those of the projects in which runs were started.
    """

    world: World
    records: Records
    writer: Work
    aside: Work
    secret: bytes
    sweep: Callable[[], tuple[str, ...]]
    every: float
    access: Access
    registry: Registry
    mirror: Callable[[Runs], Mirror]
    among: Callable[[Callable[[], Sequence[str]]], Records]
    strain: Callable[[], Strain]
    measures: Measures | None
    roots: Callable[[], Sequence[str]]


class FolderRuns(Runs, Files, Protocol):
    """The run of a folder, the files there, and the way out when it cannot go on."""

    def take_snapshot(self) -> AbstractContextManager[None]:
        """Read each file of the folder at most once in this block. Nothing is locked or written.

        A turn in the block reads again only what has changed by then.
        """
        ...

    def standing(self) -> Stored:
        """The run of the folder as it stands; at revision 0 if it has not begun."""
        ...

    def repair(self, at: datetime, *, adopt: str = "", restore: int = 0) -> Stored:
        """Put the run into a state, or back to where a turn left it; what is replaced is kept."""
        ...


class DescribedRun(Runs, Files, Protocol):
    """The run that a commit description is, for one call; its text is read as a file."""

    @property
    def shown(self) -> str:
        """The id of the run in the common store, by the description that was last seen."""
        ...

    @property
    def text(self) -> str:
        """The description as it was last seen."""
        ...

    def load(self, run: str) -> Stored:
        """The run as the text has it now; there is one only, whatever the name."""
        ...

    def look(self, most: int) -> tuple[Stored, Changes]:
        """The run as it stands, and at most so many of the changed files."""
        ...

    def revised(self, stored: Stored, resolved: Resolved) -> int:
        """The revision that a turn leaves which makes this of the world."""
        ...


class Openings(Struct, frozen=True):
    """How a face opens what is kept: a store to ask, one to take turns in, the run of a folder or a commit.

    A store that is to be asked must be there, which `there` tells; one for turns is made if it is not.
    `carried` is the description of a project by itself. `copied` makes the second store a copy of the first.
    """

    there: Callable[[Where], bool]
    store: Callable[[Where], AbstractContextManager[Store]]
    world: Callable[[Where], AbstractContextManager[World]]
    folder: Callable[[Folder], FolderRuns]
    serving: Callable[[Where], AbstractContextManager[Serving]]
    described: Callable[[Path, World, Workflow], DescribedRun]
    carried: Callable[[Path], Carried]
    copied: Callable[[Where, Where, Progress], Copied]


class Rebuilt(Struct, frozen=True):
    """A run in files, where it lies, and how many of its entries were brought over."""

    run: str
    folder: str
    entries: int


def rebuilt(
    mirrors: Mirrors, opened: Callable[[Folder], FolderRuns], projects: Iterable[Path]
) -> Iterator[Rebuilt]:
    """Show the runs in the files of these projects, and of those the store knows, as their files have them.

    A project that is not there any more is passed over.
    """
    roots = {*map(Path, mirrors.projects()), *(whole(project) for project in projects)}
    for folder in (folder for root in sorted(roots) if root.is_dir() for folder in folders(root)):
        runs = opened(folder)
        stored = runs.standing()
        if stored.revision:
            run, workspace = stored.run, Disk(folder.project, folder.within)
            papers = lying(folder.workflow, run, workspace)
            yield Rebuilt(run.id, str(folder.path), mirrors.rebuild(runs, run.id, papers))


def lifetime() -> timedelta:
    """How long a step token is good: ten minutes, or the seconds that HANDRAIL_TOKEN_TTL gives.

    Raises `Unreadable` if that is no number of seconds above zero.
    """
    return _seconds(_LIFETIME, timedelta(minutes=10))


def limits() -> Limits:
    """How long a run may be left alone: HANDRAIL_IDLE_RUNNING and HANDRAIL_IDLE_PAUSED give the seconds.

    Raises `Unreadable` if one of them is no number of seconds above zero.
    """
    usual = Limits()
    return Limits(_seconds(_IDLE_RUNNING, usual.running), _seconds(_IDLE_PAUSED, usual.paused))


def rate() -> Rate:
    """How often one principal may call over HTTP: HANDRAIL_RATE is calls a minute, HANDRAIL_BURST at once.

    Without HANDRAIL_BURST, the calls of a whole minute may come at once. Raises `Unreadable` if one of them
    is no number.
    """
    calls = _number(_RATE, "calls", _MOST_CALLS) or Rate().calls
    return Rate(calls, _number(_BURST, "calls", _MOST_CALLS) or calls)


def size(usual: int) -> int:
    """How many bytes a message over HTTP may have: the usual number, or what HANDRAIL_SIZE gives.

    Raises `Unreadable` if that is no number.
    """
    return _number(_SIZE, "bytes", _LARGEST) or usual


def patience() -> timedelta:
    """How long jj or git may take for a change or a look at files: 30 seconds, or HANDRAIL_VCS_SECONDS.

    Raises `Unreadable` if that is no number of seconds above zero.
    """
    return _seconds(_PATIENCE, timedelta(seconds=30))


def numbered(variable: str, usual: int, unit: str = "seconds") -> int:
    """The number that a variable of the environment gives, or the usual one if it is not set.

    Raises `Unreadable` if it gives no whole number above zero.
    """
    return _number(variable, unit, _LONGEST) or usual


def _seconds(variable: str, usual: timedelta) -> timedelta:
    return timedelta(seconds=numbered(variable, int(usual.total_seconds())))


def _number(variable: str, unit: str, most: int) -> int:
    """The number that a variable of the environment gives; 0 if it is not set."""
    given = os.environ.get(variable, "")
    if given and not (given.isascii() and given.isdecimal() and len(given) < 20 and 0 < int(given) <= most):
        message = f"{variable} is {given!a}, which is no number of {unit}"
        raise Unreadable(message, f"set it to a whole number from 1 to {most}, or not at all")
    return int(given or "0")
