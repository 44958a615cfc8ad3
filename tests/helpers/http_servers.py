"""The bench of the way in over HTTP: a server of its own, its address, and raw requests to it."""

import http.client
import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from helpers.forks import ServedProcess, start_process
from helpers.program import run_handrail
from helpers.servers import BOUND, Place

FACES = ("commits", "planner", "skills", "spells", "steps")
_SAID = re.compile(r"handrail: (\w+) at http://(\S+?):(\d+)(/mcp/\w+)\n")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a request was answered with."""

    status: int
    text: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server that listens; `paths` are those of its faces."""

    process: ServedProcess
    host: str
    port: int
    paths: Mapping[str, str]

    def url(self, face: str) -> str:
        """Where a face is."""
        return f"http://{self.host}:{self.port}{self.paths[face]}"

    @property
    def address(self) -> str:
        """What it is called in `Host`."""
        return f"{self.host}:{self.port}"

    def send(
        self, path: str, body: bytes = b"", *, method: str = "", token: str = "", **headers: str
    ) -> HttpAnswer:
        """Send a request as a client does, with these headers too: POST to a face, else GET."""
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        usual = {
            "Host": self.address,
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
        }
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        method = method or ("POST" if path.startswith("/mcp") else "GET")
        return self.ask(method, path, {**usual, **shown, **more}, body)

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> HttpAnswer:
        """Send exactly these headers, and `Host` only if it is among them."""
        connection = http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=BOUND)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(body or None)
            response = connection.getresponse()
            said = {name.lower(): value for name, value in response.getheaders()}
            return HttpAnswer(response.status, response.read().decode(), said)
        finally:
            connection.close()

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to end; the status it ends with."""
        self.process.send_signal(by)
        return self.process.wait(BOUND)


@contextmanager
def run_http_server(at: Place, *words: str, address: str = "127.0.0.1:0", **env: str) -> Iterator[HttpServer]:
    """A server over HTTP in this place, with these settings; it must end well when it is told to.

    Where it asks for tokens, its project is one that has a name.
    """
    started = (*at.words("--http", address), *words)
    if {"token", "oauth", "--issuer"} & set(words):
        run_handrail("project", "add", "project", at.project, "--store", at.store, HOME=at.env["HOME"])
        started = tuple(word for word in started if word not in {"--project", str(at.project)})
    with run_http_program(at, started, {**at.env, **env}, FACES) as made:
        yield made


@contextmanager
def run_http_program(
    at: Place, words: Sequence[str], env: Mapping[str, str], faces: Sequence[str]
) -> Iterator[HttpServer]:
    """A program that says where it serves these faces; it must end well when it is told to."""
    errors, theirs = os.pipe()
    with os.fdopen(errors) as saying, start_process(words, env, at.folder, theirs) as process:
        os.close(theirs)
        try:
            made = parse_listening_server(process, [saying.readline() for _ in faces])
            assert made, saying.read()
            yield made
            if process.poll() is None:
                assert made.end() == 0
        finally:
            process.send_signal(signal.SIGKILL)


def parse_listening_server(process: ServedProcess, lines: Iterable[str]) -> HttpServer | None:
    """The server that has said this first; None if it has said anything but where it listens."""
    said = [_SAID.fullmatch(line) for line in lines]
    found = [one for one in said if one]
    if not found or len(found) < len(said):
        return None
    return HttpServer(process, found[0][2], int(found[0][3]), {one[1]: one[4] for one in found})


def create_token(at: Place, principal: str, *scopes: str) -> dict[str, Any]:
    """A new token."""
    words = [word for scope in scopes for word in ("--scope", scope)]
    made = run_handrail(
        "token", "create", principal, *words, "--store", at.store, "--json", HOME=at.env["HOME"]
    ).data
    found: dict[str, Any] = made["token"]
    return found
