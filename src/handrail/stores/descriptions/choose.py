"""Which of the descriptions a project has."""

from pathlib import Path

from handrail.shell.faults import NoRepository
from handrail.shell.ports import Descriptions, Ids, Runner
from handrail.shell.vcs import GIT, JJ, nearest
from handrail.stores.descriptions.git import Git
from handrail.stores.descriptions.jj import Jj
from handrail.stores.descriptions.program import LIMITS, Limits


def descriptions(
    runner: Runner, root: Path, ids: Ids, kind: str = "", limits: Limits = LIMITS
) -> Descriptions:
    """Those of the nearest repository, from the root upwards: of jj where both are, or of the forced kind.

    The runner has the `environment` that is meant for it. Raises `NoRepository`.
    """
    found, folder = nearest(root, (kind,) if kind else (JJ, GIT))
    if found == JJ:
        return Jj(runner, folder, limits)
    if found == GIT:
        return Git(runner, folder, ids, limits)
    begin = "jj git init" if kind == JJ else "git init"
    other = ", or force no kind of repository" if kind else ""
    raise NoRepository(
        f"`{root}` is in no repository of {kind or 'jj or git'}",
        f"run `{begin}` there, or name the folder that is meant{other}",
    )
