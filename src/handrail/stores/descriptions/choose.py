"""Which of the descriptions a project has."""

from pathlib import Path

from handrail.shell.carried import Carried
from handrail.shell.faults import NoRepository
from handrail.shell.ports import Descriptions, Ids, Runner
from handrail.shell.vcs import GIT, JJ, nearest
from handrail.stores.descriptions.git import Git
from handrail.stores.descriptions.git_shared import GitShared
from handrail.stores.descriptions.jj import Jj


def descriptions(runner: Runner, root: Path, ids: Ids, kind: str = "") -> Descriptions:
    """Those of the nearest repository, from the root upwards: of jj where both are, or of the forced kind.

    The runner has the `environment` that is meant for it. Raises `NoRepository`.
    """
    return carried(runner, runner, root, ids, kind).descriptions


def carried(runner: Runner, far: Runner, root: Path, ids: Ids, kind: str = "") -> Carried:
    """The same with all about them; `far` is the runner whose programs may speak to a remote."""
    found, folder = nearest(root, (kind,) if kind else (JJ, GIT))
    if found == JJ:
        jj = Jj(runner, folder)
        return Carried(JJ, folder, jj, jj, None)
    if found == GIT:
        git = Git(runner, folder, ids)
        return Carried(GIT, folder, git, git, GitShared(git, folder, runner, far))
    begin = "jj git init" if kind == JJ else "git init"
    raise NoRepository(
        f"`{root}` is in no repository of {kind or 'jj or git'}",
        f"run `{begin}` there, or name the folder that is meant",
    )
