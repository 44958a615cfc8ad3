"""What deploy/nginx.conf makes of a request: fakes stand behind it, as no server of ours tells what comes."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from helpers.nginx import BOUND, get_port, open_listener, run_nginx


class Telling(BaseHTTPRequestHandler):
    """Answers with the headers that it got; at /stream with a word, and with another when it may."""

    protocol_version = "HTTP/1.1"
    may = Event()

    def do_GET(self) -> None:
        if self.path == "/stream":
            self._stream()
            return
        body = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: one\n\n")
        assert Telling.may.wait(BOUND)
        self.wfile.write(b"data: two\n\n")

    def log_message(self, *_: object) -> None:
        pass


class Switching(BaseHTTPRequestHandler):
    """Agrees to speak another protocol, and then repeats what it hears."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(101)
        self.send_header("Upgrade", self.headers["upgrade"])
        self.send_header("Connection", self.headers["connection"])
        self.end_headers()
        self.wfile.write(self.rfile.readline())
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def behind(kind: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port of a server of this kind."""
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def front(tmp_path: Path) -> Iterator[int]:
    with (
        open_listener() as listener,
        behind(Telling) as server,
        run_nginx(tmp_path / "proxy", [listener], [server, server]),
    ):
        yield get_port(listener)


def got(port: int, **headers: str) -> dict[str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND)
    try:
        connection.request("GET", "/", headers={name.replace("_", "-"): it for name, it in headers.items()})
        found: dict[str, str] = json.loads(connection.getresponse().read())
        return found
    finally:
        connection.close()


def test_a_fake_server_tells_that_host_and_token_are_passed_on_and_the_address_is_set(front: int) -> None:
    lie = {"X_Forwarded_For": "192.0.2.1, 192.0.2.2", "X_Forwarded_Proto": "https"}

    assert got(front, Host="plans.example.org:8443", Authorization="Bearer hr_x", **lie) == {
        "host": "plans.example.org:8443",
        "authorization": "Bearer hr_x",
        "accept-encoding": "identity",
        "x-forwarded-for": "127.0.0.1",
        "x-forwarded-proto": "http",
        "connection": "close",
    }


def test_a_fake_server_gets_a_token_of_eight_kilobytes(front: int) -> None:
    assert got(front, Authorization="Bearer " + "x" * 8192)["authorization"] == "Bearer " + "x" * 8192


def test_a_fake_server_that_does_not_forbid_to_keep_its_words_is_heard_word_by_word(front: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", front, timeout=BOUND)
    Telling.may.clear()
    try:
        connection.request("GET", "/stream")
        answer = connection.getresponse()
        first = answer.readline()
        Telling.may.set()
        rest = answer.read()
    finally:
        Telling.may.set()
        connection.close()

    assert (first, rest) == (b"data: one\n", b"\ndata: two\n\n")


def test_a_fake_server_that_speaks_another_protocol_is_spoken_to_in_both_directions(tmp_path: Path) -> None:
    asked = b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    with (
        open_listener() as listener,
        behind(Switching) as server,
        run_nginx(tmp_path / "proxy", [listener], [server, server]),
        socket.create_connection(("127.0.0.1", get_port(listener)), BOUND) as line,
        line.makefile("rb") as heard,
    ):
        line.sendall(asked)
        head = [heard.readline() for _ in range(5)]
        line.sendall(b"hello\n")
        assert head[0] == b"HTTP/1.1 101 Switching Protocols\r\n"
        assert b"Upgrade: websocket\r\n" in head
        rest = heard.read()

    assert rest.endswith(b"hello\n")


def certificate(folder: Path) -> None:
    """A key, and a certificate for this machine that it has signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "plans.example.org")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "tls.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    written = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "tls.key").write_bytes(key.private_bytes(*written))


def test_a_fake_server_is_told_that_a_request_came_over_tls(tmp_path: Path) -> None:
    certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=str(tmp_path / "tls.crt"))
    with (
        open_listener() as plain,
        open_listener() as safe,
        behind(Telling) as server,
        run_nginx(tmp_path / "proxy", [plain, safe], [server, server], tmp_path),
    ):
        connection = http.client.HTTPSConnection("127.0.0.1", get_port(safe), timeout=BOUND, context=trusted)
        connection.request("GET", "/")
        found = json.loads(connection.getresponse().read())
        connection.close()
        unsafe = got(get_port(plain))

    assert (found["x-forwarded-proto"], unsafe["x-forwarded-proto"]) == ("https", "http")
