"""Every attack on every route of every kind of server: refused, with nothing learnt. The table is printed."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from handrail.app.app import open_app
from handrail.cli.serve_http import DashboardPages, make_dashboard_factory
from handrail.dashboard.viewer import Dashboards
from handrail.http.application import OPEN_PATHS, Backend, GuardMiddleware
from handrail.http.authentication import Authenticator
from handrail.http.metrics import Metrics
from handrail.mcp.addresses import Spelling
from handrail.mcp.streamable_http import ServedProjects, build_tenants
from helpers.crash import Record
from helpers.http_servers import FACES, HttpServer, create_token, run_http_server
from helpers.servers import create_place
from helpers.token_issuer import run_issuer

pytestmark = pytest.mark.unmeasured
NAME: Final = "plans.example.org"
BINDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "127.0.0.1, nobody is asked": ("127.0.0.1:0", ()),
    "[::1], nobody is asked": ("[::1]:0", ()),
    "127.0.0.1, tokens": ("127.0.0.1:0", ("--auth", "token")),
    "0.0.0.0, tokens": ("0.0.0.0:0", ("--auth", "token", "--known-as", f"{NAME}:443")),
    "127.0.0.1, an issuer": ("127.0.0.1:0", ("--auth", "token", "--auth", "oauth", "--issuer", "ISSUER")),
}
LED: Final = ("", *(f"/mcp/{face}" for face in FACES))
METADATA: Final = tuple(f"/.well-known/oauth-protected-resource{path}" for path in LED)
"""What anybody may read where there is an issuer: who that is, for the server and for each face."""

_PATHS: Final = ("/nothing", "/mcp", "/mcp/", "/mcp/nothing", "/ws", "/api/runs")
NOWHERE: Final = (*_PATHS, "/healthz/", "//healthz", "/metrics/")
_SECRET: Final = re.compile("hr_[A-Za-z0-9_-]{20,}")
_HOST: Final = frozenset({400, 421})
_PAGE: Final = frozenset({403})
_WHO: Final = frozenset({401})
_SIZE: Final = frozenset({400, 413})


@dataclass(frozen=True, slots=True)
class Way:
    """A server of a kind, what it is called in `Host`, and a token that opens it, if it asks for one."""

    kind: str
    served: HttpServer
    host: str
    token: str

    def opens(self, path: str) -> bool:
        """Whether anybody may read what is there."""
        return path in OPEN_PATHS or (path in METADATA and "issuer" in self.kind)

    def own(self) -> dict[str, str]:
        shown = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"Host": self.host, **shown}


@dataclass(frozen=True, slots=True)
class Attack:
    """Headers that are sent, which answers refuse them, and what is asked for instead of a route."""

    headers: Callable[[Way], dict[str, str]]
    refused: frozenset[int]
    path: Callable[[str], str] = str

    @property
    def lacks_token(self) -> bool:
        """Whether it is one only where tokens are asked for, and only on what is not open to anybody."""
        return self.refused == _WHO


def _with(**headers: str) -> Callable[[Way], dict[str, str]]:
    """The headers of somebody who may come in, with these instead; PORT and HOST are the server's own."""

    def made(way: Way) -> dict[str, str]:
        own = {**way.own(), **{name.replace("_", "-"): value for name, value in headers.items()}}
        filled = {
            name: v.replace("PORT", str(way.served.port)).replace("HOST", way.host) for name, v in own.items()
        }
        return {name: value for name, value in filled.items() if value != "NONE"}

    return made


_UPGRADE: Final = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
_KEY: Final = {"Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ=="}

