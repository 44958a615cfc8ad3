"""Where a project stands in its version control: which kind it has, and the commit it is at.

The programs are asked and never told: no hook, no monitor and no working copy of a project is run or changed.
What they cannot say is a sentence for people, never an accident.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from handrail.shell.faults import Fault
from handrail.shell.ports import Runner

SECONDS: Final = 2.0
"""How long a program may take to say it."""

MOST: Final = 64 * 1024
"""How many bytes it may say."""

NONE: Final = "none"
JJ: Final = "jj"
GIT: Final = "git"
OLDEST_JJ: Final = (0, 38)
"""The oldest version of jj that can keep plans."""

INSTALL_JJ: Final = f"install jj {OLDEST_JJ[0]}.{OLDEST_JJ[1]} or newer"
_ASKED: Final[Mapping[str, tuple[str, ...]]] = {
    JJ: (
        *("jj", "--ignore-working-copy", "--no-pager", "--config=signing.behavior=drop"),
        *("log", "-r", "@", "--no-graph", "-T", "commit_id"),
    ),
    GIT: (
        *("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
        *("rev-parse", "HEAD", "--abbrev-ref", "HEAD"),
    ),
}
_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")
_DETACHED: Final = "HEAD"
_STEERING: Final = ("GIT_", "JJ_")
_ASKING: Final = frozenset({"EDITOR", "VISUAL", "PAGER"})


class Vcs(Struct, frozen=True):
    """`kind` is `jj`, `git` or `none`. Without a head, `problem` says why and what to do, if there is one."""

    kind: str
    head: str | None = None
    branch: str | None = None
    problem: str | None = None


def scrubbed(env: Mapping[str, str]) -> dict[str, str]:
    """This environment without what would steer the programs, or have them ask somebody."""
    return {
        name: value
        for name, value in env.items()
        if name not in _ASKING and not name.startswith(_STEERING) and not name.endswith("_ASKPASS")
    }


def look(runner: Runner, root: str, seconds: float = SECONDS) -> Vcs:
    """Where the project in this folder stands, by a runner that sees a scrubbed environment."""
    kind, _ = nearest(Path(root))
    if kind == NONE:
        return Vcs(NONE)
    try:
        ended = runner.run(_ASKED[kind], root, seconds)
    except Fault as fault:
        return Vcs(kind, problem=f"{fault.message}: {fault.repair}")
    head, _, branch = ended.out.decode("utf-8", "replace").strip().partition("\n")
    if ended.status or not _COMMIT.fullmatch(head):
        command = "jj log -r @" if kind == JJ else "git rev-parse HEAD"
        return Vcs(kind, problem=f"{kind} names no commit, maybe as there is none yet: `{command}` says more")
    return Vcs(kind, head, branch if branch and branch != _DETACHED else None)


def nearest(root: Path, kinds: tuple[str, ...] = (JJ, GIT)) -> tuple[str, Path]:
    """The nearest folder, from the root upwards, that is of a kind, after that kind; jj where both are."""
    try:
        for folder in (root, *root.parents):
            for kind in kinds:
                if (folder / f".{kind}").exists():
                    return kind, folder
    except OSError:
        return NONE, root
    return NONE, root
