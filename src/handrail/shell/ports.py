"""What the shell asks of the world: each port is a promise that its stores keep and its tests can break."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from handrail.documents.statefile import Passage, Standing
from handrail.documents.strict import Flaw
from handrail.shell.records import Artifact, Change, Definition, Spent, Stored, Turn, Written
from handrail.shell.view import StepRow
from handrail.telemetry.entries import Entry


class Runs(Protocol):
    """Where runs are kept. What is committed survives the process; what is not never happened.

    A store may hold one run only, that of its folder. The empty id names it too, it takes no turn of another,
    and its journal has what was noted before its first turn and about no run. Such a store may keep no
    tokens: then they are good for a revision. It may keep no texts: then the run follows the workflow that is
    installed. It may keep no steps but those that are open. And it may be that no sweep looks after it: then
    it keeps no time at which somebody looked.
    """

    def held(self, run: str, attempt: int) -> AbstractContextManager[None]:
        """What must be held while a turn of this run is taken, from `load` to `commit`.

        A store may hold nothing on attempt 0 and rely on the revision; from attempt 1 on nobody else commits
        to the run meanwhile. What a crash left undone is finished by then. Raises `Busy` if it cannot be had
        in time.
        """
        ...

    def load(self, run: str) -> Stored | None:
        """The run as it stands, with what `Turn.after` says of the last turn; None if it is not there.

        A store of one run has it at revision 0 before its first turn.
        """
        ...

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn at one point; False, and nothing saved, if the revision has moved on.

        False too if the run that it inherits from is gone.

        A store that tells the run in a file for people takes no variable that such a file cannot hold: then
        it raises `Unreadable`, and nothing is saved.
        """
        ...

    def spent(self, run: str, revision: int) -> Spent | None:
        """What is remembered of the turn that left this revision; the last 64 of a run are kept."""
        ...

    def renew(
        self, stored: Stored, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Replace the tokens of open steps; False if revision or tokens are no longer those of `stored`.

        Where tokens are good for a revision, only that is looked at, and the entries are noted.
        """
        ...

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Enter what belongs to no turn, such as a refusal; touches nothing else. `run` may be empty."""
        ...

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[Written, ...]:
        """The journal of a run in order, from behind entry number `after`."""
        ...

    def steps(self, run: str) -> tuple[StepRow, ...]:
        """Every step of the run in order, where steps are kept; else none."""
        ...

    def definition(self, digest: str) -> Definition | None:
        """The text that runs of this digest started with, where texts are kept."""
        ...

    def touch(self, run: str, at: datetime) -> None:
        """Note that somebody looks after the run, so that the sweep lets it be, where there is one."""
        ...


class Description(Struct, frozen=True):
    """A text that a version control system keeps, and how what it describes stands.

    `version` stands for the text of this change, and for no other text. `change` names what is described,
    whatever becomes of it; it is empty where nothing was written yet. `empty` is True if no file was changed
    when files were last looked at, and None where that is not kept. What is `immutable` or `divergent` takes
    no text.
    """

    text: str
    version: str
    change: str
    empty: bool | None = None
    immutable: bool = False
    divergent: bool = False
    conflicted: bool = False


class ChangedFile(Struct, frozen=True):
    """A file by its path from the top of the project; `status` is added, modified, removed and the like."""

    path: str
    status: str


class Changes(Struct, frozen=True):
    """A description, and the first of the files that differ from the commit before; `total` counts all."""

    description: Description
    files: tuple[ChangedFile, ...]
    total: int


class Descriptions(Protocol):
    """A text kept by a version control system, and replaced only if it is still the one that was read.

    Everything raises the faults of version control, each after it was seen what stands.
    """

    def read(self) -> Description:
        """The text as it stands. Changes nothing, and looks at no file."""
        ...

    def changes(self, most: int) -> Changes:
        """The text as it stands, and at most so many of the changed files, as the disk has them now."""
        ...

    def alone(self) -> AbstractContextManager[object]:
        """Hold out every other Handrail that would change a text of this repository; also before a write.

        A write inside the block does not wait. Raises `Busy` if it cannot be had in time.
        """
        ...

    def swap(self, seen: Description, new: str) -> Description:
        """Replace the text if what was seen still stands; what stands then.

        A text that is not empty ends with a line break: one is added if there is none. Raises `Overtaken` if
        another text stands, and `Unreadable` for a text that cannot be kept.
        """
        ...

    def renew(self, seen: Description) -> Description:
        """Leave the text where it is, if what was seen still stands, and begin with an empty one.

        Raises `Overtaken` if another text stands.
        """
        ...

    def archive(self, seen: Description) -> None:
        """Have the text kept by the name of its change, if what was seen still stands.

        Nothing where the commit keeps it. Raises `Overtaken` if another text stands.
        """
        ...


class Files(Protocol):
    """What can be read by a path."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None if there is none."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """The sorted names in a folder; none if it is not there."""
        ...


class Workspace(Files, Protocol):
    """The files of one folder, by paths relative to it.

    No path component is a link, no path leaves the folder, and only regular files with one link are read or
    replaced: anything else raises `UnsafePath`. Folders are made 0700, files 0600. Raises `Missing` where a
    folder or a file must be there and is not, `Unreadable`, `DiskFull`, `NotWritable` and, from the moment
    the disk has not confirmed a write, `SyncFailed` for every further change.
    """

    def stamp(self, path: str) -> object:
        """What tells whether a file, or the names in a folder, have changed; None if nothing is there.

        Equal stamps of two moments mean that nothing has changed between them. Nothing is opened to be read,
        and what is no plain file or folder has a stamp too: one that equals no other.
        """
        ...

    def write(self, path: str, data: bytes, like: str = "") -> None:
        """A new file with these bytes, confirmed by the disk; its entry in the folder is not, until `sync`.

        An old file of the name is replaced, but not at once: what must not be lost is written under another
        name and renamed. It gets the permissions of the file `like`, if there is one.
        """
        ...

    def append(self, path: str, data: bytes) -> None:
        """These bytes at the end of a file, confirmed by the disk; made if it is not there.

        What fails may have appended a part of them.
        """
        ...

    def rename(self, old: str, new: str) -> None:
        """Move a file over what is at `new`, at once; only nothing or a file of its own may be there."""
        ...

    def unlink(self, path: str) -> None:
        """Remove a file, if it is there."""
        ...

    def mkdir(self, folder: str) -> None:
        """Make a folder, if it is not there; the one above it must be.

        That of the workspace itself, `""`, is made with all that is missing above it, confirmed by the disk.
        """
        ...

    def sync(self, folder: str) -> None:
        """Have the disk confirm the names in a folder."""
        ...

    def lock(self, path: str, seconds: float) -> AbstractContextManager[object]:
        """Hold a lock that vanishes with the process; raises `Busy` when it is not had within the time."""
        ...


class StateShape(Protocol):
    """How a run is told in a file that people and other programs read too."""

    @property
    def name(self) -> str:
        """The name of the file."""
        ...

    def read(self, data: bytes) -> Standing | Flaw:
        """What the file says, or why it says nothing."""
        ...

    def write(
        self,
        old: Standing | None,
        state: str,
        variables: Mapping[str, object],
        at: datetime,
        passages: Sequence[Passage],
    ) -> bytes:
        """The file once the run has gone these ways to this state; what is not ours in `old` is kept."""
        ...

    def whole(self, body: Mapping[str, object], history: Sequence[Mapping[str, object]]) -> bytes:
        """The file of the body and the history that were read."""
        ...


class Clock(Protocol):
    """What time it is."""

    def now(self) -> datetime:
        """The time of day in UTC, in whole milliseconds; it may jump in either direction."""
        ...


class Ids(Protocol):
    """Where names that nobody can guess come from."""

    def run(self) -> str:
        """The id of a new run or artifact: a random UUID."""
        ...

    def nonce(self) -> bytes:
        """Six random bytes."""
        ...


class Mirror(Protocol):
    """Shows a run that is kept elsewhere in the common store."""

    def __call__(self, run: str, papers: tuple[Artifact, ...] = ()) -> None:
        """Bring the run up to date there, with these files that it is about, each kept once."""
        ...


class Feed(Protocol):
    """Who wants to hear that a run has changed."""

    def announce(self, change: Change) -> None:
        """Tell every listener; what a listener does must not raise."""
        ...

    def listen(self, heard: Callable[[Change], None]) -> Callable[[], None]:
        """Call `heard` for every change from now on, until the function that is returned is called."""
        ...


class Finished(Struct, frozen=True):
    """How a program ended, and what it said."""

    status: int
    out: bytes
    err: bytes


class Runner(Protocol):
    """Runs other programs: never through a shell, always with a limit."""

    def run(
        self,
        words: tuple[str, ...],
        folder: str,
        seconds: float,
        stdin: str = "",
        files: tuple[int, ...] = (),
    ) -> Finished:
        """Run a program in a folder, with the file `stdin` as its input; nothing of it is left running.

        It inherits the open `files` under their numbers. A lock among them is held until the program ends,
        even if this process is killed first.

        Raises `Busy` when time is up, `Missing` if the program, the folder or the input is not there, and
        `Unreadable` if it cannot be started or says more than is taken.
        """
        ...
