"""Nobody comes in by another name, from another page, or with too much: on no route."""

from pathlib import Path

import pytest

from helpers.http_servers import FACES, Answered, Site, site
from helpers.servers import place

PATHS = ("/healthz", "/readyz", "/metrics", *(f"/mcp/{face}" for face in FACES), "/", "/nothing")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> "object":
    with site(place(Path(tmp_path_factory.mktemp("guard")) / "place")) as made:
        yield made


def asked(served: Site, path: str, **headers: str) -> Answered:
    sent = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
    filled = {name: value.replace("PORT", str(served.port)) for name, value in sent.items()}
    return served.ask("POST" if path.startswith("/mcp") else "GET", path, filled)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:PORT",
        "127.0.0.1.evil.example:PORT",
        "localhost.evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:PORT:PORT",
        "a/?x#",
        "",
    ],
)
def test_a_request_for_another_host_is_not_let_in(served: Site, path: str, host: str) -> None:
    assert asked(served, path, Host=host).status in {400, 421}


@pytest.mark.parametrize("path", PATHS)
def test_a_request_for_no_host_is_not_let_in(served: Site, path: str) -> None:
    assert asked(served, path).status in {400, 421}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "http://127.0.0.1:1",
        "http://127.0.0.1",
        "http://127.0.0.1:PORT.evil.example",
        "file://127.0.0.1:PORT",
        "",
    ],
)
def test_a_request_of_another_page_is_not_let_in(served: Site, path: str, origin: str) -> None:
    assert asked(served, path, Host="127.0.0.1:PORT", Origin=origin).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT", "LocalHost:PORT"])
@pytest.mark.parametrize("origin", ["http://127.0.0.1:PORT", "http://localhost:PORT", "https://[::1]:PORT"])
def test_a_request_by_a_name_of_its_own_is_let_in(served: Site, host: str, origin: str) -> None:
    assert asked(served, "/healthz", Host=host).status == 200
    assert asked(served, "/healthz", Host=host, Origin=origin).status == 200


@pytest.mark.parametrize("size", ["1048577", "99999999999999999999", "-1", "+1", "1e3", "0x10"])
def test_more_than_the_limit_is_not_even_read(served: Site, size: str) -> None:
    headers = {"Host": "127.0.0.1:PORT", "Content-Length": size}

    assert asked(served, "/mcp/steps", **headers).status in {400, 413}
