"""Permits: the hook of a client that saw a person type a word leaves one, and the word can be said once.

Each is a file of the user's, signed with the key of the store: whoever can only write files makes none. A
permit is taken out before the turn it is for, and put back if the turn does not happen: a file that is taken
by nobody who lives goes back too if the run has not moved, and is thrown away if it has.
"""

import fcntl
import hashlib
import hmac
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from handrail.shell.homes import state_folder

SECONDS: Final = 10 * 60
"""How long a permit is good."""

_LARGEST: Final = 64 * 1024
_LEFT: Final = ".permit"
_TAKEN: Final = ".taken"


class Permit(Struct, frozen=True):
    """A word that was typed by a person in a folder, and when, in seconds since 1970."""

    folder: str
    word: str
    issued: float
    nonce: str


class Taken(Struct):
    """A permit that is out of the folder for one turn; `used` says that the turn has happened."""

    permit: Permit
    used: bool = False


def leave(key: bytes, folder: str, word: str, now: float) -> None:
    """Leave a permit for a word that was typed in a folder, and throw away those that are too old."""
    place = _place()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in place.iterdir():
        if now - old.stat(follow_symlinks=False).st_mtime > 2 * SECONDS:
            old.unlink(missing_ok=True)
    permit = Permit(folder, word, now, os.urandom(8).hex())
    data = json.dumps({**asdict(permit), "seal": _seal(key, permit)}).encode()
    new = place / f"{permit.nonce}.new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    new.rename(place / f"{permit.nonce}{_LEFT}")


class Permits:
    """The permits of a store, by its key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @contextmanager
    def taken(self, root: Path, word: str, revision: int, now: float) -> Iterator[Taken | None]:
        """A permit for a word in a project, if there is one; used up if the block says that it `used` it.

        `revision` is that of the run that the word is said to. Nobody else has the permit meanwhile.
        """
        self._put_back(root, revision, now)
        for left in sorted(_files(_LEFT)):
            permit = self._read(left)
            if permit is None or permit.word != word or not _holds(permit, root, now):
                continue
            out = left.with_name(f"{permit.nonce}.{revision}{_TAKEN}")
            held = _moved(left, out)
            if held is None:
                continue
            taken = Taken(permit)
            try:
                yield taken
            finally:
                _let_go(out, left, used=taken.used)
                os.close(held)
            return
        yield None

    def _put_back(self, root: Path, revision: int, now: float) -> None:
        """What somebody took out here who lives no longer: back if the run has not moved, or away."""
        for out in _files(_TAKEN):
            nonce, _, before = out.name.removesuffix(_TAKEN).partition(".")
            permit = self._read(out)
            held = _moved(out, out) if permit and _holds(permit, root, now) else None
            if held is not None:
                _let_go(out, out.with_name(f"{nonce}{_LEFT}"), used=before != str(revision))
                os.close(held)

    def _read(self, file: Path) -> Permit | None:
        """The permit in a file; None if it is none of ours."""
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as opened:
                data = json.loads(opened.read(_LARGEST))
            seal = str(data.pop("seal"))
            permit = Permit(**data)
            good = (
                hmac.compare_digest(seal, _seal(self._key, permit))
                and file.name.partition(".")[0] == permit.nonce
            )
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return permit if good else None


def _place() -> Path:
    return state_folder() / "permits"


def _files(suffix: str) -> list[Path]:
    return list(_place().glob(f"*{suffix}"))


def _holds(permit: Permit, root: Path, now: float) -> bool:
    folder = Path(permit.folder)
    return 0 <= now - permit.issued <= SECONDS and (folder == root or folder.is_relative_to(root))


def _moved(file: Path, to: Path) -> int | None:
    """Give a file another name; nobody else does as long as what is returned is open. None: somebody did."""
    try:
        held = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.rename(to)
    except OSError:
        os.close(held)
        return None
    return held


def _let_go(out: Path, left: Path, *, used: bool) -> None:
    if used:
        out.unlink(missing_ok=True)
    else:
        out.rename(left)


def _seal(key: bytes, permit: Permit) -> str:
    """What only who has the key of the store can write under a permit."""
    own = hmac.digest(key, b"permit", hashlib.sha256)
    said = json.dumps([permit.folder, permit.word, permit.issued, permit.nonce]).encode()
    return hmac.digest(own, said, hashlib.sha256).hex()
