"""`handrail ready`: it asks by the address that the server was told, and says why a server is not ready."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from handrail.app.asgi import ListenAddress, parse_listen_address
from handrail.runtime.errors import NoAddress
from helpers.http_servers import run_http_server
from helpers.program import CommandResult, run_command
from helpers.servers import Place, create_place

EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - containers listen there


def asked(*words: str) -> CommandResult:
    return run_command("ready", *words, cwd=Path.cwd())


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return create_place(Path(tmp_path_factory.mktemp("ready")) / "place")


@pytest.mark.parametrize(("listens", "more"), [("127.0.0.1", ()), (EVERYWHERE, ("--auth", "token"))])
def test_a_server_is_asked_by_the_address_that_it_was_told(at: Place, listens: str, more: tuple[str]) -> None:
    names = ("--known-as", "plans.example.org:443") if more else ()
    run_command("token", "create", "ada", "--scope", "admin", "--store", at.store, cwd=at.folder)
    with run_http_server(at, *more, *names, address=f"{listens}:0") as served:
        answer = asked(f"{listens}:{served.port}")
        other = asked(f"localhost:{served.port}")

    assert (answer.status, answer.out, answer.err) == (0, "", "")
    assert other.status == (1 if more else 0)
    assert ("answers 421: this server is not known by that host" in other.err) == bool(more)
    gone = asked(f"{listens}:{served.port}")
    assert (gone.status, gone.err.splitlines()[1]) == (
        1,
        f"  start it: handrail serve --http {listens}:{served.port}",
    )


class Late(BaseHTTPRequestHandler):
    """Is ready when it is asked for the third time."""

    asked = 0

    def do_GET(self) -> None:
        Late.asked += 1
        self.send_response(200 if Late.asked > 2 else 503)
        self.end_headers()
        self.wfile.write(b"unreadable\n\x1b[31m\xff")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def late() -> Iterator[str]:
    Late.asked = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Late) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_fake_server_that_is_late_is_asked_until_it_is_ready(late: str) -> None:
    at_once = asked(late)
    assert (at_once.status, at_once.err.splitlines()) == (
        1,
        [
            f"handrail: the server at {late} answers 503: unreadable\\u{{a}}\\u{{1b}}[31m\ufffd",
            "  ask again later; if it cannot read its store: handrail store check",
        ],
    )
    assert (asked(late, "--within", "60").status, Late.asked) == (0, 3)


@pytest.mark.parametrize(
    "given",
    [
        *("", "127.0.0.1", ":80", "a b:80", "a..b:80", "ö.example:80", "\udcff:80", "http://x:80", "[x]y:80"),
        *("x:65536", "x:-1", "x:\u0663", f"x:{'9' * 5000}", f"{'a' * 64}:80"),
    ],
)
def test_what_is_no_address_is_said_to_be_none(given: str) -> None:
    with pytest.raises(NoAddress, match="is no address"):
        parse_listen_address(given)


@pytest.mark.parametrize(
    ("given", "found", "written"),
    [
        ("127.0.0.1:0", ListenAddress("127.0.0.1", 0), "127.0.0.1:0"),
        ("plans_1.example-team.org:443", ListenAddress("plans_1.example-team.org", 443), None),
        ("[::1]:8765", ListenAddress("::1", 8765), "[::1]:8765"),
        ("[fe80::1%eth0]:65535", ListenAddress("fe80::1%eth0", 65535), "[fe80::1%eth0]:65535"),
    ],
)
def test_an_address_is_a_host_and_a_port(given: str, found: ListenAddress, written: str | None) -> None:
    assert (parse_listen_address(given), str(found)) == (found, written or given)
