"""Store a description in git, without touching the branch, the index or the files.

Each version of the text is a commit with one file; `refs/worktree/handrail/plan` names the newest one. What
can be seen in the `.git` folder without starting git is only a shortcut: if in doubt, git is asked.
"""

import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory, mkstemp
from typing import Final, TypeAlias

from msgspec.structs import replace

from handrail.documents.plan.parse import parse_any
from handrail.documents.plan.stages import is_finished
from handrail.runtime import errors
from handrail.runtime.errors import NoPlan, NoRemote, TextConflict, Unreadable, VcsFailed
from handrail.runtime.ports.turn import (
    ChangedFile,
    Changes,
    Description,
    ExchangeOutcome,
    ExchangeResult,
    IdSource,
    ProcessRunner,
    TextVersion,
)
from handrail.runtime.system import SystemClock, resolve_path
from handrail.stores.vcs import commands
from handrail.stores.vcs.commands import DEFAULT_TIMEOUTS, VcsProgram, VcsTimeouts

_GITDIR_PREFIX: Final = "gitdir: "
_OBJECT_NAME: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Inode, time and size of the configuration files: changes as soon as one of them is written.
ConfigStamp: TypeAlias = tuple[tuple[int, int, int], ...]
PLAN_REF: Final = "refs/worktree/handrail/plan"
# Archived texts are below this, each by the name of its change.
ARCHIVE_REFS: Final = "refs/handrail/done/"
# How every git command begins, so that no program of the project is run.
GIT_COMMAND: Final = (
    *("git", "--no-pager", "--no-optional-locks", "--no-replace-objects"),
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
)
_PLAN_FILE: Final = "plan"
_FILTER_SETTING: Final = re.compile(r"filter[.].*[.](?:clean|smudge|process|required)", re.DOTALL)
_STATUS_COMMAND: Final = (
    *("status", "--porcelain", "-z", "--untracked-files=all"),
    *("--no-renames", "--ignore-submodules=dirty"),
)
_CHANGE_TRAILER: Final = re.compile(rb"^Handrail-Change: ([0-9a-z-]+)$", re.MULTILINE)
_IDENTITY: Final = re.compile(rb"(.+ <[^<>]+>) \d+ [+-]\d+\s*")
_NO_DESCRIPTION: Final = Description("", "", "")
# The last second that `datetime` can hold.
_MAX_TIMESTAMP: Final = 253_402_300_799
# The letters of `git status` for files with merge conflicts.
_CONFLICT_STATUSES: Final = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})
# Plans at a remote are below this, each by its name.
PLAN_REFS: Final = "refs/handrail/plans/"
REMOTE_TIMEOUTS: Final = VcsTimeouts(write=120.0)
_DEFAULT_REMOTE: Final = "origin"
_SHOWN_CHARACTERS: Final = 60
_REMOTE_OPTIONS: Final = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.fsckObjects=true")
_FETCH_COMMAND: Final = (
    *("fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-auto-maintenance"),
    *("--no-recurse-submodules", "--no-write-commit-graph", "--"),
)
_PUSH_COMMAND: Final = (
    *("push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags"),
    *("--no-recurse-submodules", "--no-progress"),
)


@dataclass(frozen=True, slots=True)
class GitFolders:
    """The worktree's own git folder, and the one that all worktrees of the repository share."""

    own: Path
    common: Path

    def read_loose_ref(self, ref: str) -> str:
        """Return the commit in the file of a ref; empty if there is no file or no commit in it."""
        line = _read_line((self.own if ref.startswith("refs/worktree/") else self.common) / ref)
        return line if _OBJECT_NAME.fullmatch(line) else ""

    def stamp_config(self) -> ConfigStamp:
        """Return the stamp of the repository's configuration files."""
        return tuple(_stamp_file(path) for path in (self.common / "config", self.own / "config.worktree"))


def find_git_folders(folder: Path) -> GitFolders | None:
    """Return the git folders of the worktree in this folder; None if `.git` cannot be followed."""
    own = folder / ".git"
    if own.is_file():
        line = _read_line(own)
        if not line.startswith(_GITDIR_PREFIX):
            return None
        own = folder / line.removeprefix(_GITDIR_PREFIX)
    shared = _read_line(own / "commondir")
    return GitFolders(own, own / shared if shared else own)


