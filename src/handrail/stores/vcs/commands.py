"""Run jj and git safely, turn their failures into faults, and hold what both stores share.

The programs run in a scrubbed environment: no hook, file system monitor, editor or prompt starts.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import RLock
from typing import Final, TypeAlias

from msgspec import Struct

from handrail.runtime import errors
from handrail.runtime.errors import Fault, VcsFailed
from handrail.runtime.ports.turn import GIT, JJ, Description, Descriptions, ProcessResult, ProcessRunner
from handrail.runtime.system import read_environment_seconds
from handrail.stores.files.disk import DiskWorkspace

STATUS_TIMEOUT_SECONDS: Final = 2.0
MAX_STATUS_BYTES: Final = 64 * 1024
NO_VCS: Final = "none"
MIN_JJ_VERSION: Final = (0, 38)
INSTALL_JJ: Final = f"install jj {MIN_JJ_VERSION[0]}.{MIN_JJ_VERSION[1]} or newer"
# Print the current commit, and for git the branch. They run no hook and no monitor and do not touch files.
_HEAD_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    JJ: (
        *("jj", "--ignore-working-copy", "--no-pager", "--config=signing.behavior=drop"),
        *("log", "-r", "@", "--no-graph", "-T", "commit_id"),
    ),
    GIT: (
        *("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
        *("rev-parse", "HEAD", "--abbrev-ref", "HEAD"),
    ),
}
_COMMIT_ID: Final = re.compile(r"[0-9a-f]{40,64}")
# Variables that say who the user is; the programs may see these.
_USER_VARIABLES: Final = (
    *("JJ_CONFIG", "JJ_USER", "JJ_EMAIL", "GIT_CONFIG_GLOBAL"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
)
# Make the programs print English, never prompt, and never fetch.
_FIXED_VARIABLES: Final[Mapping[str, str]] = {
    "LC_ALL": "C",
    "COLUMNS": "80",
    "JJ_EDITOR": "false",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "EMPTY_FOR_GIT": "",
}
LOCK_FILE: Final = "handrail-lock"
MAX_TEXT_BYTES: Final = 1024 * 1024
_SHOWN_CHARACTERS: Final = 60


class VcsStatus(Struct, frozen=True):
    """The current commit and branch of a project, or the `problem` why it has no `head`."""

    kind: str
    head: str | None = None
    branch: str | None = None
    problem: str | None = None


def scrub_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return this environment without variables that steer jj and git or make them prompt."""
    return {
        name: value
        for name, value in env.items()
        if name not in {"EDITOR", "VISUAL", "PAGER"}
        and not name.startswith(("GIT_", "JJ_"))
        and not name.endswith("_ASKPASS")
    }


def read_vcs_status(runner: ProcessRunner, root: str, seconds: float = STATUS_TIMEOUT_SECONDS) -> VcsStatus:
    """Return the current commit and branch of the project in this folder. Never raises a fault."""
    kind, _ = find_repository(Path(root))
    if kind == NO_VCS:
        return VcsStatus(NO_VCS)
    try:
        result = runner.run(_HEAD_COMMANDS[kind], root, seconds)
    except Fault as fault:
        return VcsStatus(kind, problem=f"{fault.message}: {fault.repair}")
    head, _, branch = result.out.decode("utf-8", "replace").strip().partition("\n")
    if result.status or not _COMMIT_ID.fullmatch(head):
        command = "jj log -r @" if kind == JJ else "git rev-parse HEAD"
        problem = f"{kind} names no commit, maybe as there is none yet: `{command}` says more"
        return VcsStatus(kind, problem=problem)
    return VcsStatus(kind, head, None if branch in {"", "HEAD"} else branch)


def find_repository(root: Path, kinds: tuple[str, ...] = (JJ, GIT)) -> tuple[str, Path]:
    """Return the kind and folder of the nearest repository upwards, jj before git, or `NO_VCS`."""
    with suppress(OSError):
        for folder in (root, *root.parents):
            for kind in kinds:
                if (folder / f".{kind}").exists():
                    return kind, folder
    return NO_VCS, root


@dataclass(frozen=True, slots=True)
class VcsTimeouts:
    """How many seconds a read, a change and a lock may take. A look at files counts as a change."""

    read: float = 10.0
    write: float = 30.0  # jj takes about 4 seconds for its first look at ten thousand files
    lock: float = 60.0


DEFAULT_TIMEOUTS: Final = VcsTimeouts()


