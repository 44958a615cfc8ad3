"""How often is too often: for who has said who they are, and for addresses that keep failing to."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from starlette.types import Scope as Asked

from handrail.faces.web.refusal import Refusal
from handrail.shell.rates import SECOND, Rate, Rates

MOST: Final = 4096
"""Of how many principals, of how many addresses, and of how many good tokens anything is remembered."""


class Limits:
    """Counts calls: those of a principal as theirs, and those that are not let in as their address's.

    Whoever came in lately with a token is let through to have it looked at again. So a principal is held up
    by what they do themselves only, whoever else calls from their address. `tick` gives nanoseconds of a
    clock that never goes back.
    """

    def __init__(self, rate: Rate, tick: Callable[[], int] = time.monotonic_ns, most: int = MOST) -> None:
        self.callers, self.strangers = Rates(rate, most), Rates(rate, most)
        self._tick, self._most = tick, most
        self._good: OrderedDict[int, None] = OrderedDict()

    def visit(self, peer: str, shown: str) -> "Visit | Refusal":
        """A request from there that shows this, before anything is computed from what it shows."""
        mark = hash(shown)
        known = mark in self._good
        return (None if known else self.stranger(peer)) or Visit(self, peer, mark, known)

    def stranger(self, peer: str) -> Refusal | None:
        """Count a request of somebody unknown."""
        wait = self.strangers.call(peer, self._tick())
        return _held(wait, "too many requests from there were not let in") if wait else None

    def caller(self, principal: str) -> Refusal | None:
        """Count a call of a principal."""
        wait = self.callers.call(principal, self._tick())
        return _held(wait, "you call too often") if wait else None

    def remember(self, mark: int) -> None:
        """What was shown is good."""
        self._good[mark] = None
        self._good.move_to_end(mark)
        if len(self._good) > self._most:
            self._good.popitem(last=False)

    def forget(self, mark: int) -> None:
        """What was shown is not good any more."""
        self._good.pop(mark, None)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request that is let through to be looked at; if what it shows is not known, it was counted."""

    limits: Limits
    peer: str
    mark: int
    known: bool

    def failed(self) -> None:
        """What it shows is not good."""
        self.limits.forget(self.mark)
        if self.known:
            self.limits.stranger(self.peer)

    def entered(self, principal: str) -> Refusal | None:
        """What it shows is good, so that it is a call of this principal, and of nobody else."""
        self.limits.remember(self.mark)
        if not self.known:
            self.limits.strangers.give_back(self.peer)
        return self.limits.caller(principal)


def _held(wait: int, why: str) -> Refusal:
    seconds = -(-wait // SECOND)
    text = f"{why}: send the same request again in {seconds} s"
    return Refusal(429, text, {"retry-after": str(seconds)})


def peer_of(asked: Asked) -> str:
    """Where a request comes from: its address, or of IPv6 the network, for there one has very many."""
    host = str((asked.get("client") or ("",))[0])
    try:
        found = ip_address(host)
    except ValueError:
        return host
    if not isinstance(found, IPv6Address):
        return host
    return str(found.ipv4_mapped or ip_network((found.packed[:8] + bytes(8), 64)))
