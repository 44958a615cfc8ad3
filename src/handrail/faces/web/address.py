"""Where a server listens, and what stands before it."""

import re
from dataclasses import dataclass
from typing import Final

from handrail.shell.faults import NoAddress

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_HOST: Final = re.compile(
    r"(?:[\w-]{1,63}\.)*[\w-]{1,63}|(?=.*:)[\da-f:.]{2,45}(?:%[\w-]{1,32})?", re.ASCII | re.IGNORECASE
)
_PORT: Final = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class Before:
    """What requests come through: more names, with their ports, by which they may call the server.

    What they say about where they come from is believed if it is one of the `proxies` that says it, by its
    address or network. Without names and proxies nothing is believed; otherwise a proxy may be on this
    machine too.
    """

    names: frozenset[str] = frozenset()
    proxies: frozenset[str] = frozenset()

    @property
    def is_there(self) -> bool:
        """Whether requests may come through a proxy."""
        return bool(self.names or self.proxies)

    @property
    def believed(self) -> list[str]:
        """The addresses and networks of all proxies."""
        return ["127.0.0.1", "::1", *sorted(self.proxies)]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens; port 0 is any that is free."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine reach it."""
        return self._host in LOOPBACK

    @property
    def is_anywhere(self) -> bool:
        """Whether it is every address of this machine."""
        return self.host in {"0.0.0.0", "::"}  # noqa: S104 - only compared with

    def __str__(self) -> str:
        """As it stands in an URL."""
        return f"{self._host}:{self.port}"

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def address(given: str) -> Address:
    """What `HOST:PORT` names. Raises `NoAddress` if it names nothing."""
    host, found, port = given.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (found and _HOST.fullmatch(host) and _PORT.fullmatch(port) and int(port) < 65536):
        raise NoAddress(f"`{given}` is no address", "write HOST:PORT, such as 127.0.0.1:8765")
    return Address(host, int(port))
