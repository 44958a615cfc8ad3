"""The bench of the MCP face: a place of its own, three ways in, and the whole store before and after.

`agent` is a real client at a real server process, `Pipe` such a process spoken to in bytes, and `inside` the
face without a process, with a clock that the test moves. All three start, continue, recover and control.
"""

import itertools
import json
import os
import select
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar, Final, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from handrail.app.app import App
from handrail.app.projects import Projects
from handrail.app.stores import open_store
from handrail.app.trust import TrustStore
from handrail.engine.facts import Value
from handrail.mcp.addresses import Spelling
from handrail.mcp.faces.steps import StepsFace
from handrail.runtime.records import Caller
from helpers.crash import build_unmeasured_environment
from helpers.forks import start_process
from helpers.program import PROGRAM
from helpers.turns import ManualClock
from helpers.workflows import build_output

TOOL: Final = "workflow_next_step"
ERAS: Final = ("legacy", "auto")
BOUND: Final = 60.0
"""How many seconds a server may take for anything at all: a bound for liveness, not for speed."""

WALK: Final = """
workflow: walk
version: 1
authority: sql
about: Six steps in a row
inputs:
  what: {type: string, default: "", about: What is walked for}
steps:
  - {name: one, agent: architect, task: "First.", contract: {artifacts: [note], min_confidence: 0.5}}
  - {name: two, agent: implementer, task: "Second.", contract: {artifacts: [note]}}
  - {name: three, agent: tester, task: "Third.", contract: {artifacts: [note]}}
  - {name: four, agent: reviewer, task: "Fourth.", contract: {artifacts: [note]}}
  - {name: five, agent: writer, task: "Fifth.", contract: {artifacts: [note]}}
  - {name: six, agent: supervisor, task: "Sixth.", contract: {artifacts: [note]}}
"""
BRIEF: Final = """
workflow: brief
version: 1
authority: sql
about: One step
steps:
  - {name: only, agent: implementer, task: "All of it."}
"""

_COUNTED: Final = itertools.count()
META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def build_note_output(**changes: Value) -> dict[str, Value]:
    """A good output of any step of these workflows, with these fields instead."""
    artifact = {"type": "note", "title": "A note", "content": "It is noted."}
    return build_output(**{"artifacts": [artifact], **changes})


@dataclass(frozen=True, slots=True)
class Place:
    """A project with two workflows, a home, and a store, all below one folder.

    Coverage is not `measured` of servers that are killed, or do one thing very often.
    """

    folder: Path
    measured: bool = True

    @property
    def project(self) -> Path:
        """The project."""
        return self.folder / "project"

    @property
    def store(self) -> Path:
        """The file of the store."""
        return self.folder / "store" / "handrail.db"

    @property
    def env(self) -> dict[str, str]:
        """The environment of a server here: nothing of the person who runs the tests."""
        home = self.folder / "home"
        given = os.environ if self.measured else build_unmeasured_environment()
        stored = {name: value for name, value in given.items() if not name.startswith(("HANDRAIL_", "XDG_"))}
        return {
            **stored,
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local" / "share"),
        }

    def words(self, *more: str) -> tuple[str, ...]:
        """The command line of a server here."""
        return (str(PROGRAM), "serve", "--project", str(self.project), "--store", str(self.store), *more)