def read_vcs_timeout() -> timedelta:
    """Return how long jj or git may take for a change or a look at files: HANDRAIL_VCS_SECONDS, or 30 s."""
    return read_environment_seconds("HANDRAIL_VCS_SECONDS", timedelta(seconds=30))


def derive_timeouts(write: timedelta) -> VcsTimeouts:
    """Return the timeouts for this limit on changes. Reads never get more time than changes."""
    seconds = write.total_seconds()
    return VcsTimeouts(min(DEFAULT_TIMEOUTS.read, seconds), seconds, max(DEFAULT_TIMEOUTS.lock, 2 * seconds))


def build_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for jj and git: the user's identity, and nothing that steers them.

    Relative entries of PATH are dropped, so no program of the project is run. COLUMNS keeps jj from asking
    another program for the screen width.
    """
    identity = {name: env[name] for name in _USER_VARIABLES if name in env}
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if folder.startswith("/"))
    return {**scrub_environment(env), **identity, **_FIXED_VARIABLES, "PATH": path}


@dataclass(frozen=True, slots=True)
class VcsProgram:
    """A program in a folder. `words` begin every command line; `explain` turns a failure into a fault."""

    runner: ProcessRunner
    folder: Path
    words: tuple[str, ...]
    explain: Callable[[Path, ProcessResult], Fault]
    limits: VcsTimeouts

    def ask(self, *words: str, text: bytes = b"") -> bytes:
        """Run a command that only reads and return its output; `text` is its input. Raises like `tell`."""
        return self._run(words, self.limits.read, text, ())

    def tell(self, *words: str, text: bytes = b"", files: tuple[int, ...]) -> bytes:
        """Run a command that changes something and return its output; it inherits `files`."""
        return self._run(words, self.limits.write, text, files)

    def _run(self, words: tuple[str, ...], seconds: float, text: bytes, files: tuple[int, ...]) -> bytes:
        name = self.words[0]
        with open_memory_file(text) if text else nullcontext() as file:
            path = f"/proc/self/fd/{file}" if text else ""
            try:
                result = self.runner.run((*self.words, *words), f"{self.folder}", seconds, path, files)
            except errors.Busy as busy:
                raise errors.VcsTimeout(busy.message, busy.repair) from busy
            except errors.Missing as missing:
                if not self.folder.is_dir():
                    raise
                raise errors.NoVcsTool(
                    f"the program `{name}` is not there",
                    f"install {name}, or put the folder it is in into PATH",
                ) from missing
        if result.status:
            raise self.explain(self.folder, result)
        return result.out


@contextmanager
def open_memory_file(data: bytes) -> Iterator[int]:
    """Yield a complete file in memory. A killed process leaves nothing behind."""
    with os.fdopen(os.memfd_create("handrail"), "wb") as file:
        file.write(data)
        file.flush()
        yield file.fileno()


class RepositoryLock:
    """A reentrant lock for one thread of one process. Programs started under it hold it too."""

    def __init__(self, seconds: float) -> None:
        self._inside, self._seconds = RLock(), seconds
        self._file: int | None = None

    @contextmanager
    def hold(self, folder: Path) -> Iterator[int]:
        """Lock the repository in this folder for the block and yield the locked file. Raises `Busy`."""
        if not self._inside.acquire(timeout=self._seconds):
            raise errors.Busy(
                f"another call of this server has changed `{folder}` for more than {self._seconds:g} s",
                "send the same call again",
            )
        try:
            if self._file is not None:
                yield self._file
                return
            with DiskWorkspace(folder).lock(LOCK_FILE, self._seconds) as file:
                self._file = file
                try:
                    yield file
                finally:
                    self._file = None
        finally:
            self._inside.release()


def normalize_text(text: str) -> str:
    """Return the text as stored, with a line break at its end. Raises `Unreadable` if it cannot be stored."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise errors.Unreadable("the text has half a character", "write it in Unicode") from error
    if "\0" in text:
        raise errors.Unreadable("the text has a NUL character", "take it out")
    if size >= MAX_TEXT_BYTES:
        message = f"the text has {size} bytes, and {MAX_TEXT_BYTES} are too many"
        raise errors.Unreadable(message, "make it shorter")
    return text if text.endswith("\n") or not text else f"{text}\n"


def conflict_fault(expected: Description | None, *found: Description) -> errors.TextConflict:
    """Return the fault for finding other texts than the expected one."""
    texts = tuple(description.text for description in found)
    before = expected.change if expected else ""
    moved = before and any(description.change != before for description in found)
    where = "the commit is another one now, and its text" if moved else "the text has changed: now it"
    shown = " and ".join(_describe_text(text) for text in texts)
    repair = "read what stands now, and send the change again on top of it"
    return errors.TextConflict(f"{where} {shown}", repair, texts)


