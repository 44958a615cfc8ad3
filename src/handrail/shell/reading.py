"""Paths that people name, and the files there."""

import os
from pathlib import Path


def whole(path: Path) -> Path:
    """The path from the root on, every link followed; a link that leads in a circle stays.

    `Path.resolve` says the same, but before Python 3.13 raises `RuntimeError` for a circle.
    """
    return Path(os.path.realpath(path))


def read_bytes(path: Path, most: int = -1) -> bytes:
    """The bytes of a file, so many at most. Raises `OSError`, which names the file whatever went wrong.

    A pipe that nobody writes to is empty.
    """
    try:
        with open(path, "rb", opener=unblocked) as opened:
            os.set_blocking(opened.fileno(), True)
            return opened.read(most)
    except OSError as error:
        error.filename = str(path)
        raise


def unblocked(path: str, flags: int) -> int:
    """A file opened so that no pipe makes anybody wait."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
