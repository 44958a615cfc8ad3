"""HTTP basics that the MCP server and the dashboard share: listen address, proxies, grants, request bodies.

No server starts here. `parse_listen_address` reads what a person typed.
"""

import re
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from handrail.runtime.errors import NoAddress
from handrail.runtime.ports.access import AccessScope, Grant

LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")

_HOST_PATTERN: Final = re.compile(
    r"(?:[\w-]{1,63}\.)*[\w-]{1,63}|(?=.*:)[\da-f:.]{2,45}(?:%[\w-]{1,32})?", re.ASCII | re.IGNORECASE
)

_PORT_PATTERN: Final = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """Reverse proxies before the server.

    `names` are additional host names, with ports, that requests may use. Forwarding headers are trusted only
    from `proxies`, given as addresses or networks. With names or proxies set, a proxy on this machine is
    trusted too. With neither, no header is trusted.
    """

    names: frozenset[str] = frozenset()
    proxies: frozenset[str] = frozenset()

    @property
    def is_proxied(self) -> bool:
        """True if requests may come through a proxy."""
        return bool(self.names or self.proxies)

    @property
    def trusted_addresses(self) -> list[str]:
        """The addresses and networks whose forwarding headers are trusted."""
        return ["127.0.0.1", "::1", *sorted(self.proxies)]


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where a server listens. Port 0 means any free port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """True if only programs on this machine can reach it."""
        return self._host in LOOPBACK_HOSTS

    @property
    def is_anywhere(self) -> bool:
        """True if it means all addresses of this machine."""
        return self.host in {"0.0.0.0", "::"}  # noqa: S104 - only a comparison

    def __str__(self) -> str:
        """Return `host:port` as a URL has it."""
        return f"{self._host}:{self.port}"

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def parse_listen_address(given: str) -> ListenAddress:
    """Parse `HOST:PORT`. Raises `NoAddress` if it is not valid."""
    host, colon, port = given.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and _HOST_PATTERN.fullmatch(host) and _PORT_PATTERN.fullmatch(port) and int(port) < 65536):
        raise NoAddress(f"`{given}` is no address", "write HOST:PORT, such as 127.0.0.1:8765")
    return ListenAddress(host, int(port))


@dataclass(frozen=True, slots=True)
class HttpRefusal:
    """The HTTP response to a request that is not admitted."""

    status: int
    text: str
    headers: dict[str, str] | None = None


MAX_MESSAGE_BYTES: Final = 1024 * 1024
"""The largest message, in bytes."""

GRANT_KEY: Final = "handrail_grant"
"""The key in the request state under which authentication puts the caller's grant."""

CHALLENGE_KEY: Final = "handrail_challenge"
"""The key in the request state for the challenge that tells a client which scopes to request."""

ANONYMOUS_GRANT: Final = Grant("", frozenset(AccessScope))
"""The grant of every caller of a server without authentication: all scopes."""

EMPTY_GRANT: Final = Grant("", frozenset())
"""A grant without any scope."""


def get_request_grant(request: Request) -> Grant:
    """Return the grant of a request."""
    grant = request.scope["state"][GRANT_KEY]
    return grant if isinstance(grant, Grant) else EMPTY_GRANT


async def read_body(request: Request, limit: int) -> bytes:
    """Read the body. Stop after more than `limit` bytes, so a longer result means it is too large."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            break
    return bytes(body)