def verify_write(before: Description, text: str, now: Description, fault: Fault | None) -> Description:
    """Return the current description if it has the new text; else raise why it does not.

    If `fault` is a `TextConflict`, the program has not written, whatever the text is now.
    """
    late = isinstance(fault, errors.TextConflict)
    if not late and now.text == text and now.change == (before.change or now.change):
        return now
    if now.version != before.version:
        raise conflict_fault(before, now) from fault
    if fault is None or late:
        raise errors.BadVcsConfig(
            "the program neither writes the text nor says why, so it does not say what it has",
            "look for aliases of your own in `jj config list revset-aliases` and `template-aliases` that have"
            " the names of built-in functions, and rename them",
        ) from fault
    raise fault


def require_version(store: Descriptions, seen: Description) -> Description:
    """Return the current description. Raises `TextConflict` if its version has changed."""
    now = store.read()
    if now.version != seen.version:
        raise conflict_fault(None, now)
    return now


def read_after_write(store: Descriptions, fault: Fault | None) -> Description:
    """Return the current description after a write that ended with this fault, or with None."""
    try:
        return store.read()
    except Fault as blind:
        if fault is None:
            raise
        raise type(fault)(
            f"{fault.message}; whether the text was written is not known: {blind.message}",
            f"{fault.repair}; {blind.repair}; then read what stands",
        ) from blind


def _describe_text(text: str) -> str:
    first, _, rest = text.partition("\n")
    if first:
        return f"begins `{first[:_SHOWN_CHARACTERS]}`"
    return "begins with an empty line" if rest else "is empty"


# How much of a program's error output a message quotes.
_MAX_ERROR_CHARACTERS: Final = 600
_ERROR_PATTERN: Final = re.compile(r"(?ms)^(?:Config error|Internal error|[Ee]rror|fatal): .*")
_LOCK_PATTERN: Final = re.compile(r"""(?:lockfile at ["']|Unable to create ')([^"'\n]+[.]lock)""")
_DIVERGENT_REPAIR: Final = (
    "run `jj converge`, or `jj abandon` the wrong one that `jj log -r 'divergent()'` shows"
)
_IMMUTABLE_REPAIR: Final = (
    "run `jj new` first, and write there; in a fresh clone, where its bookmark is not yet tracked, run"
    " `jj bookmark track NAME@REMOTE`, and go on in it"
)
_DENIED_REPAIR: Final = (
    "see that you may write there, and that your key or password is given without a question: by an"
    " ssh-agent, or a credential helper"
)
# Lines that git prints besides the reason, when it talks to a remote.
_IGNORED_PREFIXES: Final = (
    *("To ", "Done", "hint: ", "warning: "),
    *("Please make sure", "and the repository exists"),
)
_FailureTable: TypeAlias = tuple[tuple[str, type[VcsFailed], str, str], ...]
# A pattern of jj's error output, and the fault, message and repair for it. The first match applies.
_JJ_FAILURES: Final[_FailureTable] = (
    (
        "There is no jj repo in",
        errors.NoRepository,
        "`{folder}` is in no repository of jj",
        "run `jj git init` there, or force git",
    ),
    ("is immutable", errors.ImmutableCommit, "the current commit may not be changed", _IMMUTABLE_REPAIR),
    (
        "working copy is stale",
        errors.StaleWorkingCopy,
        "the working copy in `{folder}` is behind its repository",
        "run `jj workspace update-stale` there",
    ),
    (
        "fewer than the expected 1 revisions",
        errors.TextConflict,
        "the text or the commit has changed",
        "read it again",
    ),
    ("is divergent", errors.DivergentChange, "the current change has several commits", _DIVERGENT_REPAIR),
    (
        "Config error",
        errors.BadVcsConfig,
        "the configuration of jj is broken: {said}",
        "mend the line that jj names",
    ),
)
_GIT_FAILURES: Final[_FailureTable] = (
    (
        "not a git repository",
        errors.NoRepository,
        "`{folder}` is in no repository of git",
        "run `git init` there, or name the folder that is meant",
    ),
    ("but expected", errors.TextConflict, "the text has changed", "read it again"),
    ("reference already exists", errors.TextConflict, "there is a text now", "read it again"),
    (
        "bad config",
        errors.BadVcsConfig,
        "the configuration of git is broken: {said}",
        "mend the line that git names",
    ),
)
_REMOTE_FAILURES: Final[_FailureTable] = (
    ("couldn't find remote ref", errors.NoPlan, "the remote has no such plan", "push it where it is"),
    (
        r"\[rejected\]|but expected|cannot lock ref|failed to update ref|old value",
        errors.TextConflict,
        "somebody else has pushed at the same moment: {said}",
        "run the same command again: it sees what stands there now",
    ),
    (
        r"\[remote rejected\]",
        errors.RemoteDenied,
        "the remote does not take the plan: {said}",
        "ask whoever keeps it to let you write below `refs/handrail/`",
    ),
    (
        "' not allowed",
        errors.RemoteUnreachable,
        "the remote is reached in a way that is not used for plans: {said}",
        "give it a path, or a URL of ssh or https: `git remote set-url`",
    ),
    (
        (
            "Permission denied|Authentication failed|could not read Username|could not read Password"
            "|returned error: 40|Host key verification failed|insufficient permission"
            "|unable to create temporary object directory|dubious ownership"
        ),
        errors.RemoteDenied,
        "the remote does not let you in: {said}",
        _DENIED_REPAIR,
    ),
    (
        (
            "Could not resolve host|unable to access|does not appear to be a git repository"
            "|Could not read from remote repository|hung up|not found"
        ),
        errors.RemoteUnreachable,
        "the remote does not answer: {said}",
        "see that you are online and that `git remote -v` names the right place, then run it again",
    ),
)


