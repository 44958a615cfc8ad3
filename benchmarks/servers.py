"""PostgreSQL for benchmarks: a server as tests have it, here on the disk and with what it confirms to it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from postgres import Server, private


@contextmanager
def confirming() -> Iterator[Server]:
    """A server that runs until the end, and writes as PostgreSQL does by itself."""
    with private(fsync=True) as server:
        yield server
