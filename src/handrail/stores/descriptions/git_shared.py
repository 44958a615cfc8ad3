"""The description of a git worktree, sent to a remote and taken from one.

A ref below `refs/worktree/` does not travel. So the chain is exchanged under `refs/handrail/plans/`, by the
name of the branch. git does that in a repository of our own over the objects of the project: the settings of
the project, and whatever they would have run, do not hold there. Those of the user do.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from handrail.plan.detect import parse_any
from handrail.plan.stage import is_finished
from handrail.shell.carried import Exchanged, Moved
from handrail.shell.faults import NoPlan, NoRemote, Overtaken, Unreadable, VcsFailed
from handrail.shell.ports import Description, Runner
from handrail.shell.reading import whole
from handrail.stores.descriptions.explained import far_failed, git_failed
from handrail.stores.descriptions.git import ARCHIVE, WORDS, Git, set_aside
from handrail.stores.descriptions.program import LIMITS, Limits, Program, environment
from handrail.stores.descriptions.texts import kept

PLANS: Final = "refs/handrail/plans/"
"""Below which plans stand at a remote, each by its name."""

FAR: Final = Limits(write=120.0)
"""What is waited for when a remote is spoken to."""

_THEIRS: Final = "refs/theirs"
_USUAL: Final = "origin"
_SHOWN: Final = 60
_SSH: Final = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT")
_FAR_WORDS: Final = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.fsckObjects=true")
_FETCH: Final = (
    *("fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-auto-maintenance"),
    *("--no-recurse-submodules", "--no-write-commit-graph", "--"),
)
_PUSH: Final = (
    *("push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags"),
    *("--no-recurse-submodules", "--no-progress"),
)


def travelling(env: Mapping[str, str]) -> dict[str, str]:
    """What git sees of this environment when it speaks to a remote: by file, ssh or https, and never asking.

    Which ssh that is, is the user's to say.
    """
    ssh = {name: env[name] for name in _SSH if name in env}
    return {**environment(env), **ssh, "GIT_ALLOW_PROTOCOL": "file:ssh:https"}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a plan stands: at a remote, which git reaches by a URL, under a ref."""

    remote: str
    url: str
    ref: str


@dataclass(frozen=True, slots=True)
class _Sides:
    """What stands on either side, if anything, and how many texts each has that the other has not."""

    here: Description
    there: Description
    ahead: int
    behind: int

    @property
    def another(self) -> bool:
        """True if they are about different changes."""
        return self.here.change != self.there.change


