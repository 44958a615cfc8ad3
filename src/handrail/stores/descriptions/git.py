"""The description that a git worktree has: the tip of a chain of commits, each with one file, below a ref.

The ref is the worktree's own, no branch knows of it, and git replaces it only if it is still what was read.
"""

import re
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from handrail.shell.carried import Version
from handrail.shell.faults import Fault, Overtaken, Unreadable, VcsFailed
from handrail.shell.ports import ChangedFile, Changes, Clock, Description, Ids, Runner
from handrail.shell.system import SystemClock
from handrail.stores.descriptions.explained import git_failed
from handrail.stores.descriptions.gitdir import Stamp, places
from handrail.stores.descriptions.lock import Lock
from handrail.stores.descriptions.objects import Objects
from handrail.stores.descriptions.program import LIMITS, Limits, Program
from handrail.stores.descriptions.texts import judged, kept, overtaken, unseen

REF: Final = "refs/worktree/handrail/plan"
"""Where the current text is kept."""

ARCHIVE: Final = "refs/handrail/done/"
"""Below which those stand that were left, each by the name of its change."""

WORDS: Final = (
    *("git", "--no-pager", "--no-optional-locks", "--no-replace-objects"),
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
)
"""What stands before every command, so that nothing of the project is run."""

_FILE: Final = "plan"
_NOTHING: Final = "EMPTY_FOR_GIT"
_INCLUDE: Final = "include"
_FILTER: Final = re.compile(r"filter[.].*[.](?:clean|smudge|process|required)", re.DOTALL)
_STATUS: Final = (
    *("status", "--porcelain", "-z", "--untracked-files=all"),
    *("--no-renames", "--ignore-submodules=dirty"),
)
_CHANGE: Final = re.compile(rb"^Handrail-Change: ([0-9a-z-]+)$", re.MULTILINE)
_IDENT: Final = re.compile(rb"(.+ <[^<>]+>) \d+ [+-]\d+\s*")
_NOBODY: Final = b"Handrail <handrail@localhost>"
_CLOCK: Final = SystemClock()
_NONE: Final = Description("", "", "")
_NUL: Final = "\0"
_FORMAT: Final = "%H%x00%ct%x00%an <%ae>"
_LAST: Final = 253_402_300_799
_CONFLICTS: Final = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})


