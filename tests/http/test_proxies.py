"""A proxy on another machine: where requests come from is what it says, and nobody else's word is taken.

Here other machines are other loopback addresses. Only those that fail to say who they are are told apart by
where they come from: five times each.
"""

import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from helpers.http_servers import HttpServer, run_http_server
from helpers.program import run_command
from helpers.servers import BOUND, create_place

PROXY, OTHER = "127.0.0.2", "127.0.0.3"
SMALL: Final = {"HANDRAIL_RATE": "1", "HANDRAIL_BURST": "5"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    at = create_place(Path(tmp_path_factory.mktemp("proxies")) / "place")
    run_command("token", "create", "ada", "--scope", "admin", "--store", at.store, cwd=at.folder)
    with run_http_server(at, "--auth", "token", HANDRAIL_PROXY="127.0.0.2 fd00::/8", **SMALL) as made:
        yield made


def ask(served: HttpServer, by: str, come_from: str, path: str = "/mcp/steps") -> int:
    connection = http.client.HTTPConnection(served.host, served.port, BOUND, (by, 0))
    try:
        connection.request("GET", path, headers={"X-Forwarded-For": come_from})
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_proxy_that_is_named_says_where_requests_come_from(served: HttpServer) -> None:
    first, second = ([ask(served, PROXY, f"192.0.2.{number}") for _ in range(6)] for number in (1, 2))

    assert (first, second) == ([401] * 5 + [429], [401] * 5 + [429])


def test_the_word_of_anybody_else_is_not_taken(served: HttpServer) -> None:
    assert [ask(served, OTHER, f"192.0.2.{number}") for number in range(10, 16)] == [401] * 5 + [429]


def test_who_comes_through_a_proxy_is_not_near(served: HttpServer) -> None:
    assert served.ask("GET", "/metrics", {"Host": f"127.0.0.1:{served.port}"}).status == 401


@pytest.mark.parametrize("given", ["proxy", "10.0.0.1/24", "10.0.0", "*", ""])
def test_what_is_no_address_of_a_proxy_is_refused(tmp_path: Path, given: str) -> None:
    said = run_command("serve", "--http", "127.0.0.1:0", "--proxy", given, cwd=tmp_path)

    assert said.status == 2
    assert f"`{given}` is neither an address like 10.0.0.7 nor a network like 10.0.0.0/24" in said.err
