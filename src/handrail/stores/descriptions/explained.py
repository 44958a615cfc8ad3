"""What jj and git say when they fail, as the faults they are; what has no name is passed on as it is."""

import re
from pathlib import Path
from typing import Final

from handrail.shell.faults import (
    BadConfig,
    Denied,
    Divergent,
    Immutable,
    Internal,
    Locked,
    NoPlan,
    NoRepository,
    Overtaken,
    StaleCopy,
    Unreachable,
    VcsFailed,
)
from handrail.shell.ports import Finished

_MOST: Final = 600
_ERROR: Final = re.compile(r"^(?:Config error|Internal error|[Ee]rror|fatal): .*", re.MULTILINE | re.DOTALL)
_LOCK: Final = re.compile(r"""(?:lockfile at ["']|Unable to create ')([^"'\n]+[.]lock)""")
_INSIDE: Final = 255
_USAGE: Final = 2
_DIVERGED: Final = "run `jj converge`, or `jj abandon` the wrong one that `jj log -r 'divergent()'` shows"

_IMMUTABLE: Final = (
    "run `jj new` first, and write there; in a fresh clone, where its bookmark is not yet tracked, run"
    " `jj bookmark track NAME@REMOTE`, and go on in it"
)
_ASIDE: Final = ("To ", "Done", "hint: ", "Please make sure", "and the repository exists", "warning: ")

_JJ: Final[tuple[tuple[str, type[VcsFailed], str, str], ...]] = (
    (
        "There is no jj repo in",
        NoRepository,
        "`{folder}` is in no repository of jj",
        "run `jj git init` there, or force git",
    ),
    (
        "is immutable",
        Immutable,
        "the current commit may not be changed",
        _IMMUTABLE,
    ),
    (
        "working copy is stale",
        StaleCopy,
        "the working copy in `{folder}` is behind its repository",
        "run `jj workspace update-stale` there",
    ),
    ("fewer than the expected 1 revisions", Overtaken, "the text or the commit has changed", "read it again"),
    ("is divergent", Divergent, "the current change has several commits", _DIVERGED),
    ("Config error", BadConfig, "the configuration of jj is broken: {said}", "mend the line that jj names"),
)
_GIT: Final[tuple[tuple[str, type[VcsFailed], str, str], ...]] = (
    (
        "not a git repository",
        NoRepository,
        "`{folder}` is in no repository of git",
        "run `git init` there, or name the folder that is meant",
    ),
    ("but expected", Overtaken, "the text has changed", "read it again"),
    ("reference already exists", Overtaken, "there is a text now", "read it again"),
    ("bad config", BadConfig, "the configuration of git is broken: {said}", "mend the line that git names"),
)


_LET_IN: Final = (
    "see that you may write there, and that your key or password is given without a question: by an"
    " ssh-agent, or a credential helper"
)
_FAR: Final[tuple[tuple[str, type[VcsFailed], str, str], ...]] = (
    ("couldn't find remote ref", NoPlan, "the remote has no such plan", "push it where it is"),
    *(
        (
            words,
            Overtaken,
            "somebody else has pushed at the same moment: {said}",
            "run the same command again: it sees what stands there now",
        )
        for words in ("[rejected]", "but expected", "cannot lock ref", "failed to update ref", "old value")
    ),
    (
        "[remote rejected]",
        Denied,
        "the remote does not take the plan: {said}",
        "ask whoever keeps it to let you write below `refs/handrail/`",
    ),
    (
        "' not allowed",
        Unreachable,
        "the remote is reached in a way that is not used for plans: {said}",
        "give it a path, or a URL of ssh or https: `git remote set-url`",
    ),
    *(
        (
            words,
            Denied,
            "the remote does not let you in: {said}",
            _LET_IN,
        )
        for words in (
            *("Permission denied", "Authentication failed", "could not read Username", "returned error: 40"),
            *("could not read Password", "Host key verification failed", "insufficient permission"),
            *("unable to create temporary object directory", "dubious ownership"),
        )
    ),
    *(
        (
            words,
            Unreachable,
            "the remote does not answer: {said}",
            "see that you are online and that `git remote -v` names the right place, then run it again",
        )
        for words in (
            *("Could not resolve host", "unable to access", "does not appear to be a git repository"),
            *("Could not read from remote repository", "hung up", "not found"),
        )
    ),
)


class NoSuchCommand(VcsFailed):
    """This version of the program does not know the command."""


def jj_failed(folder: Path, ended: Finished) -> VcsFailed:
    """The fault for how jj ended."""
    said = _said(ended)
    if found := _LOCK.search(said):
        return _locked(found[1])
    if ended.status == _INSIDE:
        return Internal(
            f"jj failed inside: {said[:_MOST]}",
            "run `jj st`, and send the same call again when it says no error",
        )
    if ended.status == _USAGE and "unrecognized subcommand" in said:
        return NoSuchCommand(f"jj failed: {said[:_MOST]}", "install a newer jj")
    return _known(_JJ, "jj", folder, said)


def git_failed(folder: Path, ended: Finished) -> VcsFailed:
    """The fault for how git ended."""
    said = _said(ended)
    if "File exists" in said and (found := _LOCK.search(said)):
        return _locked(found[1])
    return _known(_GIT, "git", folder, said)


def far_failed(folder: Path, ended: Finished) -> VcsFailed:
    """The fault for how git ended when it spoke to a remote: what ssh or the remote says counts too."""
    text = b"\n".join((ended.err, ended.out)).decode("utf-8", "replace")
    told = [line for line in text.split("\n") if line.strip() and not line.startswith(_ASIDE)]
    return _known(_FAR, "git", folder, "; ".join(told))


def diverged() -> Divergent:
    """The fault for a change that has several commits before anything is written."""
    return Divergent("the current change has several commits", _DIVERGED)


def immutable() -> Immutable:
    """The fault for a commit that may not be changed."""
    return Immutable("the current commit may not be changed", _IMMUTABLE)


def _known(
    table: tuple[tuple[str, type[VcsFailed], str, str], ...], name: str, folder: Path, said: str
) -> VcsFailed:
    for words, fault, message, repair in table:
        if words in said:
            return fault(message.format(folder=folder, said=said[:_MOST]), repair)
    return VcsFailed(
        f"{name} failed: {said[:_MOST]}",
        f"send the same call again; if it stays so, do what {name} says, or run it by hand and see",
    )


def _locked(lock: str) -> Locked:
    return Locked(
        f"the lock file `{lock}` is in the way",
        f"wait if another program works in the repository; if none does, remove `{lock}`",
    )


def _said(ended: Finished) -> str:
    """The error itself, without warnings before it; or how the program ended, if it said nothing."""
    text = ended.err.decode("utf-8", "replace").strip()
    found = _ERROR.search(text)
    how = f"signal {-ended.status} ended it" if ended.status < 0 else f"it ended with status {ended.status}"
    return found[0] if found else text or how
