"""The description of the commit that a jj workspace is at.

jj takes no lock between what it reads and what it writes. So whoever writes holds a lock of ours, jj itself
compares the text once more, and what stands is read again afterwards.
"""

import hashlib
import json
import os
import re
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from handrail.shell.carried import Version
from handrail.shell.faults import BadConfig, Fault, NoRepository, TooOld, VcsFailed
from handrail.shell.ports import ChangedFile, Changes, Description, Runner
from handrail.shell.vcs import INSTALL_JJ, OLDEST_JJ
from handrail.stores.descriptions.explained import NoSuchCommand, diverged, immutable, jj_failed
from handrail.stores.descriptions.lock import Lock
from handrail.stores.descriptions.program import LIMITS, Limits, Program, in_memory
from handrail.stores.descriptions.texts import judged, kept, overtaken, unseen

_CONFIG: Final = (
    "ui.log-word-wrap=false",
    "ui.paginate='never'",
    "ui.editor='false'",
    "ui.diff-formatter=':git'",
    "fsmonitor.backend='none'",
    "signing.behavior='drop'",
    "signing.backend='none'",
    "templates.commit_trailers='\"\"'",
)
_WORDS: Final = (
    *("jj", "--no-pager", "--color=never", "--quiet"),
    *(f"--config={setting}" for setting in _CONFIG),
)
_ASIDE: Final = "--ignore-working-copy"
_LOG: Final = ("log", "--no-graph", "-r")
_FIELDS: Final = ("change_id", "description", "empty", "immutable", "conflict", "divergent")
_COMMIT: Final = r' ++ ",'.join(rf'\"{name}\":" ++ json(self.{name}())' for name in _FIELDS)
_FILES: Final = (
    r'self.diff().files().map(|f| "{\"path\":" ++ json(f.path().display())'
    r' ++ ",\"status\":" ++ json(f.status()) ++ "}").join(",")'
)
_READ: Final = rf'"{{{_COMMIT} ++ "}}\n"'
_READ_FILES: Final = rf'"{{{_COMMIT} ++ ",\"files\":[" ++ {_FILES} ++ "]}}\n"'
_EVOLVED: Final = (
    r'"{\"commit\":" ++ json(commit.commit_id()) ++ ",\"change\":" ++ json(commit.change_id())'
    r' ++ ",\"hash\":" ++ json(hash(commit.description()))'
    r' ++ ",\"blank\":" ++ if(commit.description(), "false", "true")'
    r' ++ ",\"who\":" ++ json(commit.committer()) ++ "}\n"'
)
_TEXT: Final = (
    r'"{\"commit\":" ++ json(self.commit_id())'
    r' ++ ",\"text\":" ++ json(self.description()) ++ "}\n"'
)
_EXPECTED: Final = "handrail_expected()"
_ESCAPES: Final = str.maketrans(
    {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": r"\0"},
)
_USER: Final = ("user.name=", "user.email=")


class _Row(msgspec.Struct, frozen=True):
    """One commit, as the template says it."""

    change_id: str
    description: str
    empty: bool
    immutable: bool
    conflict: bool
    divergent: bool
    files: tuple[ChangedFile, ...] = ()

    def described(self) -> Description:
        """What the port has of it."""
        stands = _version(self.change_id, self.description)
        flags = (self.empty, self.immutable, self.divergent, self.conflict)
        return Description(self.description, stands, self.change_id, *flags)


class _Who(msgspec.Struct, frozen=True):
    """Who made a commit, and when."""

    name: str
    email: str
    timestamp: datetime


class _Evolved(msgspec.Struct, frozen=True):
    """A commit that a change once was; `hash` stands for its text, and `blank` says that there was none."""

    commit: str
    change: str
    hash: str
    blank: bool
    who: _Who

    def version(self) -> Version:
        """What the port has of it."""
        return Version(self.commit, self.who.timestamp, f"{self.who.name} <{self.who.email}>")


class _Text(msgspec.Struct, frozen=True):
    """The text of a commit."""

    commit: str
    text: str


_Told = TypeVar("_Told", _Row, _Evolved, _Text)


class Jj:
    """`Descriptions` of the workspace in this folder, by a runner with the `environment` meant for it.

    The lock is per repository, so that workspaces of one wait for each other. Commits that are written here
    are not signed.
    """

    __slots__ = ("_jj", "_lock", "_recent", "_user")

    def __init__(self, runner: Runner, folder: Path, limits: Limits = LIMITS) -> None:
        self._jj = Program(runner, folder, _WORDS, jj_failed, limits)
        self._lock = Lock(limits.lock)
        self._recent = False
        self._user: tuple[str, ...] | None = None

    def read(self) -> Description:
        """The text of the current commit. Looks at no file, so nothing of jj is waited for."""
        self._check()
        return self._shown("@")[0]

    def changes(self, most: int) -> Changes:
        """The text, and the files as jj finds them now: it takes them into the commit first."""
        self._check()
        with self._held() as lock:
            row = _rows(self._jj.tell(*_LOG, "@", "-T", _READ_FILES, files=(lock,)), _Row)[0]
        return Changes(row.described(), row.files[:most], len(row.files))

    def alone(self) -> AbstractContextManager[object]:
        """Hold the lock of the repository, which all its workspaces share."""
        return self._held()

    def swap(self, seen: Description, new: str) -> Description:
        """Replace the text; a divergence that comes of it is mended, or said.

        It is jj that compares what was seen with what stands, so nothing is read before.
        """
        text = kept(new)
        with self._held() as lock:
            if seen.divergent:
                raise diverged()
            if seen.immutable:
                raise immutable()
            if seen.text == text:
                return self._standing(seen)
            fault = self._tried(seen, lock, "describe", "--stdin", "-r", _exactly(seen), text=text)
            return self._settled(seen, text, fault, lock)

    def renew(self, seen: Description) -> Description:
        """Begin a new commit on top of the current one, which keeps its text."""
        with self._held() as lock:
            if seen.divergent:
                raise diverged()
            fault = self._tried(seen, lock, "new", _exactly(seen))
            now = self._seen(fault)
        if now.change != seen.change and not now.text:
            return now
        if now.version == seen.version and fault:
            raise fault
        raise overtaken(seen, now)

    def archive(self, seen: Description) -> None:
        """Nothing: the commit keeps its text."""

    def versions(self) -> tuple[Version, ...]:
        """Every text that jj remembers of the current change, from the first that was not empty on."""
        change = self.read().change
        said = self._jj.ask(_ASIDE, "evolog", "--no-graph", "-r", "@", "-T", _EVOLVED)
        found: list[_Evolved] = []
        for row in reversed(_rows(said, _Evolved)):
            another = row.hash != found[-1].hash if found else not row.blank
            if row.change == change and another:
                found.append(row)
        return tuple(row.version() for row in found)

    def texts(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The descriptions of these commits, hidden ones too."""
        if not names:
            return ()
        commits = " | ".join(f'commit_id("{name}")' for name in names)
        rows = _rows(self._jj.ask(_ASIDE, *_LOG, commits, "-T", _TEXT), _Text)
        texts = {row.commit: row.text for row in rows}
        return tuple(texts[name] for name in names)

    def _standing(self, seen: Description) -> Description:
        now = self.read()
        if now.version != seen.version:
            raise overtaken(None, now)
        return now

    def _tried(self, before: Description, lock: int, *words: str, text: str = "") -> VcsFailed | None:
        """Have jj do it, with the text before to compare; how that failed, if it did.

        Files are looked at: a description that is written past them would leave the working copy stale.
        """
        with in_memory(_guard(before.text)) as file:
            given = (*self._identity(), f"--config-file=/proc/self/fd/{file}", *words)
            try:
                self._jj.tell(*given, text=text.encode(), files=(file, lock))
            except VcsFailed as fault:
                return fault
        return None

    def _settled(self, before: Description, text: str, fault: VcsFailed | None, lock: int) -> Description:
        """What stands after a write, however that ended."""
        now = self._seen(fault)
        if now.divergent and now.change == before.change:
            self._mend(before, lock)
            now = self._seen(fault)
            if now.divergent:
                raise overtaken(None, *self._shown(_commits(before)))
        return judged(before, text, now, fault)

    def _mend(self, before: Description, lock: int) -> None:
        """Make one commit of several: by jj, or where it cannot yet, without those that have the old text."""
        commits = _commits(before)
        fault = self._tried(before, lock, "converge", "--no-interactive", "-r", commits)
        if isinstance(fault, NoSuchCommand):
            self._tried(before, lock, "abandon", "-r", f"({commits} & {_EXPECTED}) ~ @")

    def _seen(self, fault: Fault | None) -> Description:
        """What stands after a write that ended with this fault, or with none."""
        try:
            return self.read()
        except Fault as blind:
            raise (unseen(fault, blind) if fault else blind) from blind

    def _shown(self, revisions: str) -> tuple[Description, ...]:
        """What these commits say, at least one, past the working copy."""
        said = self._jj.ask(_ASIDE, *_LOG, revisions, "-T", _READ)
        return tuple(row.described() for row in _rows(said, _Row))

    def _check(self) -> None:
        """Once: that jj is new enough."""
        if self._recent:
            return
        said = self._jj.ask("--version").decode("utf-8", "replace").strip()
        found = re.match(r"jj (\d+)\.(\d+)", said)
        if found is None or (int(found[1]), int(found[2])) < OLDEST_JJ:
            raise TooOld(f"`jj --version` says {said!a}, and that is too old", INSTALL_JJ)
        self._recent = True

    def _identity(self) -> tuple[str, ...]:
        """Once: who writes, in words that keep it so."""
        if self._user is None:
            said = self._jj.ask(_ASIDE, "config", "list", "user", "-T", r'name ++ "=" ++ value ++ "\0"')
            settings = said.decode("utf-8", "replace").split("\0")
            self._user = tuple(f"--config={one}" for one in settings if one.startswith(_USER))
        return self._user

    def _held(self) -> AbstractContextManager[int]:
        """The lock of the repository, which another workspace may have its own way to."""
        home = self._jj.folder / ".jj"
        kept_in = home / "repo"
        try:
            repository = kept_in if kept_in.is_dir() else home / os.fsdecode(kept_in.read_bytes())
        except OSError as error:
            raise NoRepository(
                f"`{kept_in}` leads to no repository of jj", "run `jj git init`, or force git"
            ) from error
        return self._lock.held(repository)


def _version(change: str, text: str) -> str:
    """What stands for this text of this change: the name of the commit would not, files change it too."""
    return hashlib.sha256(f"{change}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _exactly(before: Description) -> str:
    """The current commit, if it is this change and has this text; else jj fails and does nothing."""
    return f"exactly(@ & {_commits(before)} & {_EXPECTED}, 1)"


def _commits(before: Description) -> str:
    return f'change_id("{before.change}")'


def _guard(text: str) -> bytes:
    """A configuration in which `handrail_expected()` is whatever has this text."""
    revisions = json.dumps(f'description(exact:"{text.translate(_ESCAPES)}")', ensure_ascii=False)
    return f'[revset-aliases]\n"{_EXPECTED}" = {revisions}\n'.replace("\x7f", r"\u007f").encode()


def _rows(said: bytes, kind: type[_Told]) -> tuple[_Told, ...]:
    try:
        rows = tuple(msgspec.json.decode(line, type=kind) for line in said.splitlines())
    except msgspec.MsgspecError as error:
        raise _misled(said) from error
    if not rows:
        raise _misled(said)
    return rows


def _misled(said: bytes) -> BadConfig:
    return BadConfig(
        f"jj says something else than it was asked: {said[:200]!a}",
        "look for aliases of your own in `jj config list template-aliases` that have the names of built-in"
        " functions, and rename them",
    )
