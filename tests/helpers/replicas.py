"""Servers on one PostgreSQL database, any of which may be killed, and clients that call any of them."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from threading import Thread
from typing import Any, Final

import psycopg

from handrail.app.faces import StepsStatus
from handrail.engine.model import Lifecycle
from helpers.forks import start_process
from helpers.http_clients import WireClient, find_answer, read_next_answer
from helpers.http_servers import FACES, HttpServer, parse_listening_server
from helpers.program import PROGRAM
from helpers.servers import BOUND, TOOL, Place, ToolAnswer, build_note_output, read_tool_answer


@dataclass(slots=True)
class Errand:
    """What a client has done for one goal: how often it sent the start, and which run it was told.

    What is in `done` it has handed in, and that was acknowledged.
    """

    goal: str
    starts: int = 0
    run: str = ""
    done: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a database holds of a run: what its steps and artifacts say, and the turns its entries tell of."""

    goal: str
    lifecycle: str
    revision: int
    steps: Sequence[str] = ()
    artifacts: Sequence[str] = ()
    completed: int = 0
    turns: Sequence[int] = ()


_KEPT = """
SELECT
  execution_id, goal, state, revision,
  ARRAY(
    SELECT CAST(output AS JSON) ->> 'summary' FROM steps WHERE run = k AND status = 'completed'
    ORDER BY number),
  ARRAY(SELECT content FROM artifacts WHERE run = k AND artifact_type = 'note' ORDER BY number),
  (SELECT count(*) FROM events WHERE run = k AND event_type = 'step_completed'),
  ARRAY(SELECT DISTINCT revision FROM events WHERE run = k AND revision > 0 ORDER BY revision)
FROM runs
"""


def read_stored_runs(url: str) -> dict[str, StoredRun]:
    with psycopg.connect(url) as connection:
        return {run: StoredRun(*rest) for run, *rest in connection.execute(_KEPT)}


def find_errors(errands: Sequence[Errand], stored: Mapping[str, StoredRun]) -> Iterator[str]:
    """Everything that was acknowledged and is not there exactly once, or is there and nobody was told so."""
    for errand in errands:
        yield from _wrong_with(errand, stored.get(errand.run))
    answer = {errand.run for errand in errands}
    unheard = Counter(one.goal for run, one in stored.items() if run not in answer)
    sent = {errand.goal: errand.starts - 1 for errand in errands}
    for goal, count in unheard.items():
        if count > sent.get(goal, 0):
            yield f"{goal}: {count} runs that nobody was told of, of {sent.get(goal, 0)} repeated starts"
    for run, one in stored.items():
        if run not in answer and (one.revision, one.steps, list(one.turns)) != (1, [], [1]):
            yield f"{one.goal}: a run that nobody was told of has moved"


def count_unacknowledged_runs(errands: Sequence[Errand], stored: Mapping[str, StoredRun]) -> int:
    """How many runs there are whose start was never acknowledged."""
    return len(stored.keys() - {errand.run for errand in errands})


def _wrong_with(errand: Errand, stored: StoredRun | None) -> Iterator[str]:
    if stored is None:
        yield f"{errand.goal}: its run {errand.run!r} is not there"
        return
    turns = len(errand.done) + 1
    expected = {
        "goal": (stored.goal, errand.goal),
        "lifecycle": (stored.lifecycle, str(Lifecycle.COMPLETED)),
        "revision": (stored.revision, turns),
        "steps": (list(stored.steps), errand.done),
        "artifacts": (list(stored.artifacts), errand.done),
        "completed": (stored.completed, len(errand.done)),
        "turns": (list(stored.turns), list(range(1, turns + 1))),
    }
    for name, (there, should) in expected.items():
        if there != should:
            yield f"{errand.goal}: {name} {there!r} instead of {should!r}"


_BUSY: Final = {"HANDRAIL_RATE": "1000000"}
"""All clients of a test are one principal."""


