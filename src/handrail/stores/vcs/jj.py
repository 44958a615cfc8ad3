"""Store a description in the current commit of a jj workspace.

jj takes no lock between reading and writing. So a write holds a lock of our own, jj itself compares the old
text once more, and the result is read back.
"""

import hashlib
import json
import os
import re
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from handrail.runtime.errors import BadVcsConfig, NoRepository, VcsFailed, VcsTooOld
from handrail.runtime.ports.turn import ChangedFile, Changes, Description, ProcessRunner, TextVersion
from handrail.stores.vcs import commands
from handrail.stores.vcs.commands import DEFAULT_TIMEOUTS, VcsProgram, VcsTimeouts

# Settings for every command: no wrapping, pager, editor, monitor, signature or trailer.
_JJ_SETTINGS: Final = (
    "ui.log-word-wrap=false",
    "ui.paginate='never'",
    "ui.editor='false'",
    "ui.diff-formatter=':git'",
    "fsmonitor.backend='none'",
    "signing.behavior='drop'",
    "signing.backend='none'",
    "templates.commit_trailers='\"\"'",
)
_JJ_COMMAND: Final = (
    *("jj", "--no-pager", "--color=never", "--quiet"),
    *(f"--config={setting}" for setting in _JJ_SETTINGS),
)
_IGNORE_WORKING_COPY: Final = "--ignore-working-copy"
_LOG_COMMAND: Final = ("log", "--no-graph", "-r")
_COMMIT_FIELDS: Final = ("change_id", "description", "empty", "immutable", "conflict", "divergent")
_COMMIT_TEMPLATE: Final = r' ++ ",'.join(rf'\"{name}\":" ++ json(self.{name}())' for name in _COMMIT_FIELDS)
_FILES_TEMPLATE: Final = (
    r'self.diff().files().map(|f| "{\"path\":" ++ json(f.path().display())'
    r' ++ ",\"status\":" ++ json(f.status()) ++ "}").join(",")'
)
_READ_TEMPLATE: Final = rf'"{{{_COMMIT_TEMPLATE} ++ "}}\n"'
_READ_FILES_TEMPLATE: Final = rf'"{{{_COMMIT_TEMPLATE} ++ ",\"files\":[" ++ {_FILES_TEMPLATE} ++ "]}}\n"'
_EVOLOG_TEMPLATE: Final = (
    r'"{\"commit\":" ++ json(commit.commit_id()) ++ ",\"change\":" ++ json(commit.change_id())'
    r' ++ ",\"hash\":" ++ json(hash(commit.description()))'
    r' ++ ",\"blank\":" ++ if(commit.description(), "false", "true")'
    r' ++ ",\"who\":" ++ json(commit.committer()) ++ "}\n"'
)
_TEXT_TEMPLATE: Final = (
    r'"{\"commit\":" ++ json(self.commit_id())'
    r' ++ ",\"text\":" ++ json(self.description()) ++ "}\n"'
)
# A revset alias for the commits that have the expected text; see `_try_command`.
_EXPECTED_ALIAS: Final = "handrail_expected()"
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": r"\0"})


class _CommitRow(msgspec.Struct, frozen=True):
    """One commit, as the template prints it."""

    change_id: str
    description: str
    empty: bool
    immutable: bool
    conflict: bool
    divergent: bool
    files: tuple[ChangedFile, ...] = ()

    def to_description(self) -> Description:
        """Convert to the port's `Description`.

        The version is of this text of this change: the commit id would also change with the files.
        """
        key = f"{self.change_id}\0{self.description}".encode("utf-8", "surrogatepass")
        flags = (self.empty, self.immutable, self.divergent, self.conflict)
        return Description(self.description, hashlib.sha256(key).hexdigest(), self.change_id, *flags)


class _Signature(msgspec.Struct, frozen=True):
    """Who made a commit, and when."""

    name: str
    email: str
    timestamp: datetime


