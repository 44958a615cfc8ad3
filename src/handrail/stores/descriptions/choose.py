"""Which description a project has."""

from pathlib import Path

from handrail.shell.carried import Carried
from handrail.shell.faults import NoRepository
from handrail.shell.ports import Ids, Runner
from handrail.shell.vcs import GIT, JJ, nearest
from handrail.stores.descriptions.git import Git
from handrail.stores.descriptions.git_shared import GitShared
from handrail.stores.descriptions.jj import Jj
from handrail.stores.descriptions.program import LIMITS, Limits


def carried(  # noqa: PLR0913 - what it is made of, and where
    runner: Runner, far: Runner, root: Path, ids: Ids, kind: str = "", *, limits: Limits = LIMITS
) -> Carried:
    """That of the nearest repository, from the root upwards: of jj where both are, or of the forced kind.

    The runner has the `environment` that is meant for it, and `far` that for `travelling`: its programs may
    speak to a remote. Raises `NoRepository`.
    """
    found, folder = nearest(root, (kind,) if kind else (JJ, GIT))
    if found == JJ:
        jj = Jj(runner, folder, limits)
        return Carried(JJ, folder, jj, jj, None)
    if found == GIT:
        git = Git(runner, folder, ids, limits)
        return Carried(GIT, folder, git, git, GitShared(git, folder, runner, far, limits))
    begin = "jj git init" if kind == JJ else "git init"
    other = ", or force no kind of repository" if kind else ""
    raise NoRepository(
        f"`{root}` is in no repository of {kind or 'jj or git'}",
        f"run `{begin}` there, or name the folder that is meant{other}",
    )
