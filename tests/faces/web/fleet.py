"""Several servers on one PostgreSQL database, any of which may be killed and started again."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import Final

from faces.mcp.desk import BOUND, Place
from faces.web.desk import FACES, Site, listening
from prepared import served
from program import PROGRAM

_BUSY: Final = {"HANDRAIL_RATE": "1000000"}
"""All clients of a test are one principal."""


class Replica:
    """A server process, once it listens or has ended; `site` is None if it did not come up."""

    def __init__(self, at: Place, url: str, env: Mapping[str, str]) -> None:
        words = (str(PROGRAM), "serve", "--project", str(at.project), "--store", url)
        errors, theirs = os.pipe()
        self.process = served(
            (*words, "--http", "127.0.0.1:0", "--replicas"), {**at.env, **_BUSY, **env}, at.folder, theirs
        )
        os.close(theirs)
        self._saying = os.fdopen(errors)
        self.said = [self._saying.readline() for _ in FACES]
        self.site = listening(self.process, self.said)
        self._hearing = Thread(target=lambda: self.said.extend(self._saying), daemon=True)
        self._hearing.start()

    @property
    def text(self) -> str:
        """What it has said on stderr."""
        return "".join(self.said)

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to end; the status it has ended with, once all that it said is heard."""
        self.process.send_signal(by)
        status = self.process.wait(BOUND)
        self._hearing.join(BOUND)
        self._saying.close()
        self.process.__exit__(None, None, None)
        return status


class Fleet:
    """So many servers, by number; each that was killed is started until it comes up, as an operator would."""

    def __init__(self, at: Place, url: str, count: int, **env: str) -> None:
        self._at, self._url, self._env = at, url, env
        self.ended: list[Replica] = []
        self.failed_starts = 0
        self._living: dict[int, Replica] = {}
        for number in range(count):
            self.start(number)

    @property
    def sites(self) -> list[Site]:
        """Those that serve."""
        return [replica.site for _, replica in sorted(self._living.items()) if replica.site]

    @property
    def text(self) -> str:
        """All that they have said."""
        return "".join(replica.text for replica in (*self.ended, *self._living.values()))

    def start(self, number: int) -> None:
        """Start the server of this number until it listens."""
        replica = Replica(self._at, self._url, self._env)
        while replica.site is None:
            self.failed_starts += 1
            assert "cannot be reached" in replica.text, replica.text
            assert replica.end() == 1
            self.ended.append(replica)
            replica = Replica(self._at, self._url, self._env)
        self._living[number] = replica

    def kill(self, number: int) -> None:
        """End the server of this number as a power cut would, and start another one in its place."""
        replica = self._living.pop(number)
        replica.end(signal.SIGKILL)
        self.ended.append(replica)
        self.start(number)

    def close(self) -> None:
        """End them all; each must end well."""
        while self._living:
            _, replica = self._living.popitem()
            self.ended.append(replica)
            status = replica.end()
            assert status == 0, replica.text

    def abandon(self) -> None:
        """Kill those that are left."""
        for replica in self._living.values():
            replica.process.send_signal(signal.SIGKILL)


@contextmanager
def fleet(at: Place, url: str, count: int, **env: str) -> Iterator[Fleet]:
    """So many servers on a database, with these settings; they must end well when they are told to."""
    made = Fleet(at, url, count, **env)
    try:
        yield made
        made.close()
    finally:
        made.abandon()
