"""Final values, made true: each file ends with the bytes it shall have, however often this is tried.

A file that has its bytes already is passed over. One that holds neither what was seen before nor what it
shall have is a stranger's: its bytes are kept under another name first.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from msgspec import Struct

from handrail.shell.records import Final
from handrail.shell.snapshot import Snapshot, above, name_of


class Planned(Struct, frozen=True):
    """A final value whose bytes are staged: the hashes before and after, or None for no file."""

    path: str
    before: str | None
    after: str | None
    staged: str


def digest(data: bytes | None) -> str | None:
    """The hash of what a file holds, or None for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def moved(workspace: Snapshot, finals: Iterable[Final]) -> bool:
    """True if a file is no longer what was seen when its final value was worked out."""
    return any(digest(workspace.reread(final.path)) != final.before for final in finals)


def missing(workspace: Snapshot, paths: Iterable[str]) -> tuple[str, ...]:
    """The folders that are not there and that files of these paths need, outermost first."""
    wanted = sorted({folder for path in paths for folder in _folders(path)})
    return tuple(folder for folder in wanted if not _there(workspace, folder))


def stage(workspace: Snapshot, finals: Sequence[Final], folder: str, revision: int) -> tuple[Planned, ...]:
    """Put the bytes of the final values into a folder of their own, confirmed by the disk."""
    planned = []
    for number, final in enumerate(finals):
        staged = "" if final.after is None else f"{folder}/{revision}-{number}"
        if final.after is not None:
            workspace.write(staged, final.after, like=final.path)
        planned.append(Planned(final.path, final.before, digest(final.after), staged))
    if any(plan.staged for plan in planned):
        workspace.sync(folder)
    return tuple(planned)


def ready(workspace: Snapshot, planned: Iterable[Planned]) -> bool:
    """True if every file that has not its final bytes yet finds them staged."""
    return all(
        plan.after is None
        or digest(workspace.read(plan.path)) == plan.after
        or digest(workspace.read(plan.staged)) == plan.after
        for plan in planned
    )


def apply(workspace: Snapshot, planned: Sequence[Planned], folders: Sequence[str], copies: str) -> None:
    """Make the final values true; strangers' bytes are kept under names that begin with `copies`.

    `folders` were missing when the values were planned: they are made, and confirmed, in any case.
    """
    written = [plan.path for plan in planned if plan.after is not None]
    _make(workspace, (*folders, *missing(workspace, written)))
    for plan in planned:
        found = workspace.reread(plan.path)
        if digest(found) == plan.after:
            continue
        keep_stranger(workspace, plan.path, found, plan.before, copies)
        if plan.after is None:
            workspace.unlink(plan.path)
        else:
            workspace.rename(plan.staged, plan.path)
    for folder in sorted({above(plan.path) for plan in planned}):
        if _there(workspace, folder):
            workspace.sync(folder)


def keep_stranger(
    workspace: Snapshot, path: str, found: bytes | None, before: str | None, copies: str
) -> None:
    """Keep a copy of what was found at a path that is about to change, unless it is what was seen before."""
    if found is not None and digest(found) != before:
        keep(workspace, f"{copies}{name_of(path)}", found)


def keep(workspace: Snapshot, path: str, data: bytes) -> str:
    """A file of this name, or of the name with the first free number, that holds these bytes; its path."""
    free = next(name for name in numbered(path) if workspace.read(name) in {None, data})
    if workspace.read(free) is None:
        workspace.write(free, data)
    workspace.sync(above(free))
    return free


def numbered(path: str) -> Iterator[str]:
    """The path, then the path with -2, -3 … behind it."""
    yield path
    yield from (f"{path}-{number}" for number in count(2))


def _make(workspace: Snapshot, folders: Iterable[str]) -> None:
    """Make these folders, confirmed by the disk before anything goes into them."""
    made = tuple(dict.fromkeys(folders))
    for folder in made:
        workspace.mkdir(folder)
    for folder in sorted({above(folder) for folder in made}):
        workspace.sync(folder)


def _folders(path: str) -> Iterator[str]:
    while path := above(path):
        yield path


def _there(workspace: Snapshot, folder: str) -> bool:
    return not folder or workspace.stamp(folder) is not None
