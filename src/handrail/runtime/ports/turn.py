"""Protocols that a turn uses: the store of runs, files, version control, clock, ids, processes.

Each docstring is a contract: every implementation keeps it, and the contract tests check it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from handrail.runtime.entries import Entry
from handrail.runtime.ports.queries import StepRow
from handrail.runtime.records import (
    Artifact,
    Definition,
    JournalEntry,
    RecordedCall,
    RunChange,
    StoredRun,
    Turn,
)

if TYPE_CHECKING:  # the reason is in `records`
    from handrail.documents.state_file import HistoryItem, StateFileContent
    from handrail.documents.strict_json import JsonFlaw


class Runs(Protocol):
    """A store of runs. What is committed survives the process; what is not committed never happened.

    A store may hold a single run, that of its folder. Then the empty id names that run too, and the store
    takes no turn of another run. Its journal also has what was noted before the first turn and about no run.

    Such a store may leave things out:

    - tokens: then a token is valid for the revision it was issued at;
    - workflow texts: then the run follows the installed workflow;
    - closed steps: then it has only the open ones;
    - the time of the last look at a run: then no sweep abandons it.
    """

    def hold_lock(self, run: str, attempt: int) -> AbstractContextManager[None]:
        """Hold the lock of this run while a turn is taken, from `load` to `commit`.

        On attempt 0 a store may take no lock and rely on the revision. From attempt 1 on, no other caller can
        commit to the run inside the block. On entry, what a crash left unfinished is finished. Raises `Busy`
        if the lock is not free in time.
        """

    def load(self, run: str) -> StoredRun | None:
        """Return the run as `Turn.after` of its last turn describes it; None if it does not exist.

        A store of a single run returns it at revision 0 before its first turn.
        """

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn atomically. Return False, with nothing saved, if the revision has moved on.

        Also returns False if the run that it inherits from is gone.

        A store that writes the run to a file for people raises `Unreadable` for a variable that the file
        cannot hold; then nothing is saved.
        """

    def find_recorded_call(self, run: str, revision: int) -> RecordedCall | None:
        """Return the recorded call of the turn that started at this revision; None if it is not kept.

        A store keeps the last `MAX_RECORDED_CALLS` of a run.
        """

    def renew_tokens(
        self, stored: StoredRun, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Replace the tokens of open steps. False if revision or tokens differ from those of `stored`.

        Where tokens are valid for a revision, only the revision is compared, and the entries are noted.
        """

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Add journal entries that belong to no turn, such as a refusal. `run` may be empty."""

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[JournalEntry, ...]:
        """Return at most `most` journal entries of a run, in order, that follow entry number `after`."""

    def steps(self, run: str) -> tuple[StepRow, ...]:
        """Return every step of the run in order; an empty tuple if the store keeps no steps."""

    def definition(self, digest: str) -> Definition | None:
        """Return the workflow text with this digest; None if it is not kept."""

    def touch(self, run: str, at: datetime) -> None:
        """Record that the run is in use, so that the sweep does not abandon it. No effect without a sweep."""


class Description(Struct, frozen=True):
    """A commit description in version control, and the state of its commit.

    - `version`: identifies this text of this change, and no other text.
    - `change`: identifies the change across rewrites; empty if nothing was written yet.
    - `empty`: True if no file was changed at the last snapshot of the files; None where that is not kept.
    - `immutable`, `divergent`: the text cannot be replaced.
    """

    text: str
    version: str
    change: str
    empty: bool | None = None
    immutable: bool = False
    divergent: bool = False
    conflicted: bool = False


class ChangedFile(Struct, frozen=True):
    """A changed file: its path from the project root, and a `status` such as added, modified or removed."""

    path: str
    status: str


class Changes(Struct, frozen=True):
    """A description, and the first files that differ from the parent commit. `total` counts all of them."""

    description: Description
    files: tuple[ChangedFile, ...]
    total: int


class Descriptions(Protocol):
    """A commit description in version control, replaced only if it is still the one that was read.

    Every method may raise the faults of version control (`VcsFailed`), after it has checked which text is
    stored.
    """

    def read(self) -> Description:
        """Return the current text. Changes nothing and does not scan the files."""

    def changes(self, most: int) -> Changes:
        """Return the current text, and at most `most` of the files changed on disk."""

    def hold_lock(self) -> AbstractContextManager[object]:
        """Lock out every other Handrail process that would change a description of this repository.

        Every write takes this lock; a write inside the block already has it. Raises `Busy` if the lock is not
        free in time.
        """

    def swap(self, seen: Description, new: str) -> Description:
        """Replace the text if it is still the one in `seen`. Return the new description.

        A text that is not empty gets a final line break if it has none. Raises `TextConflict` if the text has
        changed, and `Unreadable` for a text that cannot be stored.
        """

    def begin_new(self, seen: Description) -> Description:
        """Leave the text where it is and begin a new change with an empty one.

        Raises `TextConflict` if the text is no longer the one in `seen`.
        """

    def archive(self, seen: Description) -> None:
        """Keep a copy of the text under the name of its change.

        Does nothing where the commit itself keeps the text. Raises `TextConflict` if the text is no longer
        the one in `seen`.
        """


class Files(Protocol):
    """Files that can be read by path."""

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, or None if it does not exist."""

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names in a folder; an empty tuple if it does not exist."""


class Workspace(Files, Protocol):
    """The files of one folder, by paths relative to it.

    Only regular files with one hard link are read or replaced. A path through a symbolic link or out of the
    folder raises `UnsafePath`, like any other kind of file. New folders get mode 0700, new files 0600.

    Raises `Missing` where a required folder or file does not exist, `Unreadable`, `DiskFull` and
    `NotWritable`. Once the disk has failed to confirm a write, every further change raises `SyncFailed`.
    """

    def stamp(self, path: str) -> object:
        """Return a stamp of a file, or of the names in a folder; None if nothing exists at the path.

        Two equal stamps mean that nothing changed in between. Opens nothing for reading. Anything but a plain
        file or folder gets a stamp that equals no other.
        """

    def write(self, path: str, data: bytes, like: str = "") -> None:
        """Write a file with these bytes and have the disk confirm them; confirm its name with `sync`.

        Replaces an existing file, but not atomically: to lose nothing, write under another name and rename.
        The file gets the permissions of the file `like`, if that exists.
        """

    def append(self, path: str, data: bytes) -> None:
        """Append these bytes to a file and have the disk confirm them. Creates the file if needed.

        If it fails, a part of the bytes may have been appended.
        """

    def rename(self, old: str, new: str) -> None:
        """Move a file to `new` atomically. Only a regular file may exist there; it is replaced."""

    def unlink(self, path: str) -> None:
        """Remove a file if it exists."""

    def mkdir(self, folder: str) -> None:
        """Create a folder if it does not exist. Its parent must exist.

        For the workspace itself, `""`, also create missing parents, and have the disk confirm them.
        """

    def sync(self, folder: str) -> None:
        """Have the disk confirm the names in a folder (fsync)."""

    def lock(self, path: str, seconds: float) -> AbstractContextManager[object]:
        """Hold a lock that ends with the process. Raises `Busy` if it is not free within `seconds`."""


class StateFileFormat(Protocol):
    """The format of a state file, which people and other programs read too."""

    @property
    def name(self) -> str:
        """The name of the file."""

    def read(self, data: bytes) -> "StateFileContent | JsonFlaw":
        """Parse the file, or return what is wrong with it."""

    def write(
        self,
        old: "StateFileContent | None",
        state: str,
        variables: Mapping[str, object],
        at: datetime,
        passages: "Sequence[HistoryItem]",
    ) -> bytes:
        """Return the file after the run took these passages to this state. Keeps foreign content of `old`."""

    def encode_document(self, body: Mapping[str, object], history: Sequence[Mapping[str, object]]) -> bytes:
        """Return the file with this body and this history."""


class Clock(Protocol):
    """The source of the current time."""

    def now(self) -> datetime:
        """Return the current time in UTC, in whole milliseconds. It may jump in either direction."""


class IdSource(Protocol):
    """The source of ids that cannot be guessed."""

    def new_id(self) -> str:
        """Return the id of a new run or artifact: a random UUID."""

    def nonce(self) -> bytes:
        """Return six random bytes."""


class RunJournal(Protocol):
    """A run and its journal, to be copied."""

    def load(self, run: str) -> StoredRun | None:
        """Return the run; None if it does not exist."""

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[JournalEntry, ...]:
        """Return at most `most` journal entries of the run, in order, that follow entry number `after`."""


class RunCopier(Protocol):
    """Copies a run that is kept elsewhere into the common store, so that it can be shown there."""

    def __call__(self, source: RunJournal, change: RunChange, papers: tuple[Artifact, ...] = ()) -> None:
        """Update the copy of the run, then announce the change. `papers` are its files.

        In a server that happens once the caller has the reply: no answer waits for the copy.
        """


class Mirror(Protocol):
    """Copies the run of one store after each change."""

    def __call__(self, change: RunChange, papers: tuple[Artifact, ...] = ()) -> None:
        """Update the copy. `papers` are the files of the run; each content is stored once."""


class Feed(Protocol):
    """Notifies listeners that a run has changed."""

    def announce(self, change: RunChange) -> None:
        """Notify every listener. A listener must not raise."""

    def listen(self, heard: Callable[[RunChange], None]) -> Callable[[], None]:
        """Call `heard` for every change from now on. Return a function that stops this."""


class ProcessResult(Struct, frozen=True):
    """The exit status of a program, and its output."""

    status: int
    out: bytes
    err: bytes


class ProcessRunner(Protocol):
    """Runs other programs: never through a shell, always with a time limit."""

    def run(
        self,
        words: tuple[str, ...],
        folder: str,
        seconds: float,
        stdin: str = "",
        files: tuple[int, ...] = (),
    ) -> ProcessResult:
        """Run a program in a folder, with the file `stdin` as its input. Leaves nothing of it running.

        The program inherits the open `files` under their descriptor numbers. A lock among them is held until
        the program ends, even if this process is killed first.

        Raises `Busy` if the time is up, and `Missing` if the program, the folder or the input does not exist.
        Raises `Unreadable` if the program cannot be started or its output exceeds the limit.
        """


class TextVersion(Struct, frozen=True):
    """An earlier version of a description: its `name` in version control, its time, and `who` wrote it."""

    name: str
    at: datetime
    who: str


class DescriptionHistory(Protocol):
    """The earlier versions of a description. Reading them changes nothing and does not scan the files."""

    def versions(self) -> tuple[TextVersion, ...]:
        """Return every version of the current change, oldest first. Equal texts in a row count once."""

    def texts(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the texts of these versions. Raises `Unreadable` if they are too many for one read."""


class ExchangeOutcome(StrEnum):
    """The outcome of an exchange with a remote."""

    SENT = "sent"
    TAKEN = "taken"
    SAME = "same"
    AHEAD = "ahead"


class ExchangeResult(Struct, frozen=True):
    """The result of an exchange: the remote, the ref on it, and where a replaced text was archived, if any.

    `archived` is a place on the remote after a push, and a local one after a pull.
    """

    remote: str
    ref: str
    moved: ExchangeOutcome
    archived: str = ""


class DescriptionSync(Protocol):
    """Push and pull a description to and from a remote, on request. Never overwrites a text.

    An empty `remote` means the only one; an empty `name` means the name of the branch. Raises the faults of
    version control: `NoRemote`, `RemoteUnreachable`, `RemoteDenied`, `NoPlan`, and `TextConflict` if each
    side has a text that the other lacks.
    """

    def push(self, remote: str = "", name: str = "") -> ExchangeResult:
        """Send the text with its history, if the remote text is part of that history.

        A complete plan of another change is archived on the remote first.
        """

    def pull(self, remote: str = "", name: str = "", *, archive: bool = False) -> ExchangeResult:
        """Take the remote text, if the local text is part of its history.

        A local text of another change is archived first; with `archive`, one of the same change too.
        """


class ProjectDescription(Struct, frozen=True):
    """The description of a project: the `kind` of its repository, its folder, and the access to the text.

    Without `sharing`, the description travels only with the commits of the repository.
    """

    kind: str
    folder: Path
    descriptions: Descriptions
    past: DescriptionHistory
    sharing: DescriptionSync | None


JJ: Final = "jj"
GIT: Final = "git"
