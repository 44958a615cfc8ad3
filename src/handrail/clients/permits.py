"""Permits: proof that a person typed a word. Each one allows the word once.

A client's hook leaves the permit when it sees the typed word. A permit is a file of the user, signed with the
key of the store, so write access to files is not enough to forge one. A turn takes its permit out first and
puts it back if the turn does not happen. If the process that took it has died, the next caller cleans up: the
permit goes back if the run has not moved, and is deleted if it has.
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

from handrail.runtime.system import state_folder

# How long a permit is valid.
PERMIT_SECONDS: Final = 10 * 60
_MAX_FILE_BYTES: Final = 64 * 1024
_PERMIT_SUFFIX: Final = ".permit"
_TAKEN_SUFFIX: Final = ".taken"


class Permit(Struct, frozen=True):
    """A word that a person typed in a folder. `issued` is in seconds since 1970."""

    folder: str
    word: str
    issued: float
    nonce: str


class TakenPermit(Struct):
    """A permit taken out for one turn. The caller sets `used` once the turn has happened."""

    permit: Permit
    used: bool = False


def leave_permit(key: bytes, folder: str, word: str, now: float) -> None:
    """Write a permit for a word typed in a folder, and delete permits that are too old."""
    place = _permits_folder()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in place.iterdir():
        if now - old.stat(follow_symlinks=False).st_mtime > 2 * PERMIT_SECONDS:
            old.unlink(missing_ok=True)
    permit = Permit(folder, word, now, os.urandom(8).hex())
    data = json.dumps({**asdict(permit), "seal": _sign_permit(key, permit)}).encode()
    new = place / f"{permit.nonce}.new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    new.rename(place / f"{permit.nonce}{_PERMIT_SUFFIX}")


class Permits:
    """The permits signed with the key of one store."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @contextmanager
    def take_permit(self, root: Path, word: str, revision: int, now: float) -> Iterator[TakenPermit | None]:
        """Take out a permit for a word in a project; yield None if there is none.

        The permit is deleted if the block sets `used`, and put back otherwise. `revision` is the revision of
        the run that receives the word. No other process can take the permit meanwhile.
        """
        self._reclaim_permits(root, revision, now)
        for file in sorted(_list_files(_PERMIT_SUFFIX)):
            permit = self._read(file)
            if permit is None or permit.word != word or not _is_valid(permit, root, now):
                continue
            taken_file = file.with_name(f"{permit.nonce}.{revision}{_TAKEN_SUFFIX}")
            if (lock := _rename_locked(file, taken_file)) is None:
                continue
            taken = TakenPermit(permit)
            try:
                yield taken
            finally:
                _release_permit(taken_file, file, used=taken.used)
                os.close(lock)
            return
        yield None

    def _reclaim_permits(self, root: Path, revision: int, now: float) -> None:
        """Clean up permits whose process died: put them back if the run has not moved, else delete them."""
        for taken_file in _list_files(_TAKEN_SUFFIX):
            nonce, _, before = taken_file.name.removesuffix(_TAKEN_SUFFIX).partition(".")
            permit = self._read(taken_file)
            lock = _rename_locked(taken_file, taken_file) if permit and _is_valid(permit, root, now) else None
            if lock is not None:
                file = taken_file.with_name(f"{nonce}{_PERMIT_SUFFIX}")
                _release_permit(taken_file, file, used=before != str(revision))
                os.close(lock)

    def _read(self, file: Path) -> Permit | None:
        """Read the permit in a file; None if it is not valid for this store."""
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as opened:
                data = json.loads(opened.read(_MAX_FILE_BYTES))
            seal = str(data.pop("seal"))
            permit = Permit(**data)
            signed = hmac.compare_digest(seal, _sign_permit(self._key, permit))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return permit if signed and file.name.partition(".")[0] == permit.nonce else None


def _permits_folder() -> Path:
    return state_folder() / "permits"


def _list_files(suffix: str) -> list[Path]:
    return list(_permits_folder().glob(f"*{suffix}"))


def _is_valid(permit: Permit, root: Path, now: float) -> bool:
    folder = Path(permit.folder)
    return 0 <= now - permit.issued <= PERMIT_SECONDS and (folder == root or folder.is_relative_to(root))


def _rename_locked(file: Path, to: Path) -> int | None:
    """Lock and rename a file. Return the descriptor that holds the lock until it is closed.

    None if another process has the file, or it is gone.
    """
    try:
        lock = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.rename(to)
    except OSError:
        os.close(lock)
        return None
    return lock


def _release_permit(taken_file: Path, file: Path, *, used: bool) -> None:
    if used:
        taken_file.unlink(missing_ok=True)
    else:
        taken_file.rename(file)


def _sign_permit(key: bytes, permit: Permit) -> str:
    """Compute the signature of a permit from the key of the store."""
    permit_key = hmac.digest(key, b"permit", hashlib.sha256)
    content = json.dumps([permit.folder, permit.word, permit.issued, permit.nonce]).encode()
    return hmac.digest(permit_key, content, hashlib.sha256).hex()