def _read_line(path: Path) -> str:
    """Return the text of a small file without its line break; empty if it cannot be read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            return os.fsdecode(os.read(file, 4096)).rstrip("\r\n")
        finally:
            os.close(file)
    except OSError:
        return ""


def _stamp_file(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_mtime_ns, found.st_size)


@dataclass(frozen=True, slots=True)
class ObjectWriter:
    """Write objects into the `objects` folder of a repository without starting git."""

    folder: Path
    algorithm: str
    who: bytes

    def write_commit(self, file: str, data: bytes, message: str, parent: str, at: datetime) -> str:
        """Write a commit with only this file, on top of `parent` if given, and return its name."""
        blob = self._put("blob", data)
        tree = self._put("tree", b"100644 " + file.encode() + b"\0" + bytes.fromhex(blob))
        by = self.who + f" {int(at.timestamp())} +0000".encode()
        above = [f"parent {parent}".encode()] if parent else []
        head = [f"tree {tree}".encode(), *above, b"author " + by, b"committer " + by]
        return self._put("commit", b"\n".join([*head, b"", message.encode()]))

    def _put(self, kind: str, data: bytes) -> str:
        """Write an object unless it exists, and return its name."""
        whole = f"{kind} {len(data)}\0".encode() + data
        name = hashlib.new(self.algorithm, whole, usedforsecurity=False).hexdigest()
        path = self.folder / name[:2] / name[2:]
        with suppress(OSError):
            os.utime(path)  # git does not prune a renewed object as old
            return name
        try:
            self._write(path, zlib.compress(whole, 1))  # as git does
        except OSError as error:
            raise errors.build_write_fault(f"{path}", error) from error
        return name

    def _write(self, path: Path, data: bytes) -> None:
        """Write an object file with the permissions of the objects folder."""
        mode = stat.S_IMODE(self.folder.stat().st_mode)
        with suppress(FileExistsError):
            path.parent.mkdir()
            path.parent.chmod(mode)
        # git removes files with this prefix as objects that were never finished.
        opened, unfinished = mkstemp(prefix="tmp_obj_", dir=path.parent)
        try:
            with os.fdopen(opened, "wb") as file:
                file.write(data)
                os.fchmod(opened, mode & 0o444)
            Path(unfinished).rename(path)
        except OSError:
            with suppress(OSError):
                Path(unfinished).unlink()
            raise


class GitDescriptions:
    """`Descriptions` of the worktree in this folder. A text's version is its commit, which never changes."""

    def __init__(
        self, runner: ProcessRunner, folder: Path, ids: IdSource, limits: VcsTimeouts = DEFAULT_TIMEOUTS
    ) -> None:
        self.program = VcsProgram(runner, folder, GIT_COMMAND, commands.git_fault, limits)
        self._ids, self._lock = ids, commands.RepositoryLock(limits.lock)
        self._known = _NO_DESCRIPTION
        self._filters: tuple[ConfigStamp, tuple[str, ...]] | None = None
        self._shared: tuple[Path, str] | None = None
        self._objects: ObjectWriter | None = None

    def read(self) -> Description:
        """Return the text at the ref; an empty one, of no change, if there is no ref."""
        known = self._known
        if known.version and self._read_loose_ref(PLAN_REF) == known.version:
            return known
        self._known = self.read_commit(PLAN_REF)
        return self._known

    def read_commit(self, commit: str) -> Description:
        """Return the description in a commit of any chain; an empty one if there is no such commit."""
        output = self.program.ask("cat-file", "--batch", text=f"{commit}\n{commit}:{_PLAN_FILE}\n".encode())
        kind, name, body, rest = _parse_object(output)
        if kind == "missing":
            return _NO_DESCRIPTION
        file_kind, _, text, _ = _parse_object(rest)
        if (kind, file_kind) != ("commit", "blob"):
            raise Unreadable(
                f"`{commit}` holds no file `{_PLAN_FILE}`",
                f"look at it, and remove it: `git update-ref -d {commit}`",
            )
        change = _CHANGE_TRAILER.search(body)
        return Description(text.decode("utf-8", "replace"), name, change[1].decode() if change else name)

    def changes(self, most: int) -> Changes:
        """Return the text, and the files that differ from the checked-out commit, at most `most`."""
        described = self.read()
        output = self.program.tell(*self._filter_overrides(), *_STATUS_COMMAND, files=())
        files = _parse_status(output.decode("utf-8", "replace").split("\0"))
        return Changes(replace(described, empty=not files), files[:most], len(files))

    def hold_lock(self) -> AbstractContextManager[int]:
        """Lock the repository for the block, for all its worktrees. Yields the locked file."""
        return self._lock.hold(self._locate()[0])

    def swap(self, seen: Description, new: str) -> Description:
        """Replace the text: add a commit to the chain, or begin a chain."""
        text = commands.normalize_text(new)
        with self.hold_lock() as lock:
            if seen.text == text:
                return commands.require_version(self, seen)
            change = seen.change or self._ids.new_id()
            message, at = f"plan\n\nHandrail-Change: {change}\n", SystemClock().now()
            try:
                objects = self._object_writer()
                commit = objects.write_commit(_PLAN_FILE, text.encode(), message, seen.version, at)
                before = seen.version or "0" * len(commit)
                self.program.tell("update-ref", "--no-deref", PLAN_REF, commit, before, files=(lock,))
            except VcsFailed as fault:
                return commands.verify_write(seen, text, commands.read_after_write(self, fault), fault)
            self._known = Description(text, commit, change)
            return self._known

    def begin_new(self, seen: Description) -> Description:
        """Move the chain below `refs/handrail/done/`, by the name of its change."""
        with self.hold_lock() as lock:
            if not seen.version:
                return commands.require_version(self, seen)
            self._archive(seen, "delete", lock)
        return _NO_DESCRIPTION

    def archive(self, seen: Description) -> None:
        """Copy the chain below `refs/handrail/done/`, by the name of its change."""
        with self.hold_lock() as lock:
            if self._read_loose_ref(_archive_ref(seen)) == seen.version:
                commands.require_version(self, seen)
            else:
                self._archive(seen, "verify", lock)

    def versions(self) -> tuple[TextVersion, ...]:
        """Return every commit of the chain, oldest first."""
        commit = self.read().version
        if not commit:
            return ()
        words = ("--reverse", "--first-parent", "--encoding=UTF-8", "--format=%H%x00%ct%x00%an <%ae>")
        output = self.program.ask("rev-list", *words, commit, "--")
        lines = output.decode("utf-8", "replace").split("\n")
        rows = (line.split("\0") for line in lines if "\0" in line)
        return tuple(
            TextVersion(name, datetime.fromtimestamp(min(int(at), _MAX_TIMESTAMP), UTC), who)
            for name, at, who in rows
        )

    def texts(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the text of each of these commits."""
        request = "".join(f"{name}:{_PLAN_FILE}\n" for name in names)
        output = self.program.ask("cat-file", "--batch", text=request.encode())
        texts = []
        for _ in names:
            _, _, text, output = _parse_object(output)
            texts.append(text.decode("utf-8", "replace"))
        return tuple(texts)

    def take_chain(self, there: Description, seen: Description, aside: str) -> None:
        """Move the ref from `seen` to another chain, and keep the old one under `aside`, if given."""
        kept_first = f"update {aside} {seen.version}\n" if aside else ""
        before = seen.version or "0" * len(there.version)
        with self.hold_lock() as lock:
            self._move(f"{kept_first}update {PLAN_REF} {there.version} {before}\n", lock)

    def _archive(self, seen: Description, then: str, lock: int) -> None:
        """Archive the chain by the name of its change, and delete or verify its ref: both or neither.

        An archive with that name is replaced only by a continuation of it. The file of the ref is only a
        hint: git makes the comparison.
        """
        name, after = _archive_ref(seen), f"{then} {PLAN_REF} {seen.version}\n"
        hinted = {"": f"create {name} {seen.version}\n", seen.version: ""}.get(self._read_loose_ref(name))
        try:
            try:
                self._move((self._archive_command(name, seen) if hinted is None else hinted) + after, lock)
            except TextConflict:
                self._move(self._archive_command(name, seen) + after, lock)
        except VcsFailed as fault:
            now = commands.read_after_write(self, fault)
            if now.version == seen.version:
                raise
            if now.version or then == "verify":
                raise commands.conflict_fault(seen, now) from fault

    def _archive_command(self, name: str, seen: Description) -> str:
        """Return the command that archives the chain if the name is taken: under it if it continues it."""
        words = ("for-each-ref", "--format=%(objectname)", f"--merged={seen.version}", name)
        before = self.program.ask(*words).decode("ascii").strip()
        if before:
            return f"update {name} {seen.version} {before}\n"
        return f"update {unique_archive_ref(seen)} {seen.version}\n"

    def _read_loose_ref(self, ref: str) -> str:
        folders = find_git_folders(self.program.folder)
        return folders.read_loose_ref(ref) if folders else ""

    def _move(self, moves: str, lock: int) -> None:
        """Run these `update-ref` commands, all of them or none."""
        self.program.tell("update-ref", "--no-deref", "--stdin", text=moves.encode(), files=(lock,))

    def _filter_overrides(self) -> tuple[str, ...]:
        """Return options that disable every filter program in the configuration."""
        folders = find_git_folders(self.program.folder)
        stamp = folders.stamp_config() if folders else None
        if self._filters and self._filters[0] == stamp:
            return self._filters[1]
        output = self.program.ask("config", "--list", "--name-only", "-z").decode("utf-8", "surrogateescape")
        names = sorted({*output.split("\0")})
        filters = (name for name in names if _FILTER_SETTING.fullmatch(name))
        words = tuple(f"--config-env={name}=EMPTY_FOR_GIT" for name in filters)
        alone = not any(name.startswith("include") for name in names)
        # A change of an included file would go unnoticed.
        self._filters = (stamp, words) if stamp and alone else None
        return words

    def _object_writer(self) -> ObjectWriter:
        """Return the object writer, created once. It commits as Handrail if git knows no user."""
        if self._objects is None:
            try:
                output = self.program.ask("var", "GIT_COMMITTER_IDENT")
            except VcsFailed:
                output = b""
            found = _IDENTITY.fullmatch(output)
            who = found[1] if found else b"Handrail <handrail@localhost>"
            common, algorithm = self._locate()
            self._objects = ObjectWriter(common / "objects", algorithm, who)
        return self._objects

    def _locate(self) -> tuple[Path, str]:
        """Return the folder that all worktrees share, and its hash algorithm. Asked once."""
        if self._shared is None:
            output = self.program.ask("rev-parse", "--git-common-dir", "--show-object-format")
            common, _, algorithm = output.decode("utf-8", "surrogateescape").strip("\n").rpartition("\n")
            self._shared = (self.program.folder / common, algorithm)
        return self._shared


def unique_archive_ref(described: Description) -> str:
    """Return an archive ref for a text that no other text can have."""
    return f"{_archive_ref(described)}-{described.version}"


def _archive_ref(described: Description) -> str:
    return f"{ARCHIVE_REFS}{described.change}"


def _parse_object(output: bytes) -> tuple[str, str, bytes, bytes]:
    """Return kind, name and bytes of the first object in `cat-file --batch` output, and the rest."""
    head, _, rest = output.partition(b"\n")
    words = head.decode("utf-8", "replace").split(" ")
    if len(words) != 3:
        return "missing", "", b"", rest
    name, kind, size = words
    return kind, name, rest[: int(size)], rest[int(size) + 1 :]


def _parse_status(lines: list[str]) -> tuple[ChangedFile, ...]:
    """Return the files that `git status` lists against the commit, each once."""
    found: dict[str, str] = {}
    for line in filter(None, lines):
        letters, path = line[:2], line[3:]
        if letters == "AD":  # added and removed again
            continue
        if letters in _CONFLICT_STATUSES:
            status = "conflicted"
        elif letters == "??" or letters[0] == "A":
            status = "added"
        else:
            status = "removed" if "D" in letters else "modified"
        found[path] = "modified" if path in found else status
    return tuple(ChangedFile(path, found[path]) for path in sorted(found))


def build_remote_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for git to talk to a remote: by file, the user's ssh or https, no prompts."""
    ssh = {name: env[name] for name in ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT") if name in env}
    return {**commands.build_environment(env), **ssh, "GIT_ALLOW_PROTOCOL": "file:ssh:https"}


@dataclass(frozen=True, slots=True)
class _RemotePlan:
    """Where a plan is at a remote: the remote's name, its URL, and the ref."""

    remote: str
    url: str
    ref: str


@dataclass(frozen=True, slots=True)
class _Sides:
    """The local and the remote description, and how many versions each has that the other lacks."""

    here: Description
    there: Description
    ahead: int
    behind: int

    @property
    def is_other_change(self) -> bool:
        """True if they are about different changes."""
        return self.here.change != self.there.change


class GitDescriptionSync:
    """`DescriptionSync` of a worktree. `far` has the environment of `build_remote_environment`."""

    def __init__(self, git: GitDescriptions, far: ProcessRunner) -> None:
        self._git, self._program, self._far = git, git.program, far

    def push(self, remote: str = "", name: str = "") -> ExchangeResult:
        """Push the chain if it continues the remote one; else raise `TextConflict`.

        A finished remote plan about another change is archived there first.
        """
        place = self._locate(remote, name, "--push")
        if not self._git.read().version:
            raise NoPlan(
                "this worktree has no plan to push",
                "begin one with a server of `--face planner` or `--face commits`, then push it",
            )
        with self._transfer_repository() as far:
            sides = self._compare(place, far)
            mine, theirs = sides.here.version, sides.there.version
            if mine == theirs:
                return ExchangeResult(place.remote, place.ref, ExchangeOutcome.SAME)
            sent = f"{mine}:{place.ref}"
            if not theirs or not sides.behind:
                far.tell(*_PUSH_COMMAND, "--", place.url, sent, files=())
                return ExchangeResult(place.remote, place.ref, ExchangeOutcome.SENT)
            if not sides.is_other_change or not is_finished(parse_any(sides.there.text)[0]):
                raise _push_conflict(place, sides)
            archive = unique_archive_ref(sides.there)
            lease = f"--force-with-lease={place.ref}:{theirs}"
            both = (f"{theirs}:{archive}", sent)
            far.tell(*_PUSH_COMMAND, "--atomic", lease, "--", place.url, *both, files=())
            return ExchangeResult(place.remote, place.ref, ExchangeOutcome.SENT, archive)

    def pull(self, remote: str = "", name: str = "", *, archive: bool = False) -> ExchangeResult:
        """Take the remote chain if it continues the local one; else raise `TextConflict`.

        If the local one is about another change, or `archive` is set, it is archived first and replaced.
        """
        place = self._locate(remote, name)
        with self._transfer_repository() as far:
            sides = self._compare(place, far)
        here, there = sides.here, sides.there
        if not there.version:
            raise NoPlan(
                f"`{place.remote}` has no plan under `{place.ref}`",
                "run `handrail plan push` where it is, or say its name with --name:"
                f" `git ls-remote {place.remote} '{PLAN_REFS}*'` lists those there are",
            )
        commands.normalize_text(there.text)
        if here.version and not sides.behind:
            moved = ExchangeOutcome.SAME if here.version == there.version else ExchangeOutcome.AHEAD
            return ExchangeResult(place.remote, place.ref, moved)
        diverged = here.version and sides.ahead
        if diverged and not (sides.is_other_change or archive):
            raise _divergence_conflict(place, sides)
        left = unique_archive_ref(here) if diverged else ""
        self._git.take_chain(there, here, left)
        return ExchangeResult(place.remote, place.ref, ExchangeOutcome.TAKEN, left)

    def _compare(self, place: _RemotePlan, far: VcsProgram) -> _Sides:
        try:
            far.tell(*_FETCH_COMMAND, place.url, f"+{place.ref}:refs/theirs", files=())
            theirs = far.ask("rev-parse", "--verify", "refs/theirs").decode("ascii").strip()
        except NoPlan:
            theirs = ""
        here = self._git.read()
        there = self._git.read_commit(theirs) if theirs else _NO_DESCRIPTION
        if not here.version or not theirs:
            return _Sides(here, there, 0, 0)
        words = ("rev-list", "--count", "--left-right", f"{here.version}...{theirs}", "--")
        ahead, behind = map(int, self._program.ask(*words).split())
        return _Sides(here, there, ahead, behind)

    def _locate(self, remote: str, name: str, *which: str) -> _RemotePlan:
        """Work out remote, URL and ref; the name of the plan is by default the current branch."""
        known = self._ask_text("remote").splitlines()
        chosen = remote or (known[0] if len(known) == 1 else _DEFAULT_REMOTE)
        if chosen not in known:
            raise _no_remote_fault(remote, known)
        url = self._ask_text("remote", "get-url", *which, chosen)
        try:
            if name:
                self._ask_text("check-ref-format", f"{PLAN_REFS}{name}")
            ref = f"{PLAN_REFS}{name or self._ask_text('symbolic-ref', '--quiet', '--short', 'HEAD')}"
        except VcsFailed as fault:
            if name:
                raise Unreadable(f"`{name}` names no plan", "take letters, digits, - and /") from fault
            raise Unreadable(
                "no branch is checked out that the plan could be named by", "say its name with --name"
            ) from fault
        return _RemotePlan(chosen, url, ref)

    @contextmanager
    def _transfer_repository(self) -> Iterator[VcsProgram]:
        """Create a temporary repository that shares the project's objects and nothing else.

        So no configuration and no hook of the project applies when git talks to a remote.
        """
        query = ("rev-parse", "--show-object-format", "--git-path", "objects")
        form, _, objects = self._ask_text(*query).partition("\n")
        with TemporaryDirectory(prefix="handrail-") as made:
            folder = Path(made)
            (folder / "refs").mkdir()
            (folder / "objects").symlink_to(resolve_path(self._program.folder / objects))
            (folder / "HEAD").write_text("ref: refs/heads/none\n", "ascii")
            (folder / "config").write_text(
                "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n"
                f"[extensions]\n\tobjectFormat = {form}\n",
                "ascii",
            )
            words = (*GIT_COMMAND, *_REMOTE_OPTIONS, f"--git-dir={folder}")
            yield VcsProgram(self._far, self._program.folder, words, commands.remote_fault, REMOTE_TIMEOUTS)

    def _ask_text(self, *words: str) -> str:
        return self._program.ask(*words).decode("utf-8", "surrogateescape").removesuffix("\n")


def _push_conflict(place: _RemotePlan, sides: _Sides) -> TextConflict:
    texts = (sides.here.text, sides.there.text)
    if not sides.ahead:
        message = f"the plan at `{place.remote}` is {_count_versions(sides.behind)} further than the one here"
        return TextConflict(message, "run `handrail plan pull` first", texts)
    if sides.is_other_change:
        return TextConflict(
            f"under `{place.ref}` of `{place.remote}` stands another plan that is not complete:"
            f" {_quote_first_line(sides.there)}, and the one here is {_quote_first_line(sides.here)}",
            "push this one under another name with --name, or go on with that one by `handrail plan pull`,"
            " which archives the one here",
            texts,
        )
    return _divergence_conflict(place, sides)


def _divergence_conflict(place: _RemotePlan, sides: _Sides) -> TextConflict:
    return TextConflict(
        f"the plan was changed on both sides: {_count_versions(sides.ahead)}"
        f" here, {_quote_first_line(sides.here)},"
        f" and {_count_versions(sides.behind)} at `{place.remote}`, {_quote_first_line(sides.there)}",
        "run `handrail plan pull --archive`: it keeps the "
        f"one here below `{ARCHIVE_REFS}` and takes the other;"
        " then make your changes again there, and push",
        (sides.here.text, sides.there.text),
    )


def _no_remote_fault(remote: str, known: list[str]) -> NoRemote:
    if remote:
        names = ", ".join(known) or "none yet"
        repair = f"name one that there is ({names}), or add it: `git remote add {remote} URL`"
        return NoRemote(f"no remote is called `{remote}`", repair)
    if known:
        return NoRemote("there are several remotes", f"say which one: {', '.join(known)}")
    return NoRemote("this repository has no remote", f"add one: `git remote add {_DEFAULT_REMOTE} URL`")


def _count_versions(versions: int) -> str:
    return "1 version" if versions == 1 else f"{versions} versions"


def _quote_first_line(described: Description) -> str:
    return f"`{described.text.partition(chr(10))[0][:_SHOWN_CHARACTERS]}`"
