"""A store that nobody can write to, so that a call is under way for as long as a test wants."""

import fcntl
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.servers import Pipe, Place, wait_until


@contextmanager
def lock_store(at: Place) -> Iterator[Callable[[], bool]]:
    """Keep everybody from writing to the store; whether somebody waits to."""
    with (
        at.store.with_name("handrail.db.service").open("rb+") as service,
        at.store.with_name("handrail.db.queue").open("rb+") as queue,
    ):
        fcntl.flock(service, fcntl.LOCK_EX)

        def awaited() -> bool:
            try:
                fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            fcntl.flock(queue, fcntl.LOCK_UN)
            return False

        yield awaited


@contextmanager
def block_writers(at: Place) -> Iterator[None]:
    """Hold up everybody who wants to write to the store, so that a call is under way until the block ends."""
    with Path(f"{at.store}.service").open("rb") as service:
        fcntl.flock(service, fcntl.LOCK_EX)
        yield


def await_waiting_call(at: Place, pipe: Pipe) -> None:
    """Wait until the server has read the call that was sent, and waits for a turn to write.

    What it does of its own accord may wait too; so it is asked something else, which it reads after the call.
    """
    assert "result" in pipe.ask("tools/list")
    number = Path(f"{at.store}.queue").stat().st_ino
    queue = re.compile(rf" {pipe.process.pid} [0-9a-f]+:[0-9a-f]+:{number} ")
    wait_until(lambda: queue.search(Path("/proc/locks").read_text("ascii")) is not None, "a call that waits")