def create_place(folder: Path, *, measured: bool = True, **workflows: str) -> Place:
    """A place below this folder, with more workflows by their names."""
    made = Place(folder, measured)
    (folder / "home").mkdir(parents=True)
    shelf = made.project / ".handrail" / "workflows"
    shelf.mkdir(parents=True)
    for name, text in {"walk": WALK, "brief": BRIEF, **workflows}.items():
        (shelf / f"{name}.yaml").write_text(text, "utf-8")
    return made


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a call was answered with, in both forms."""

    reply: dict[str, Any]
    text: str
    failed: bool

    @property
    def code(self) -> str:
        """The code of a refusal; otherwise the status."""
        return str(self.reply.get("code", self.reply["status"]))

    @property
    def run(self) -> str:
        """The run that it is about."""
        return str(self.reply["execution_id"])

    @property
    def token(self) -> str:
        """The token to go on with."""
        return str(self.reply["new_step_token"])


class ToolClient(ABC):
    """An agent at the face, whatever lies between."""

    @abstractmethod
    def call(self, arguments: Mapping[str, Any], tool: str = TOOL) -> ToolAnswer:
        """Call the tool."""

    def start(self, template: str = "walk", **more: Any) -> ToolAnswer:  # noqa: ANN401 - also what is no argument
        """Start a run."""
        return self.call({"template_name": template, **more})

    def continue_run(self, token: str, **changes: Value) -> ToolAnswer:
        """Hand in a good output, with these fields instead."""
        return self.call({"step_token": token, "model_output_so_far": build_note_output(**changes)})

    def recover(self, run: str) -> ToolAnswer:
        """Ask for the current step again."""
        return self.call({"execution_id": run})

    def control(self, run: str, action: str, **more: Any) -> ToolAnswer:  # noqa: ANN401 - the same
        """Act on a run by its id."""
        return self.call({"execution_id": run, "action": action, **more})

    def control_by_token(self, token: str, action: str, **more: Any) -> ToolAnswer:  # noqa: ANN401 - the same
        """Act on the run of a token."""
        return self.call({"step_token": token, "action": action, **more})


# --- a real client ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SdkAgent(ToolClient):
    """A client that is connected; `portal` is where it lives."""

    portal: BlockingPortal
    client: Client

    def call(self, arguments: Mapping[str, Any], tool: str = TOOL) -> ToolAnswer:
        """Call the tool through the client."""
        result = self.portal.call(self.client.call_tool, tool, dict(arguments))
        texts = [getattr(part, "text", "") for part in result.content]
        assert len(texts) == 1
        assert isinstance(result.structured_content, dict)
        return ToolAnswer(result.structured_content, texts[0], bool(result.is_error))


@contextmanager
def connect_agent(at: Place, era: str, *words: str) -> Iterator[SdkAgent]:
    """A client of this era at a server of its own; what the server says on stderr stands in a file."""
    program, *rest = at.words(*words)
    started = StdioServerParameters(command=program, args=rest, env=at.env, cwd=at.folder)
    with (
        (at.folder / "stderr").open("a", encoding="utf-8") as errors,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(started, errors), mode=era)) as client,
    ):
        yield SdkAgent(portal, client)


# --- bytes --------------------------------------------------------------------------------------------------


class Pipe(ToolClient):
    """A server process and its two pipes; as a block, it must end well. `ABLE` is what the client can do."""

    ABLE: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, at: Place, *words: str, era: str = "auto", **env: str) -> None:
        self._errors = at.folder / f"stderr-{next(_COUNTED)}"
        self._asked, self._rest, self.era = 0, b"", era
        self.unasked: list[dict[str, Any]] = []
        with self._errors.open("wb") as errors:
            self.process = start_process(at.words(*words), {**at.env, **env}, at.folder, errors.fileno())
        if era == "legacy":
            self.hello: dict[str, Any] = self.ask("initialize", {**HELLO, "capabilities": self.ABLE})[
                "result"
            ]
            self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Close the pipes; a server that is still there must end with 0."""
        ended = self.process.poll() is not None
        status = self.close()
        assert kind is not None or ended or status == 0, f"it ended with {status}: {self.errors()}"

    def close(self) -> int:
        """Close its stdin; the status it ends with, within the bound."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        status = self.wait_for_end()
        self.process.stdout.close()
        return status

    def wait_for_end(self) -> int:
        """The status it has ended with, within the bound."""
        return self.process.wait(BOUND)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def errors(self) -> str:
        """What it has said on stderr."""
        return self._errors.read_text("utf-8", "replace")

    def send(self, *lines: bytes) -> None:
        """Write these lines."""
        self.write(b"".join(line + b"\n" for line in lines))

    def write(self, data: bytes) -> None:
        """Write these bytes, all of them."""
        assert self.process.stdin is not None
        left = memoryview(data)
        while left:
            left = left[os.write(self.process.stdin.fileno(), left) :]

    def line(self) -> bytes:
        """The next line it writes, within the bound; empty at the end."""
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.process.stdout], [], [], BOUND)
            assert ready, f"no answer; {self.errors()}"
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                return b""
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def part(self, size: int) -> bytes:
        """The next bytes that it writes: so many, and no more are read."""
        assert self.process.stdout is not None
        found = b""
        while len(found) < size:
            found += os.read(self.process.stdout.fileno(), size - len(found))
        return found

    def answer(self) -> dict[str, Any]:
        """The next message that is an answer: what the server tells of its own accord is put aside."""
        while True:
            line = self.line()
            assert line, f"it has ended; {self.errors()}"
            message: dict[str, Any] = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if "id" in message:
                return message
            self.unasked.append(message)

    def exchange_lines(self, lines: Sequence[bytes], count: int) -> list[dict[str, Any]]:
        """So many answers to these lines, which may be more than a pipe takes at once."""
        writing = Thread(target=self.send, args=lines)
        writing.start()
        answers = [self.answer() for _ in range(count)]
        writing.join()
        return answers

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """A request of this era, with the next id."""
        self._asked += 1
        meta = {**META, "io.modelcontextprotocol/clientCapabilities": self.ABLE}
        given = dict(params) if self.era == "legacy" else {**params, "_meta": meta}
        return {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": given}

    def post(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request and wait for nothing; its id."""
        message = self.request(method, params)
        self.send(json.dumps(message).encode())
        return int(message["id"])

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What a request is answered with; the answer carries its id."""
        number = self.post(method, params or {})
        answer = self.answer()
        assert answer["id"] == number, answer
        return answer

    def call(self, arguments: Mapping[str, Any], tool: str = TOOL) -> ToolAnswer:
        """Call the tool."""
        return read_tool_answer(self.ask("tools/call", {"name": tool, "arguments": dict(arguments)}))


class PageShowingPipe(Pipe):
    """The pipe of a client that can show pages in its chat."""

    ABLE: ClassVar[Mapping[str, Any]] = {
        "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
    }


def wait_until(true: Callable[[], bool], what: str) -> None:
    """Wait until something is true, within the bound; who is waited for has the processor meanwhile."""
    end = time.monotonic() + BOUND
    while not true():
        assert time.monotonic() < end, f"never came: {what}"
        select.select([], [], [], 0.01)


def read_tool_answer(answer: Mapping[str, Any]) -> ToolAnswer:
    """What an answer to a call tells."""
    result = answer["result"]
    (content,) = result["content"]
    return ToolAnswer(result["structuredContent"], content["text"], bool(result.get("isError")))


# --- no process ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InProcessClient(ToolClient):
    """The face itself, with a clock that stands still until the test moves it."""

    face: StepsFace
    app: App
    clock: ManualClock = field(default_factory=ManualClock)

    def call(self, arguments: Mapping[str, Any], tool: str = TOOL) -> ToolAnswer:
        """Call the face, as the server does."""
        (listed,) = self.face.tools
        assert tool in listed.names
        answer = self.face.call(listed, arguments, Caller(client="bench 1"))
        return ToolAnswer(dict(answer.reply), answer.text, answer.failed)


@contextmanager
def open_in_process(at: Place, names: Spelling = Spelling.PORTABLE) -> Iterator[InProcessClient]:
    """The face over the store of this place."""
    clock = ManualClock()
    with open_store(at.store) as store:
        app = App(store, Projects([at.project], TrustStore()), clock=clock)
        assert app.secret  # a server makes its key before it answers
        yield InProcessClient(StepsFace(app, names), app, clock)