class _EvologRow(msgspec.Struct, frozen=True):
    """An earlier commit of a change. `hash` is the hash of its text, `blank` is True if it had none."""

    commit: str
    change: str
    hash: str
    blank: bool
    who: _Signature


class _TextRow(msgspec.Struct, frozen=True):
    """The text of a commit."""

    commit: str
    text: str


_AnyRow = TypeVar("_AnyRow", _CommitRow, _EvologRow, _TextRow)


class JjDescriptions:
    """`Descriptions` of the workspace in this folder. Commits written here are not signed."""

    def __init__(self, runner: ProcessRunner, folder: Path, limits: VcsTimeouts = DEFAULT_TIMEOUTS) -> None:
        self._jj = VcsProgram(runner, folder, _JJ_COMMAND, commands.jj_fault, limits)
        self._lock = commands.RepositoryLock(limits.lock)
        self._version_checked = False
        self._user: tuple[str, ...] | None = None

    def read(self) -> Description:
        """Return the text of the current commit. Does not look at files, so it never waits for jj's locks."""
        self._check()
        return self._read_revisions("@")[0]

    def changes(self, most: int) -> Changes:
        """Return the text and at most `most` changed files. jj first snapshots the files into the commit."""
        self._check()
        with self.hold_lock() as lock:
            output = self._jj.tell(*_LOG_COMMAND, "@", "-T", _READ_FILES_TEMPLATE, files=(lock,))
            row = _parse_rows(output, _CommitRow)[0]
        return Changes(row.to_description(), row.files[:most], len(row.files))

    def hold_lock(self) -> AbstractContextManager[int]:
        """Lock the repository for the block, for all its workspaces. Yields the locked file."""
        home = self._jj.folder / ".jj"
        kept_in = home / "repo"
        try:
            # Other workspaces reach the repository by a path of their own.
            repository = kept_in if kept_in.is_dir() else home / os.fsdecode(kept_in.read_bytes())
        except OSError as error:
            message = f"`{kept_in}` leads to no repository of jj"
            raise NoRepository(message, "run `jj git init`, or force git") from error
        return self._lock.hold(repository)

    def swap(self, seen: Description, new: str) -> Description:
        """Replace the text; jj compares it with `seen`. A change that diverges by that is merged."""
        text = commands.normalize_text(new)
        with self.hold_lock() as lock:
            if seen.divergent:
                raise commands.divergent_fault()
            if seen.immutable:
                raise commands.immutable_fault()
            if seen.text == text:
                return commands.require_version(self, seen)
            fault = self._try_command(seen, lock, "describe", "--stdin", "-r", _exact_revset(seen), text=text)
            now = commands.read_after_write(self, fault)
            if now.divergent and now.change == seen.change:
                commits = _change_revset(seen)
                other = self._try_command(seen, lock, "converge", "--no-interactive", "-r", commits)
                if isinstance(other, commands.NoSuchCommand):
                    # An older jj: abandon the commits that still have the old text.
                    self._try_command(seen, lock, "abandon", "-r", f"({commits} & {_EXPECTED_ALIAS}) ~ @")
                now = commands.read_after_write(self, fault)
                if now.divergent:
                    raise commands.conflict_fault(None, *self._read_revisions(commits))
            return commands.verify_write(seen, text, now, fault)

    def begin_new(self, seen: Description) -> Description:
        """Begin a new commit on top of the current one, which keeps its text."""
        with self.hold_lock() as lock:
            if seen.divergent:
                raise commands.divergent_fault()
            fault = self._try_command(seen, lock, "new", _exact_revset(seen))
            now = commands.read_after_write(self, fault)
        if now.change != seen.change and not now.text:
            return now
        if now.version == seen.version and fault:
            raise fault
        raise commands.conflict_fault(seen, now)

    def archive(self, seen: Description) -> None:
        """Do nothing: the commit keeps its text."""

    def versions(self) -> tuple[TextVersion, ...]:
        """Return every text that jj remembers of the current change, from the first non-empty one on."""
        change = self.read().change
        output = self._jj.ask(_IGNORE_WORKING_COPY, "evolog", "--no-graph", "-r", "@", "-T", _EVOLOG_TEMPLATE)
        rows: list[_EvologRow] = []
        for row in reversed(_parse_rows(output, _EvologRow)):
            another = row.hash != rows[-1].hash if rows else not row.blank
            if row.change == change and another:
                rows.append(row)
        return tuple(
            TextVersion(row.commit, row.who.timestamp, f"{row.who.name} <{row.who.email}>") for row in rows
        )

    def texts(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the descriptions of these commits, including hidden ones."""
        if not names:
            return ()
        commits = " | ".join(f'commit_id("{name}")' for name in names)
        output = self._jj.ask(_IGNORE_WORKING_COPY, *_LOG_COMMAND, commits, "-T", _TEXT_TEMPLATE)
        texts = {row.commit: row.text for row in _parse_rows(output, _TextRow)}
        return tuple(texts[name] for name in names)

    def _try_command(self, before: Description, lock: int, *words: str, text: str = "") -> VcsFailed | None:
        """Run a jj command that compares the text with `before`. Return the fault if it failed.

        jj looks at the files here: writing a description without that would leave the working copy stale.
        """
        if self._user is None:
            query = ("config", "list", "user", "-T", r'name ++ "=" ++ value ++ "\0"')
            settings = self._jj.ask(_IGNORE_WORKING_COPY, *query).decode("utf-8", "replace").split("\0")
            mine = (setting for setting in settings if setting.startswith(("user.name=", "user.email=")))
            self._user = tuple(f"--config={setting}" for setting in mine)
        revisions = json.dumps(f'description(exact:"{before.text.translate(_ESCAPES)}")', ensure_ascii=False)
        guard = f'[revset-aliases]\n"{_EXPECTED_ALIAS}" = {revisions}\n'.replace("\x7f", r"\u007f")
        with commands.open_memory_file(guard.encode()) as file:
            command = (*self._user, f"--config-file=/proc/self/fd/{file}", *words)
            try:
                self._jj.tell(*command, text=text.encode(), files=(file, lock))
            except VcsFailed as fault:
                return fault
        return None

    def _read_revisions(self, revisions: str) -> tuple[Description, ...]:
        """Return the descriptions of these commits, at least one, without looking at the files."""
        output = self._jj.ask(_IGNORE_WORKING_COPY, *_LOG_COMMAND, revisions, "-T", _READ_TEMPLATE)
        return tuple(row.to_description() for row in _parse_rows(output, _CommitRow))

    def _check(self) -> None:
        """Raise `VcsTooOld` if jj is too old. Checked once."""
        if self._version_checked:
            return
        output = self._jj.ask("--version").decode("utf-8", "replace").strip()
        version = re.match(r"jj (\d+)\.(\d+)", output)
        if version is None or (int(version[1]), int(version[2])) < commands.MIN_JJ_VERSION:
            raise VcsTooOld(f"`jj --version` says {output!a}, and that is too old", commands.INSTALL_JJ)
        self._version_checked = True


def _exact_revset(before: Description) -> str:
    """Return a revset of the current commit if it is this change with this text; else jj fails."""
    return f"exactly(@ & {_change_revset(before)} & {_EXPECTED_ALIAS}, 1)"


def _change_revset(before: Description) -> str:
    return f'change_id("{before.change}")'


def _parse_rows(output: bytes, kind: type[_AnyRow]) -> tuple[_AnyRow, ...]:
    """Return the rows in the output, at least one."""
    with suppress(msgspec.MsgspecError):
        if rows := tuple(msgspec.json.decode(line, type=kind) for line in output.splitlines()):
            return rows
    raise BadVcsConfig(
        f"jj says something else than it was asked: {output[:200]!a}",
        "look for aliases of your own in `jj config list template-aliases` that have the names of built-in"
        " functions, and rename them",
    )
