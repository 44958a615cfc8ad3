"""The history of a folder's run, line by line. Whatever is no whole line of ours is passed over.

Each line is appended behind a newline: one that was torn by a crash is never glued to the next.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from handrail.engine.model import Run
from handrail.shell.snapshot import Snapshot, above
from handrail.stores.layout import HISTORY, Line
from handrail.stores.sealed import sum_of, unseal


@dataclass(frozen=True, slots=True)
class Kept:
    """The line of a turn, read: what was kept of it, and its checksum."""

    revision: int
    sha: str
    run: Run
    line: Line
    chain: str


def lines(data: bytes | None, pending: bytes = b"") -> Iterator[Line]:
    """The lines, in order; one that is yet to be added stands last."""
    yield from _read(_raws(data, pending))


def mentioning(data: bytes | None, pending: bytes, word: bytes) -> tuple[Line, ...]:
    """Those of the lines in which this stands; to read the others too would take long."""
    if word not in (data or b"") and word not in pending:
        return ()
    return tuple(_read(raw for raw in _raws(data, pending) if word in raw))


def _raws(data: bytes | None, pending: bytes) -> Sequence[bytes]:
    raws = (data or b"").split(b"\n")
    return raws if pending in raws else (*raws, pending)


def _read(raws: Iterable[bytes]) -> Iterator[Line]:
    for raw in raws:
        line = unseal(raw, Line)
        if isinstance(line, Line):
            yield line


def last(data: bytes | None) -> Kept | None:
    """The line of the last turn."""
    for raw in reversed((data or b"").split(b"\n")):
        line = unseal(raw, Line)
        if isinstance(line, Line) and line.run is not None:
            return Kept(line.seq, line.sha, line.run, line, sum_of(raw))
    return None


def append(workspace: Snapshot, sealed: bytes) -> None:
    """Add a line. Its file, if this makes it, is confirmed with the names of its folder."""
    workspace.append(HISTORY, b"\n" + sealed)


def ensure(workspace: Snapshot, sealed: bytes) -> None:
    """Add a line unless it is there."""
    if sealed not in (workspace.read(HISTORY) or b"").split(b"\n"):
        append(workspace, sealed)
        workspace.sync(above(HISTORY))


def documents(data: bytes | None) -> dict[int, tuple[Line, tuple[Mapping[str, object], ...]]]:
    """The line of each turn by its number, and the history that its state file had."""
    found: dict[int, tuple[Line, tuple[Mapping[str, object], ...]]] = {}
    history: tuple[Mapping[str, object], ...] = ()
    for line in lines(data):
        if line.seq:
            history = (*history[: line.kept], *line.added)
            found[line.seq] = line, history
    return found