class NoSuchCommand(VcsFailed):
    """This version of the program does not have the command."""


def jj_fault(folder: Path, result: ProcessResult) -> VcsFailed:
    """Return the fault for a failed jj command."""
    error = _error_text(result)
    if found := _LOCK_PATTERN.search(error):
        return _lock_fault(found[1])
    if result.status == 255:  # a bug, or a broken repository
        return errors.VcsInternal(
            f"jj failed inside: {error[:_MAX_ERROR_CHARACTERS]}",
            "run `jj st`, and send the same call again when it says no error",
        )
    if result.status == 2 and "unrecognized subcommand" in error:
        return NoSuchCommand(f"jj failed: {error[:_MAX_ERROR_CHARACTERS]}", "install a newer jj")
    return _match_failure(_JJ_FAILURES, "jj", folder, error)


def git_fault(folder: Path, result: ProcessResult) -> VcsFailed:
    """Return the fault for a failed git command."""
    error = _error_text(result)
    if "File exists" in error and (found := _LOCK_PATTERN.search(error)):
        return _lock_fault(found[1])
    return _match_failure(_GIT_FAILURES, "git", folder, error)


def remote_fault(folder: Path, ended: ProcessResult) -> VcsFailed:
    """Return the fault for a git command that failed at a remote. Output of ssh and the remote counts too."""
    text = b"\n".join((ended.err, ended.out)).decode("utf-8", "replace")
    reasons = [line for line in text.split("\n") if line.strip() and not line.startswith(_IGNORED_PREFIXES)]
    return _match_failure(_REMOTE_FAILURES, "git", folder, "; ".join(reasons))


def divergent_fault() -> errors.DivergentChange:
    """Return the fault for a change that has several commits before anything is written."""
    return errors.DivergentChange("the current change has several commits", _DIVERGENT_REPAIR)


def immutable_fault() -> errors.ImmutableCommit:
    """Return the fault for a commit that must not be changed."""
    return errors.ImmutableCommit("the current commit may not be changed", _IMMUTABLE_REPAIR)


def _match_failure(table: _FailureTable, name: str, folder: Path, said: str) -> VcsFailed:
    for pattern, fault, message, repair in table:
        if re.search(pattern, said):
            return fault(message.format(folder=folder, said=said[:_MAX_ERROR_CHARACTERS]), repair)
    return VcsFailed(
        f"{name} failed: {said[:_MAX_ERROR_CHARACTERS]}",
        f"send the same call again; if it stays so, do what {name} says, or run it by hand and see",
    )


def _lock_fault(lock: str) -> errors.VcsLocked:
    return errors.VcsLocked(
        f"the lock file `{lock}` is in the way",
        f"wait if another program works in the repository; if none does, remove `{lock}`",
    )


def _error_text(result: ProcessResult) -> str:
    """Return the error without the warnings before it, or the exit status if nothing was printed."""
    text = result.err.decode("utf-8", "replace").strip()
    if found := _ERROR_PATTERN.search(text):
        return found[0]
    ended = "signal {} ended it" if result.status < 0 else "it ended with status {}"
    return text or ended.format(abs(result.status))