class GitShared:
    """`Sharing` of the worktree in this folder; `far` is a runner with the environment for `travelling`."""

    __slots__ = ("_far", "_git", "_program")

    def __init__(self, git: Git, folder: Path, runner: Runner, far: Runner, limits: Limits = LIMITS) -> None:
        self._git, self._far = git, far
        self._program = Program(runner, folder, WORDS, git_failed, limits)

    def push(self, remote: str = "", name: str = "") -> Exchanged:
        """Send the chain, if it goes on from the one that is there."""
        place = self._place(remote, name, "--push")
        if not self._git.read().version:
            raise NoPlan(
                "this worktree has no plan to push",
                "begin one with a server of `--face planner` or `--face commits`, then push it",
            )
        with self._between() as far:
            sides = self._sides(place, far)
            mine, theirs = sides.here.version, sides.there.version
            if mine == theirs:
                return Exchanged(place.remote, place.ref, Moved.SAME)
            sent = f"{mine}:{place.ref}"
            if not theirs or not sides.behind:
                far.tell(*_PUSH, "--", place.url, sent, files=())
                return Exchanged(place.remote, place.ref, Moved.SENT)
            if not sides.another or not _finished(sides.there):
                raise _refused(place, sides)
            archive = set_aside(sides.there)
            lease = f"--force-with-lease={place.ref}:{theirs}"
            both = (f"{theirs}:{archive}", sent)
            far.tell(*_PUSH, "--atomic", lease, "--", place.url, *both, files=())
            return Exchanged(place.remote, place.ref, Moved.SENT, archive)

    def pull(self, remote: str = "", name: str = "", *, archive: bool = False) -> Exchanged:
        """Take the chain that is there, if it goes on from the one here."""
        place = self._place(remote, name)
        with self._between() as far:
            sides = self._sides(place, far)
        here, there = sides.here, sides.there
        if not there.version:
            raise NoPlan(
                f"`{place.remote}` has no plan under `{place.ref}`",
                "run `handrail plan push` where it is, or say its name with --name:"
                f" `git ls-remote {place.remote} '{PLANS}*'` lists those there are",
            )
        kept(there.text)
        if here.version and not sides.behind:
            moved = Moved.SAME if here.version == there.version else Moved.AHEAD
            return Exchanged(place.remote, place.ref, moved)
        if not here.version or not sides.ahead:
            self._git.take(there, here)
            return Exchanged(place.remote, place.ref, Moved.TAKEN)
        if not (sides.another or archive):
            raise _diverged(place, sides)
        left = set_aside(here)
        self._git.take(there, here, left)
        return Exchanged(place.remote, place.ref, Moved.TAKEN, left)

    def _sides(self, place: _Place, far: Program) -> _Sides:
        theirs = self._fetched(place, far)
        here = self._git.read()
        there = self._git.said_by(theirs) if theirs else Description("", "", "")
        if not here.version or not theirs:
            return _Sides(here, there, 0, 0)
        words = ("rev-list", "--count", "--left-right", f"{here.version}...{theirs}", "--")
        ahead, behind = map(int, self._program.ask(*words).split())
        return _Sides(here, there, ahead, behind)

    def _fetched(self, place: _Place, far: Program) -> str:
        """The commit that the ref of the remote is at, now one of ours; nothing if there is none."""
        try:
            far.tell(*_FETCH, place.url, f"+{place.ref}:{_THEIRS}", files=())
            return far.ask("rev-parse", "--verify", _THEIRS).decode("ascii").strip()
        except NoPlan:
            return ""

    def _place(self, remote: str, name: str, *which: str) -> _Place:
        known = self._said("remote").splitlines()
        chosen = remote or (known[0] if len(known) == 1 else _USUAL)
        if chosen not in known:
            raise _no_remote(remote, known)
        return _Place(chosen, self._said("remote", "get-url", *which, chosen), f"{PLANS}{self._named(name)}")

    def _named(self, name: str) -> str:
        try:
            if not name:
                return self._said("symbolic-ref", "--quiet", "--short", "HEAD")
            self._said("check-ref-format", f"{PLANS}{name}")
        except VcsFailed as fault:
            if name:
                raise Unreadable(f"`{name}` names no plan", "take letters, digits, - and /") from fault
            raise Unreadable(
                "no branch is checked out that the plan could be named by", "say its name with --name"
            ) from fault
        return name

    @contextmanager
    def _between(self) -> Iterator[Program]:
        """A repository of our own, in which git has the objects of the project and nothing else of it."""
        asked = ("rev-parse", "--show-object-format", "--git-path", "objects")
        form, _, objects = self._said(*asked).partition("\n")
        with TemporaryDirectory(prefix="handrail-") as made:
            folder = Path(made)
            (folder / "refs").mkdir()
            (folder / "objects").symlink_to(whole(self._program.folder / objects))
            (folder / "HEAD").write_text("ref: refs/heads/none\n", "ascii")
            (folder / "config").write_text(
                "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n"
                f"[extensions]\n\tobjectFormat = {form}\n",
                "ascii",
            )
            words = (*WORDS, *_FAR_WORDS, f"--git-dir={folder}")
            yield Program(self._far, self._program.folder, words, far_failed, FAR)

    def _said(self, *words: str) -> str:
        return self._program.ask(*words).decode("utf-8", "surrogateescape").removesuffix("\n")


def _finished(described: Description) -> bool:
    return is_finished(parse_any(described.text)[0])


def _refused(place: _Place, sides: _Sides) -> Overtaken:
    """Why the chain here is not sent."""
    texts = (sides.here.text, sides.there.text)
    if not sides.ahead:
        message = f"the plan at `{place.remote}` is {_count(sides.behind)} further than the one here"
        return Overtaken(message, "run `handrail plan pull` first", texts)
    if sides.another:
        return Overtaken(
            f"under `{place.ref}` of `{place.remote}` stands another plan that is not complete:"
            f" {_first(sides.there)}, and the one here is {_first(sides.here)}",
            "push this one under another name with --name, or go on with that one by `handrail plan pull`,"
            " which archives the one here",
            texts,
        )
    return _diverged(place, sides)


def _diverged(place: _Place, sides: _Sides) -> Overtaken:
    return Overtaken(
        f"the plan was changed on both sides: {_count(sides.ahead)} here, {_first(sides.here)},"
        f" and {_count(sides.behind)} at `{place.remote}`, {_first(sides.there)}",
        f"run `handrail plan pull --archive`: it keeps the one here below `{ARCHIVE}` and takes the other;"
        " then make your changes again there, and push",
        (sides.here.text, sides.there.text),
    )


def _no_remote(remote: str, known: list[str]) -> NoRemote:
    if remote:
        names = ", ".join(known) or "none yet"
        repair = f"name one that there is ({names}), or add it: `git remote add {remote} URL`"
        return NoRemote(f"no remote is called `{remote}`", repair)
    if known:
        return NoRemote("there are several remotes", f"say which one: {', '.join(known)}")
    return NoRemote("this repository has no remote", f"add one: `git remote add {_USUAL} URL`")


def _count(versions: int) -> str:
    return "1 version" if versions == 1 else f"{versions} versions"


def _first(described: Description) -> str:
    return f"`{described.text.partition(chr(10))[0][:_SHOWN]}`"