class Replica:
    """A server process, once it listens or has ended; `site` is None if it did not come up."""

    def __init__(self, at: Place, url: str, env: Mapping[str, str]) -> None:
        words = (str(PROGRAM), "serve", "--project", str(at.project), "--store", url)
        errors, theirs = os.pipe()
        self.process = start_process(
            (*words, "--http", "127.0.0.1:0", "--replicas"), {**at.env, **_BUSY, **env}, at.folder, theirs
        )
        os.close(theirs)
        self._saying = os.fdopen(errors)
        self.said = [self._saying.readline() for _ in FACES]
        self.site = parse_listening_server(self.process, self.said)
        self._hearing = Thread(target=lambda: self.said.extend(self._saying), daemon=True)
        self._hearing.start()

    @property
    def text(self) -> str:
        return "".join(self.said)

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to end; the status it has ended with, once all that it said is heard."""
        self.process.send_signal(by)
        status = self.process.wait(BOUND)
        self._hearing.join(BOUND)
        self._saying.close()
        self.process.__exit__(None, None, None)
        return status


class ReplicaSet:
    """So many servers, by number; each that was killed is started until it comes up, as an operator would."""

    def __init__(self, at: Place, url: str, count: int, **env: str) -> None:
        self._at, self._url, self._env = at, url, env
        self.ended: list[Replica] = []
        self.failed_starts = 0
        self._living: dict[int, Replica] = {}
        for number in range(count):
            self.start(number)

    @property
    def sites(self) -> list[HttpServer]:
        """Those that serve."""
        return [replica.site for _, replica in sorted(self._living.items()) if replica.site]

    @property
    def text(self) -> str:
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
def run_replica_set(at: Place, url: str, count: int, **env: str) -> Iterator[ReplicaSet]:
    """So many servers on a database, with these settings; they must end well when they are told to."""
    made = ReplicaSet(at, url, count, **env)
    try:
        yield made
        made.close()
    finally:
        made.abandon()


AGAIN: Final = frozenset({"busy", "no_server"})
"""The faults after which the same call may be sent again."""

PAIR: Final = """
workflow: pair
version: 1
authority: sql
about: Two steps in a row
steps:
  - {name: one, agent: architect, task: "First.", contract: {artifacts: [note]}}
  - {name: two, agent: implementer, task: "Second.", contract: {artifacts: [note]}}
"""
STEPS: Final = 2


@dataclass(slots=True)
class Tally:
    """What has happened so far; `moments` are the counts of acknowledged calls at which something is due."""

    moments: Mapping[int, Callable[[], None]]
    sent: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    @property
    def repeats(self) -> int:
        """How many calls were sent once more."""
        return self.sent - self.acknowledged

    def acknowledge(self) -> None:
        self.acknowledged += 1
        if self.acknowledged in self.moments:
            self.moments[self.acknowledged]()


@dataclass(slots=True)
class Client:
    """A client of an era: it keeps a connection to each server, and picks one for each call."""

    fleet: ReplicaSet
    era: str
    random: Random
    tally: Tally
    _lines: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = field(default_factory=dict)

    async def walk(self, errand: Errand) -> None:
        """Take a run from its start to its end."""
        answer = await self._until_answered({"template_name": "pair", "goal": errand.goal}, errand)
        errand.run = answer.run
        for number in range(STEPS):
            words = f"{errand.goal}, step {number}"
            artifact = {"type": "note", "title": "A note", "content": words}
            output = build_note_output(summary=words, artifacts=[artifact])
            given = {"step_token": answer.token, "model_output_so_far": output}
            answer = await self._until_answered(given)
            assert answer.run == errand.run
            errand.done.append(words)
        assert answer.code == StepsStatus.TASK_CLOSED

    def close(self) -> None:
        for _, writer in self._lines.values():
            writer.close()

    async def _until_answered(self, arguments: Mapping[str, Any], start: Errand | None = None) -> ToolAnswer:
        """What a call is answered with, sent again as it was for as long as there is no answer."""
        while True:
            self.tally.sent += 1
            if start:
                start.starts += 1
            answer = await self._answer(self.random.choice(self.fleet.sites), arguments)
            if answer is None:
                self.tally.unanswered += 1
            elif answer.code in AGAIN:
                self.tally.faults[answer.code] += 1
            else:
                assert not answer.failed, answer.text
                self.tally.acknowledge()
                return answer

    async def _answer(self, served: HttpServer, arguments: Mapping[str, Any]) -> ToolAnswer | None:
        """What a server answers; None if it does not."""
        number, given = self.tally.sent, {"name": TOOL, "arguments": dict(arguments)}
        request = WireClient(served, "steps", self.era).request(number, "tools/call", given)
        try:
            async with asyncio.timeout(BOUND):
                reader, writer = await self._line(served)
                writer.write(request)
                status, body = await read_next_answer(reader)
        except (OSError, asyncio.IncompleteReadError):
            self._drop(served)
            return None
        assert status in {200, 503}, body
        return read_tool_answer(find_answer(number, body)) if status == 200 else None

    async def _line(self, served: HttpServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The connection to a server, made anew if the server has closed it while nothing was sent."""
        if served.port in self._lines and self._lines[served.port][0].at_eof():
            self._drop(served)
        if served.port not in self._lines:
            self._lines[served.port] = await asyncio.open_connection(served.host, served.port)
        return self._lines[served.port]

    def _drop(self, served: HttpServer) -> None:
        line = self._lines.pop(served.port, None)
        if line:
            line[1].close()


async def run_errands(clients: list[Client], errands: list[Errand]) -> None:
    """Have all errands done by these clients, each by whoever is free next."""
    left = iter(errands)

    async def busy(client: Client) -> None:
        for errand in left:
            await client.walk(errand)
        client.close()

    working: list[Awaitable[None]] = [busy(client) for client in clients]
    await asyncio.gather(*working)
