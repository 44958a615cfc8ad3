"""The description that a git worktree has: the tip of a chain of commits, each with one file, below a ref.

The ref is the worktree's own, no branch knows of it, and git replaces it only if it is still what was read.
"""

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

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
_WORDS: Final = (
    *("git", "--no-pager", "--no-optional-locks", "--no-replace-objects"),
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
)
_NOTHING: Final = "EMPTY_FOR_GIT"
_FILTER: Final = re.compile(r"filter[.].*[.](?:clean|smudge|process|required)", re.DOTALL)
_STATUS: Final = (
    *("status", "--porcelain", "-z", "--untracked-files=all"),
    *("--no-renames", "--ignore-submodules=dirty"),
)
_CHANGE: Final = re.compile(rb"^Handrail-Change: ([0-9a-z-]+)$", re.MULTILINE)
_IDENT: Final = re.compile(r"(?P<name>.+) <(?P<email>[^<>]+)> \d+ [+-]\d+\s*")
_NOBODY: Final = ("-c", "user.name=Handrail", "-c", "user.email=handrail@localhost")
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
        self._git = Program(runner, folder, _WORDS, git_failed, limits)
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

    def _standing(self, expected: str) -> _Tip:
        tip = self._tip()
        if tip.described.version != expected:
            raise overtaken(None, tip.described)
        return tip

    def _tip(self) -> _Tip:
        said = self._git.ask("cat-file", "--batch", text=f"{REF}\n{REF}:{_FILE}\n".encode())
        kind, commit, body, rest = _object(said)
        if kind == "missing":
            return _Tip("", _described("", ""))
        found, _, text, _ = _object(rest)
        if (kind, found) != ("commit", "blob"):
            raise Unreadable(
                f"`{REF}` holds no file `{_FILE}`", f"look at it, and remove it: `git update-ref -d {REF}`"
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