ATTACKS: Final[Mapping[str, Attack]] = {
    "S1 another host": Attack(_with(Host="evil.example"), _HOST),
    "S1 another host, our port": Attack(_with(Host="evil.example:PORT"), _HOST),
    "S1 our host with an end of theirs": Attack(_with(Host="HOST.evil.example"), _HOST),
    "S1 another port": Attack(_with(Host="127.0.0.1:1"), _HOST),
    "S1 our host without its port": Attack(_with(Host="127.0.0.1"), _HOST),
    "S1 our port twice": Attack(_with(Host="127.0.0.1:PORT:PORT"), _HOST),
    "S1 a host that begins like localhost": Attack(_with(Host="localhost.evil.example"), _HOST),
    "S1 an empty host": Attack(_with(Host=""), _HOST),
    "S1 no host": Attack(_with(Host="NONE"), _HOST),
    "S1 a page of our host without its port": Attack(_with(Origin="http://127.0.0.1"), _PAGE),
    "S1 a file of our host": Attack(_with(Origin="file://127.0.0.1:PORT"), _PAGE),
    "S1 a page without a name": Attack(_with(Origin=""), _PAGE),
    "S1 a page of another site": Attack(_with(Origin="http://evil.example"), _PAGE),
    "S1 a page from nowhere": Attack(_with(Origin="null"), _PAGE),
    "S1 a page of another port": Attack(_with(Origin="http://127.0.0.1:1"), _PAGE),
    "S1 a page of a site that begins like ours": Attack(_with(Origin="http://HOST.evil.example"), _PAGE),
    "S2 a WebSocket of another site": Attack(_with(**_UPGRADE, **_KEY, Origin="http://evil.example"), _PAGE),
    "S2 a WebSocket without a token": Attack(
        _with(**_UPGRADE, **_KEY, Authorization="NONE", X_Forwarded_For="192.0.2.1"), _WHO
    ),
    "S3 no token": Attack(_with(Authorization="NONE", X_Forwarded_For="192.0.2.1"), _WHO),
    "S3 a token that was never given": Attack(_with(Authorization="Bearer hr_" + "A" * 43), _WHO),
    "S3 a token in another scheme": Attack(_with(Authorization="Basic aHI6aHI="), _WHO),
    "S3 an empty token": Attack(_with(Authorization="", X_Forwarded_For="192.0.2.1"), _WHO),
    "S3 a scheme without a token": Attack(_with(Authorization="Bearer"), _WHO),
    "S3 a scheme and a space": Attack(_with(Authorization="Bearer "), _WHO),
    "S3 a token without end": Attack(_with(Authorization="Bearer " + "x" * 5000), _WHO),
    "S3 a token that is no text": Attack(_with(Authorization="Bearer hr_\xff"), _WHO),
    "S3 a route under another spelling": Attack(
        _with(Authorization="NONE", X_Forwarded_For="192.0.2.1"), _WHO, lambda path: f"/{path}"
    ),
    "S3 a route behind one that is open": Attack(
        _with(Authorization="NONE", X_Forwarded_For="192.0.2.1"),
        _WHO,
        lambda path: f"/healthz/..{path}",
    ),
    "S4 a host that is a path": Attack(_with(Host="a/?x#"), _HOST),
    "S4 a host that ends a header": Attack(_with(Host="HOST@evil.example"), _HOST),
    "S24 more than a message may have": Attack(_with(Content_Length="1048577"), _SIZE),
    "S24 far more than a message may have": Attack(_with(Content_Length="9" * 20), _SIZE),
    "S24 a length below zero": Attack(_with(Content_Length="-1"), _SIZE),
    "S24 a length with a sign": Attack(_with(Content_Length="+1"), _SIZE),
    "S24 a length with an exponent": Attack(_with(Content_Length="1e3"), _SIZE),
    "S24 a length in hexadecimal": Attack(_with(Content_Length="0x10"), _SIZE),
    "S26 a form of another site": Attack(
        _with(Origin="http://evil.example", Content_Type="application/x-www-form-urlencoded"), _PAGE
    ),
}


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Way]]:
    with ExitStack() as stack:
        issuer, made = stack.enter_context(run_issuer()), []
        for number, (kind, (address, words)) in enumerate(BINDS.items()):
            at = create_place(Path(tmp_path_factory.mktemp("attacks")) / f"place-{number}")
            token = str(create_token(at, "ada", "run:read", "run:write")["secret"]) if words else ""
            answer = (word.replace("ISSUER", issuer.url) for word in words)
            served = stack.enter_context(run_http_server(at, *answer, address=address))
            host = NAME if address.startswith("0.") else served.address
            made.append(Way(kind, served, host, token))
        yield made


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every route that the application has, whatever is added to it, and some that it has not."""
    at = create_place(Path(tmp_path_factory.mktemp("routes")) / "place")
    with open_app(at.store) as app:
        known = ServedProjects(app.store, {"project": at.project})
        everybody = build_tenants(app, FACES, known, Spelling.PORTABLE)
        pages = DashboardPages(Dashboards(make_dashboard_factory(app, known)), app.secret)
        served = Backend(everybody, Metrics(), app.store.measure_load, pages).application()
    found = [str(route.path) for route in served.routes if hasattr(route, "path")]
    assert set(found) > {"/healthz", "/readyz", *(f"/mcp/{face}" for face in FACES)}
    assert len(found) == len(served.routes)
    return [*found, *METADATA, *NOWHERE]


def test_every_attack_is_refused_on_every_route_and_nothing_is_learnt(
    ways: list[Way], routes: list[str], record_property: Record
) -> None:
    lines, total = [], 0
    for name, attack in ATTACKS.items():
        tried = refused = 0
        for way in ways:
            if attack.lacks_token and not way.token:
                continue
            bodies = set()
            for path in routes:
                if attack.lacks_token and way.opens(path):
                    continue
                posted = path.startswith("/mcp/") and "WebSocket" not in name
                method = "POST" if posted else "GET"
                answered = way.served.ask(method, attack.path(path), attack.headers(way))
                bodies.add(answered.text)
                tried += 1
                refused += answered.status in attack.refused
            assert len(bodies) == 1, (name, way.kind, bodies)
            assert not _SECRET.search("".join(bodies))
        assert tried == refused, name
        lines.append(f"{name:<48} {tried:>5} tried {refused:>5} refused")
        total += refused
    record_property("points", total)
    record_property("table", "\n".join(lines))


def test_who_may_come_in_does_so_on_every_kind_of_server(ways: list[Way]) -> None:
    for way in ways:
        assert [way.served.ask("GET", path, {"Host": way.host}).status for path in OPEN_PATHS] == [200, 200]
        assert way.served.ask("GET", "/healthz", way.own()).status == 200
        assert way.served.ask("GET", "/metrics", way.own()).status == 200
        assert way.served.ask("GET", "/nothing", way.own()).status == 404
        led = {way.served.ask("GET", path, way.own()).status for path in METADATA}
        assert led == ({200} if "issuer" in way.kind else {404})


@pytest.mark.parametrize("host", ["127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT", "LocalHost:PORT"])
@pytest.mark.parametrize("origin", ["http://127.0.0.1:PORT", "http://localhost:PORT", "https://[::1]:PORT"])
def test_a_request_by_a_name_of_its_own_is_let_in(ways: list[Way], host: str, origin: str) -> None:
    way = ways[0]

    for headers in (_with(Host=host), _with(Host=host, Origin=origin)):
        assert way.served.ask("GET", "/healthz", headers(way)).status == 200


@pytest.mark.parametrize("headers", [{}, {"origin": "http://evil.example"}, {"authorization": "Bearer hr_x"}])
def test_a_websocket_reaches_nothing_behind_the_guard_unless_it_is_let_in(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    reached: list[str] = []
    sent: list[Message] = []

    async def behind(scope: Scope, _receive: Receive, _send: Send) -> None:
        reached.append(scope["path"])

    async def nothing() -> Message:
        raise AssertionError("nothing is read of who is not let in")

    async def answer(message: Message) -> None:
        sent.append(message)

    sent_with = [
        (name.encode(), value.encode()) for name, value in {"host": "127.0.0.1:1", **headers}.items()
    ]
    scope = {"type": "websocket", "path": "/live", "headers": sent_with, "client": ("127.0.0.1", 1)}
    with open_app(tmp_path / "handrail.db") as app:
        door = Authenticator(app.store.access, app.clock)
        guard = GuardMiddleware(behind, frozenset({"127.0.0.1:1"}), door, 100, lambda: False)
        anyio.run(guard, scope, nothing, answer)

    assert reached == []
    assert [one["type"] for one in sent] == ["websocket.http.response.start", "websocket.http.response.body"]
    assert sent[0]["status"] == (403 if "origin" in headers else 401)
