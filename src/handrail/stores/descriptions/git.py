"""The description that a git worktree has: the tip of a chain of commits, each with one file, below a ref.

The ref is the worktree's own, no branch knows of it, and git replaces it only if it is still what was read.
"""

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from handrail.shell.carried import Version
from handrail.shell.faults import Fault, Unreadable, VcsFailed
from handrail.shell.ports import ChangedFile, Changes, Description, Ids, Runner
from handrail.shell.workspace import Disk
from handrail.stores.descriptions.explained import git_failed
from handrail.stores.descriptions.program import LIMITS, LOCK, Limits, Program
from handrail.stores.descriptions.texts import judged, kept, overtaken, unseen, version

REF: Final = "refs/worktree/handrail/plan"
"""Where the current text is kept."""

ARCHIVE: Final = "refs/handrail/done/"
"""Below which those stand that were left, each by the name of its change."""

_FILE: Final = "plan"
WORDS: Final = (
    *("git", "--no-pager", "--no-optional-locks", "--no-replace-objects"),
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
)
"""What stands before every command, so that nothing of the project is run."""

_NOTHING: Final = "EMPTY_FOR_GIT"
_FILTER: Final = re.compile(r"filter[.].*[.](?:clean|smudge|process|required)", re.DOTALL)
_STATUS: Final = (
    *("status", "--porcelain", "-z", "--untracked-files=all"),
    *("--no-renames", "--ignore-submodules=dirty"),
)
_CHANGE: Final = re.compile(rb"^Handrail-Change: ([0-9a-z-]+)$", re.MULTILINE)
_IDENT: Final = re.compile(r"(?P<name>.+) <(?P<email>[^<>]+)> \d+ [+-]\d+\s*")
_NOBODY: Final = ("-c", "user.name=Handrail", "-c", "user.email=handrail@localhost")
_NUL: Final = "\0"
_FORMAT: Final = "%H%x00%ct%x00%an <%ae>"
_LAST: Final = 253_402_300_799
_CONFLICTS: Final = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})


@dataclass(frozen=True, slots=True)
class _Tip:
    """The commit that the ref is at, if it is there, and what it says."""

    commit: str
    described: Description


