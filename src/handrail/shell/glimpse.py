"""Whether files that were read are still the same: told by what the system says of them, not by reading them.

A change shows in the number, the size and the times of a file, and a name that is new or gone in those of its
folder. Only a change within the same beat of the file system's clock does not: so nothing is concluded from
what was changed a moment before it was read.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

SETTLED: Final = 3_000_000_000
"""How old a change must be when a file is read, in nanoseconds: the slowest clocks beat every two seconds."""

_Sign: TypeAlias = tuple[int, int, int, int, int]


class _Seen(Struct, frozen=True):
    """What the system said of a path; `follows` if it was asked about what links lead to."""

    path: str
    follows: bool
    sign: _Sign


class Glimpse(Struct, frozen=True):
    """Files and folders as the system described them."""

    seen: tuple[_Seen, ...]

    def holds(self) -> bool:
        """True if none of them has changed since."""
        for one in self.seen:  # noqa: SIM110 - asked in each call, and a generator costs more
            if _sign(one.path, follows=one.follows) != one.sign:
                return False
        return True


class Place(Struct, frozen=True):
    """A folder that was looked into, and the files that were found in it; `follows` if links were followed.

    Those to the second folder above it are followed in any case.
    """

    folder: Path
    files: tuple[Path, ...]
    follows: bool


def glimpse(places: Iterable[Place], before: int) -> Glimpse | None:
    """What the system says of these places, which were just looked into.

    None if a file is gone already, or something was changed after `before`, in nanoseconds.
    """
    seen = tuple(chain.from_iterable(map(_parts, places)))
    known = tuple(one for one in seen if one and one.sign[-1] < before)
    return Glimpse(known) if len(known) == len(seen) else None


def _parts(place: Place) -> Iterator[_Seen | None]:
    """The folder, the two above it, its files; in place of what is not there, the first above that is."""
    folder, follows = place.folder, place.follows
    here = (_look(folder, follows=follows), _look(folder.parent, follows=follows))
    yield from (one for one in here if one)
    yield next((one for path in folder.parent.parents if (one := _look(path, follows=True))), None)
    yield from (_look(file, follows=follows) for file in place.files)


def _look(path: Path, *, follows: bool) -> _Seen | None:
    sign = _sign(str(path), follows=follows)
    return _Seen(str(path), follows, sign) if sign else None


def _sign(path: str, *, follows: bool) -> _Sign | None:
    """What the system says; of a link that leads nowhere, what it says of the link."""
    try:
        one = os.stat(path, follow_symlinks=follows)  # noqa: PTH116 - asked often, and a path costs more
    except OSError:
        return _sign(path, follows=False) if follows else None
    return one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns
