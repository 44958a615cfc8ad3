"""Clients behind a load balancer that knows nothing: a call goes to any server, until one answers."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from faces.mcp.desk import BOUND, TOOL, Told, note, told
from faces.web.acknowledged import Errand
from faces.web.desk import Site
from faces.web.fleet import Fleet
from faces.web.wire import Wire, answer_to, next_answer

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
        """Count a call that was answered."""
        self.acknowledged += 1
        if self.acknowledged in self.moments:
            self.moments[self.acknowledged]()


@dataclass(slots=True)
class Client:
    """A client of an era: it keeps a connection to each server, and picks one for each call."""

    fleet: Fleet
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
            output = note(summary=words, artifacts=[artifact])
            given = {"step_token": answer.token, "model_output_so_far": output}
            answer = await self._until_answered(given)
            assert answer.run == errand.run
            errand.done.append(words)
        assert answer.code == "task_closed"

    def close(self) -> None:
        """Close its connections."""
        for _, writer in self._lines.values():
            writer.close()

    async def _until_answered(self, arguments: Mapping[str, Any], start: Errand | None = None) -> Told:
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

    async def _answer(self, served: Site, arguments: Mapping[str, Any]) -> Told | None:
        """What a server answers; None if it does not."""
        number, given = self.tally.sent, {"name": TOOL, "arguments": dict(arguments)}
        request = Wire(served, "steps", self.era).request(number, "tools/call", given)
        try:
            async with asyncio.timeout(BOUND):
                reader, writer = await self._line(served)
                writer.write(request)
                status, body = await next_answer(reader)
        except (OSError, asyncio.IncompleteReadError):
            self._drop(served)
            return None
        assert status in {200, 503}, body
        return told(answer_to(number, body)) if status == 200 else None

    async def _line(self, served: Site) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The connection to a server, made anew if the server has closed it while nothing was sent."""
        if served.port in self._lines and self._lines[served.port][0].at_eof():
            self._drop(served)
        if served.port not in self._lines:
            self._lines[served.port] = await asyncio.open_connection(served.host, served.port)
        return self._lines[served.port]

    def _drop(self, served: Site) -> None:
        line = self._lines.pop(served.port, None)
        if line:
            line[1].close()


async def crowd(clients: list[Client], errands: list[Errand]) -> None:
    """Have all errands done by these clients, each by whoever is free next."""
    left = iter(errands)

    async def busy(client: Client) -> None:
        for errand in left:
            await client.walk(errand)
        client.close()

    working: list[Awaitable[None]] = [busy(client) for client in clients]
    await asyncio.gather(*working)
