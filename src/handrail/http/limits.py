"""Rate limits for HTTP calls, per principal and per address.

For each caller, one number is kept: the time at which all calls so far would be done at an even rate. The
memory is bounded. Times are passed in, as nanoseconds of a monotonic clock.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from msgspec import Struct
from starlette.types import Scope

from handrail.app.asgi import HttpRefusal
from handrail.runtime.system import read_environment_number

_RATE_VARIABLE: Final = "HANDRAIL_RATE"
_BURST_VARIABLE: Final = "HANDRAIL_BURST"
_MAX_RATE_SETTING: Final = 1_000_000
NANOSECONDS_PER_SECOND: Final = 1_000_000_000
NANOSECONDS_PER_MINUTE: Final = 60 * NANOSECONDS_PER_SECOND
# The most principals, the most addresses, and the most valid tokens that are remembered.
MAX_REMEMBERED: Final = 4096


class RateLimit(Struct, frozen=True):
    """The limit: `calls` a minute, of which `burst` may come at once."""

    calls: int = 1200
    burst: int = 1200

    @property
    def gap(self) -> int:
        """The time between two calls at an even rate, in nanoseconds."""
        return NANOSECONDS_PER_MINUTE // self.calls

    def wait(self, through: int, at: int) -> int:
        """Return how long a call at this time must wait; 0 if it is allowed now."""
        return max(0, max(through, at) + self.gap - at - self.burst * self.gap)

    def after_call(self, through: int, at: int) -> int:
        """Return the time at which all calls are done, including one more at this time."""
        return max(through, at) + self.gap


def read_rate_limit() -> RateLimit:
    """Read the limit of one principal: HANDRAIL_RATE calls a minute, HANDRAIL_BURST of them at once.

    Without HANDRAIL_BURST, the calls of a whole minute may come at once. Raises `Unreadable` if one of them
    is not a number.
    """
    calls = read_environment_number(_RATE_VARIABLE, "calls", _MAX_RATE_SETTING) or RateLimit().calls
    return RateLimit(calls, read_environment_number(_BURST_VARIABLE, "calls", _MAX_RATE_SETTING) or calls)


class RateLimiter:
    """Counts recent calls per caller; it remembers at most `most` callers, the latest ones."""

    def __init__(self, rate: RateLimit, most: int) -> None:
        self.rate, self._most = rate, most
        self._through: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of remembered callers."""
        return len(self._through)

    def count_call(self, who: str, at: int) -> int:
        """Count a call and return 0. If it is over the limit, don't count it and return the time to wait."""
        through = self._through.get(who, at)
        wait = self.rate.wait(through, at)
        if not wait:
            self._through[who] = self.rate.after_call(through, at)
            self._through.move_to_end(who)
            if len(self._through) > self._most:
                self._through.popitem(last=False)
        return wait

    def give_back(self, who: str) -> None:
        """Undo the count of one call."""
        if who in self._through:
            self._through[who] -= self.rate.gap


class CallLimits:
    """Limits calls: accepted ones count for their principal, rejected ones for their address.

    A token that was valid lately is checked again without counting for its address. So only their own calls
    slow a principal down, not those of others at the same address. `tick` returns the nanoseconds of a
    monotonic clock.
    """

    def __init__(
        self, rate: RateLimit, tick: Callable[[], int] = time.monotonic_ns, most: int = MAX_REMEMBERED
    ) -> None:
        self.callers, self.strangers = RateLimiter(rate, most), RateLimiter(rate, most)
        self._tick, self._most = tick, most
        self._valid_tokens: OrderedDict[int, None] = OrderedDict()

    def visit(self, peer: str, shown: str) -> "Visit | HttpRefusal":
        """Admit a request to the token check, or refuse it; this comes before any costly check.

        `shown` is its `Authorization` value.
        """
        mark = hash(shown)
        known = mark in self._valid_tokens
        return (None if known else self.stranger(peer)) or Visit(self, peer, mark, known)

    def stranger(self, peer: str) -> HttpRefusal | None:
        """Count a request of an unknown caller; return the refusal if it is over the limit."""
        wait = self.strangers.count_call(peer, self._tick())
        return _too_many_requests(wait, "too many requests from there were not let in") if wait else None

    def caller(self, principal: str) -> HttpRefusal | None:
        """Count a call of a principal; return the refusal if it is over the limit."""
        wait = self.callers.count_call(principal, self._tick())
        return _too_many_requests(wait, "you call too often") if wait else None

    def remember(self, mark: int) -> None:
        """Remember that this token is valid."""
        self._valid_tokens[mark] = None
        self._valid_tokens.move_to_end(mark)
        if len(self._valid_tokens) > self._most:
            self._valid_tokens.popitem(last=False)

    def forget(self, mark: int) -> None:
        """Forget a token that is no longer valid."""
        self._valid_tokens.pop(mark, None)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request whose token may be checked. If the token is not `known`, it was counted for its address."""

    limits: CallLimits
    peer: str
    mark: int
    known: bool

    def reject(self) -> None:
        """Note that the token is not valid; the request counts for its address."""
        self.limits.forget(self.mark)
        if self.known:
            self.limits.stranger(self.peer)

    def accept(self, principal: str) -> HttpRefusal | None:
        """Note that the token is valid: the request counts for its principal, no longer for its address.

        Return the refusal if the principal is over the limit.
        """
        self.limits.remember(self.mark)
        if not self.known:
            self.limits.strangers.give_back(self.peer)
        return self.limits.caller(principal)


def _too_many_requests(wait: int, why: str) -> HttpRefusal:
    seconds = -(-wait // NANOSECONDS_PER_SECOND)
    text = f"{why}: send the same request again in {seconds} s"
    return HttpRefusal(429, text, {"retry-after": str(seconds)})


def peer_of(scope: Scope) -> str:
    """Return the client's address; for IPv6 its /64 network, since one client has very many addresses."""
    host = str((scope.get("client") or ("",))[0])
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    return str(address.ipv4_mapped or ip_network((address.packed[:8] + bytes(8), 64)))