class Git:
    """`Descriptions` of the worktree in this folder, by a runner with the `environment` meant for it."""

    __slots__ = ("_common", "_git", "_ids", "_user")

    def __init__(self, runner: Runner, folder: Path, ids: Ids, limits: Limits = LIMITS) -> None:
        self._git = Program(runner, folder, WORDS, git_failed, limits)
        self._ids = ids
        self._common: Path | None = None
        self._user: tuple[str, ...] | None = None

    def read(self) -> Description:
        """The text at the ref; the empty one, of no change, if there is none."""
        return self._tip().described

    def changes(self, most: int) -> Changes:
        """The text, and the files that differ from the commit that is checked out."""
        described = self.read()
        said = self._git.tell(*self._unfiltered(), *_STATUS, files=())
        files = _files(said.decode("utf-8", "replace").split("\0"))
        return Changes(replace(described, empty=not files), files[:most], len(files))

    def swap(self, expected: str, new: str) -> Description:
        """Add a commit with the text to the chain, or begin one."""
        text = kept(new)
        with self._held() as lock:
            tip = self._standing(expected)
            if tip.described.text == text:
                return tip.described
            change = tip.described.change or self._ids.run()
            try:
                self._grow(tip.commit, change, text, lock)
            except VcsFailed as fault:
                return judged(tip.described, text, self._seen(fault), fault)
        return _described(text, change)

    def renew(self, expected: str) -> Description:
        """Move the chain below `refs/handrail/done/`, by the name of its change."""
        with self._held() as lock:
            tip = self._standing(expected)
            if not tip.commit:
                return tip.described
            moves = f"update {ARCHIVE}{tip.described.change} {tip.commit}\ndelete {REF} {tip.commit}\n"
            try:
                self._write("update-ref", "--no-deref", "--stdin", text=moves, lock=lock)
            except VcsFailed as fault:
                now = self._seen(fault)
                if now.version == expected:
                    raise
                if now.text:
                    raise overtaken(tip.described, now) from fault
        return _described("", "")

    def archive(self, expected: str) -> None:
        """Copy the chain below `refs/handrail/done/`, by the name of its change."""
        with self._held() as lock:
            tip = self._standing(expected)
            if tip.commit:
                name = f"{ARCHIVE}{tip.described.change}"
                self._write("update-ref", "--no-deref", name, tip.commit, lock=lock)

    def versions(self) -> tuple[Version, ...]:
        """Every commit of the chain."""
        commit = self.tip()
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

    def tip(self) -> str:
        """The commit that the ref is at; nothing if there is none."""
        return self._tip().commit

    def said_by(self, commit: str) -> Description:
        """What a commit of any chain says."""
        return self._tip(commit).described

    def take(self, commit: str, expected: str, archive: str = "") -> None:
        """Put the ref on the commit of another chain, if it is still at the expected one, or at none.

        What stood is kept by the name `archive`, if one is given. Raises `Overtaken`.
        """
        none = "0" * len(commit)
        kept_first = f"update {archive} {expected}\n" if archive else ""
        moves = f"{kept_first}update {REF} {commit} {expected or none}\n"
        with self._held() as lock:
            self._write("update-ref", "--no-deref", "--stdin", text=moves, lock=lock)

    def _standing(self, expected: str) -> _Tip:
        tip = self._tip()
        if tip.described.version != expected:
            raise overtaken(None, tip.described)
        return tip

    def _tip(self, ref: str = REF) -> _Tip:
        said = self._git.ask("cat-file", "--batch", text=f"{ref}\n{ref}:{_FILE}\n".encode())
        kind, commit, body, rest = _object(said)
        if kind == "missing":
            return _Tip("", _described("", ""))
        found, _, text, _ = _object(rest)
        if (kind, found) != ("commit", "blob"):
            raise Unreadable(
                f"`{ref}` holds no file `{_FILE}`", f"look at it, and remove it: `git update-ref -d {ref}`"
            )
        change = _CHANGE.search(body)
        named = change[1].decode() if change else commit
        return _Tip(commit, _described(text.decode("utf-8", "replace"), named))

    def _grow(self, parent: str, change: str, text: str, lock: int) -> None:
        blob = self._write("hash-object", "-w", "--stdin", text=text, lock=lock)
        tree = self._write("mktree", text=f"100644 blob {blob}\t{_FILE}\n", lock=lock)
        above = ("-p", parent) if parent else ()
        words = (*self._identity(), "commit-tree", tree, *above, "--no-gpg-sign")
        commit = self._write(*words, text=f"plan\n\nHandrail-Change: {change}\n", lock=lock)
        self._write("update-ref", "--no-deref", REF, commit, parent or "0" * len(commit), lock=lock)

    def _write(self, *words: str, lock: int, text: str = "") -> str:
        said = self._git.tell(*words, text=text.encode(), files=(lock,))
        return said.decode("ascii", "replace").strip()

    def _seen(self, fault: Fault) -> Description:
        """What stands after a write that ended with this fault."""
        try:
            return self.read()
        except Fault as blind:
            raise unseen(fault, blind) from blind

    def _unfiltered(self) -> tuple[str, ...]:
        """Words that take away every program that the configuration would have files go through."""
        said = self._git.ask("config", "--list", "--name-only", "-z").decode("utf-8", "surrogateescape")
        names = sorted({name for name in said.split("\0") if _FILTER.fullmatch(name)})
        return tuple(f"--config-env={name}={_NOTHING}" for name in names)

    def _identity(self) -> tuple[str, ...]:
        """Once: who writes, in words that keep it so; Handrail itself where git knows nobody."""
        if self._user is None:
            self._user = _NOBODY
            try:
                said = self._git.ask("var", "GIT_COMMITTER_IDENT").decode("utf-8", "replace")
            except VcsFailed:
                said = ""
            if found := _IDENT.fullmatch(said):
                self._user = ("-c", f"user.name={found['name']}", "-c", f"user.email={found['email']}")
        return self._user

    def _held(self) -> AbstractContextManager[int]:
        """The lock of the repository, which all its worktrees share."""
        if self._common is None:
            said = self._git.ask("rev-parse", "--git-common-dir").decode("utf-8", "surrogateescape")
            self._common = self._git.folder / said.removesuffix("\n")
        return Disk(self._common).lock(LOCK, self._git.limits.lock)


def _told(line: str) -> tuple[str, datetime, str]:
    """The name of a commit, when it was made and by whom, from a line in our format."""
    name, at, who = line.split(_NUL)
    return name, datetime.fromtimestamp(min(int(at), _LAST), UTC), who


def _described(text: str, change: str) -> Description:
    return Description(text, version(change, text), change)


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