class Git:
    """`Descriptions` of the worktree in this folder, by a runner with the `environment` meant for it.

    The version of a text is the commit that has it. What a commit says never changes, so a text that was read
    once is not asked for again as long as the ref names its commit.
    """

    __slots__ = ("_clock", "_filters", "_git", "_home", "_ids", "_known", "_lock", "_objects")

    def __init__(
        self, runner: Runner, folder: Path, ids: Ids, limits: Limits = LIMITS, clock: Clock = _CLOCK
    ) -> None:
        self._git = Program(runner, folder, WORDS, git_failed, limits)
        self._ids, self._clock, self._lock = ids, clock, Lock(limits.lock)
        self._known = _NONE
        self._filters: tuple[Stamp, tuple[str, ...]] | None = None
        self._home: tuple[Path, str] | None = None
        self._objects: Objects | None = None

    def read(self) -> Description:
        """The text at the ref; the empty one, of no change, if there is none."""
        known = self._known
        if known.version and self._loose(REF) == known.version:
            return known
        self._known = self._asked()
        return self._known

    def changes(self, most: int) -> Changes:
        """The text, and the files that differ from the commit that is checked out."""
        described = self.read()
        said = self._git.tell(*self._unfiltered(), *_STATUS, files=())
        files = _files(said.decode("utf-8", "replace").split("\0"))
        return Changes(replace(described, empty=not files), files[:most], len(files))

    def alone(self) -> AbstractContextManager[object]:
        """Hold the lock of the repository, which all its worktrees share."""
        return self._held()

    def swap(self, seen: Description, new: str) -> Description:
        """Add a commit with the text to the chain, or begin one."""
        text = kept(new)
        with self._held() as lock:
            if seen.text == text:
                return self._standing(seen)
            change = seen.change or self._ids.run()
            try:
                return self._grown(seen, change, text, lock)
            except VcsFailed as fault:
                return judged(seen, text, self._stands(fault), fault)

    def renew(self, seen: Description) -> Description:
        """Move the chain below `refs/handrail/done/`, by the name of its change."""
        with self._held() as lock:
            if not seen.version:
                return self._standing(seen)
            try:
                self._keep(seen, f"delete {REF} {seen.version}\n", lock)
            except VcsFailed as fault:
                now = self._stands(fault)
                if now.version == seen.version:
                    raise
                if now.version:
                    raise overtaken(seen, now) from fault
        return _NONE

    def archive(self, seen: Description) -> None:
        """Copy the chain below `refs/handrail/done/`, by the name of its change."""
        with self._held() as lock:
            if self._loose(_done(seen)) == seen.version:
                self._standing(seen)
                return
            try:
                self._keep(seen, f"verify {REF} {seen.version}\n", lock)
            except VcsFailed as fault:
                now = self._stands(fault)
                if now.version == seen.version:
                    raise
                raise overtaken(seen, now) from fault

    def versions(self) -> tuple[Version, ...]:
        """Every commit of the chain."""
        commit = self.read().version
        if not commit:
            return ()
        words = ("rev-list", "--reverse", "--first-parent", "--encoding=UTF-8", f"--format={_FORMAT}")
        lines = self._git.ask(*words, commit, "--").decode("utf-8", "replace").split("\n")
        return tuple(Version(*_told(line)) for line in lines if _NUL in line)

    def texts(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The file of each of these commits."""
        asked = "".join(f"{name}:{_FILE}\n" for name in names)
        said = self._git.ask("cat-file", "--batch", text=asked.encode())
        found = []
        for _ in names:
            _, _, text, said = _object(said)
            found.append(text.decode("utf-8", "replace"))
        return tuple(found)

    def said_by(self, commit: str) -> Description:
        """What a commit of any chain says."""
        return self._asked(commit)

    def take(self, there: Description, seen: Description, aside: str = "") -> None:
        """Put the ref on the commit of another chain, if what was seen still stands.

        What stood is kept by the name `aside`, if one is given. Raises `Overtaken`.
        """
        kept_first = f"update {aside} {seen.version}\n" if aside else ""
        before = seen.version or "0" * len(there.version)
        with self._held() as lock:
            self._move(f"{kept_first}update {REF} {there.version} {before}\n", lock)

    def _keep(self, seen: Description, then: str, lock: int) -> None:
        """Keep the chain by the name of its change, and have git do `then` at once; both, or neither.

        What has that name already is replaced by what goes on from it only. The file of the name is a hint:
        it is git that compares.
        """
        name = _done(seen)
        hinted = {"": f"create {name} {seen.version}\n", seen.version: ""}.get(self._loose(name))
        try:
            self._move((self._further(name, seen) if hinted is None else hinted) + then, lock)
        except Overtaken:
            self._move(self._further(name, seen) + then, lock)

    def _further(self, name: str, seen: Description) -> str:
        """How the chain is kept where the name is taken: by it, if it goes on from what has it."""
        words = ("for-each-ref", "--format=%(objectname)", f"--merged={seen.version}", name)
        before = self._git.ask(*words).decode("ascii").strip()
        if before:
            return f"update {name} {seen.version} {before}\n"
        return f"update {set_aside(seen)} {seen.version}\n"

    def _loose(self, ref: str) -> str:
        """What the file of a ref says, as far as that can be seen."""
        found = places(self._git.folder)
        return found.loose(ref) if found else ""

    def _standing(self, seen: Description) -> Description:
        now = self.read()
        if now.version != seen.version:
            raise overtaken(None, now)
        return now

    def _asked(self, ref: str = REF) -> Description:
        """The text as git has it."""
        said = self._git.ask("cat-file", "--batch", text=f"{ref}\n{ref}:{_FILE}\n".encode())
        kind, commit, body, rest = _object(said)
        if kind == "missing":
            return _NONE
        found, _, text, _ = _object(rest)
        if (kind, found) != ("commit", "blob"):
            raise Unreadable(
                f"`{ref}` holds no file `{_FILE}`", f"look at it, and remove it: `git update-ref -d {ref}`"
            )
        change = _CHANGE.search(body)
        return Description(text.decode("utf-8", "replace"), commit, change[1].decode() if change else commit)

    def _grown(self, seen: Description, change: str, text: str, lock: int) -> Description:
        """What stands once there is one commit more, and the ref has moved from the one before to it."""
        message = f"plan\n\nHandrail-Change: {change}\n"
        made = self._writer().commit(_FILE, text.encode(), message, seen.version, self._clock.now())
        before = seen.version or "0" * len(made)
        self._write("update-ref", "--no-deref", REF, made, before, lock=lock)
        self._known = Description(text, made, change)
        return self._known

    def _move(self, moves: str, lock: int) -> None:
        """Have git move refs as these lines say, all of them or none."""
        self._write("update-ref", "--no-deref", "--stdin", text=moves.encode(), lock=lock)

    def _write(self, *words: str, lock: int, text: bytes = b"") -> None:
        self._git.tell(*words, text=text, files=(lock,))

    def _stands(self, fault: Fault) -> Description:
        """What stands after a write that ended with this fault."""
        try:
            return self.read()
        except Fault as blind:
            raise unseen(fault, blind) from blind

    def _unfiltered(self) -> tuple[str, ...]:
        """Words that take away every program that the configuration would have files go through.

        Git is asked again once the settings of the repository look different, and every time if they include
        other files.
        """
        found = places(self._git.folder)
        looks = found.configured() if found else None
        if self._filters and self._filters[0] == looks:
            return self._filters[1]
        said = self._git.ask("config", "--list", "--name-only", "-z").decode("utf-8", "surrogateescape")
        names = sorted({*said.split("\0")})
        words = tuple(f"--config-env={name}={_NOTHING}" for name in names if _FILTER.fullmatch(name))
        alone = not any(name.startswith(_INCLUDE) for name in names)
        self._filters = (looks, words) if looks and alone else None
        return words

    def _writer(self) -> Objects:
        """Once: where objects are, how they are named, and who writes; Handrail where git knows nobody."""
        if self._objects is None:
            try:
                said = self._git.ask("var", "GIT_COMMITTER_IDENT")
            except VcsFailed:
                said = b""
            who = _IDENT.fullmatch(said)
            common, named = self._place()
            self._objects = Objects(common / "objects", named, who[1] if who else _NOBODY)
        return self._objects

    def _held(self) -> AbstractContextManager[int]:
        return self._lock.held(self._place()[0])

    def _place(self) -> tuple[Path, str]:
        """Once: the folder that all worktrees share, and by which hash objects have their names there."""
        if self._home is None:
            said = self._git.ask("rev-parse", "--git-common-dir", "--show-object-format")
            common, _, named = said.decode("utf-8", "surrogateescape").strip("\n").rpartition("\n")
            self._home = (self._git.folder / common, named)
        return self._home


def set_aside(described: Description) -> str:
    """A name for a text that is left, under which nothing else ever stands."""
    return f"{_done(described)}-{described.version}"


def _done(described: Description) -> str:
    """The name for a text that is complete."""
    return f"{ARCHIVE}{described.change}"


def _told(line: str) -> tuple[str, datetime, str]:
    """The name of a commit, when it was made and by whom, from a line in our format."""
    name, at, who = line.split(_NUL)
    return name, datetime.fromtimestamp(min(int(at), _LAST), UTC), who


def _object(said: bytes) -> tuple[str, str, bytes, bytes]:
    """The kind, the name and the bytes of the first object that `cat-file --batch` says, and what follows."""
    head, _, rest = said.partition(b"\n")
    words = head.decode("utf-8", "replace").split(" ")
    if len(words) != 3:
        return "missing", "", b"", rest
    name, kind, size = words
    return kind, name, rest[: int(size)], rest[int(size) + 1 :]


def _files(lines: list[str]) -> tuple[ChangedFile, ...]:
    """The files that `git status` names, against the commit; once each."""
    found: dict[str, str] = {}
    for line in filter(None, lines):
        path = line[3:]
        if status := _status(line[:2]):
            found[path] = "modified" if path in found else status
    return tuple(ChangedFile(path, found[path]) for path in sorted(found))


def _status(letters: str) -> str:
    """What became of a file, from what the index and the worktree say; nothing if it only came and went."""
    if letters in _CONFLICTS:
        return "conflicted"
    if letters == "??" or letters[0] == "A":
        return "" if letters[1] == "D" else "added"
    return "removed" if "D" in letters else "modified"
