"""Who holds a token may pass, once: tokens are issued here, and looked at here before anything is decided."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

import msgspec
from msgspec import Struct

from handrail.engine.lifecycle import RESUME
from handrail.engine.model import Authority, Event, Lifecycle, Refused, Run, Seen
from handrail.engine.options import outside
from handrail.shell.records import Stored, number_of
from handrail.shell.tokens import Claims, hashed, read, sign
from handrail.shell.world import World
from handrail.telemetry.entries import Entry, EntryKind

_encoder = msgspec.json.Encoder(order="deterministic")
_RULE = "step_token"
_NEEDED = {
    "malformed": "a step token as it was issued, unchanged",
    "forged": "a step token that this store issued for the run",
    "already_used": "the token of the last reply: this one was spent on another call",
    "superseded": "the token of the last reply",
    "expired": "the same call with the fresh token",
}
_LOST = "the token of the run as it stands here: this one is of a turn that the store does not have"


class Issued(Struct, frozen=True):
    """Fresh tokens by the number of their step, and what the store keeps of them."""

    tokens: Mapping[int, str]
    hashes: Mapping[int, str]


class Held(Struct, frozen=True):
    """The token is good, for the step of this number."""

    step: int


class Repeated(Struct, frozen=True):
    """The call was answered before: with this."""

    reply: bytes


class Stale(Struct, frozen=True):
    """The token does not pass. A token that is merely too old is replaced by a fresh one."""

    refused: Refused
    issued: Issued | None = None
    entries: tuple[Entry, ...] = ()


Checked: TypeAlias = Held | Repeated | Stale


def issue(world: World, run: Run, revision: int, at: datetime) -> Issued:
    """A fresh token for each open step of a running run; one for the run itself if it has no steps."""
    if run.lifecycle is not Lifecycle.RUNNING:
        return Issued({}, {})
    tokens, hashes = {}, {}
    for number in map(number_of, run.open) if run.open else (0,):
        token = sign(world.key, Claims(run.id, number, revision, at, world.ids.nonce()))
        tokens[number] = token
        if world.lifetime:
            hashes[number] = hashed(token)
    return Issued(tokens, hashes)


def not_running(run: Run) -> Refused:
    """Why a step of this run cannot be worked on: it rests, or it has ended."""
    seen = (Seen("run.lifecycle", str(run.lifecycle)),)
    return Refused("not_running", "lifecycle", seen, ("run.lifecycle = running",), outside(run))


def read_token(world: World, token: str) -> Claims | Refused:
    """What an authentic token says, whatever else is wrong with it: above all, which run it is for."""
    claims = read(world.key, token)
    return _refused(claims) if isinstance(claims, str) else claims


def request_of(event: Event) -> str:
    """The hash of what a call asks, so that a repeated call is told from another one.

    What could not even be kept has none: it is refused, or nobody looks at it.
    """
    try:
        asked = _encoder.encode([event.trigger, event.payload, event.note, event.by])
    except (UnicodeEncodeError, RecursionError, TypeError):
        return ""
    return hashlib.sha256(asked).hexdigest()


def at_step(event: Event, step: int) -> Event:
    """The event, for the step of this number; 0 leaves it as it is."""
    return Event(event.trigger, event.payload, event.by, event.note, step) if step else event


def check(world: World, stored: Stored, token: str, event: Event, known: Claims | None = None) -> Checked:
    """Whether the token passes: what is wrong with it is looked for in a fixed order.

    `known` is what the token says, if the caller has read it to find the run.

    Malformed, forged, spent (the recorded reply, or already used), not running, superseded, expired. A paused
    run has no token that is good; so any that was issued for it resumes it.
    """
    claims = known or read_token(world, token)
    if isinstance(claims, Refused):
        return Stale(claims)
    if claims.run != stored.run.id:
        return _stale("forged")
    resumed = _resuming(world, stored, token, event) if event.trigger == RESUME else None
    return resumed or _answered(world, stored, claims, token, event) or _passing(world, stored, claims, token)


def _resuming(world: World, stored: Stored, token: str, event: Event) -> Checked | None:
    """The token names a run to resume, whatever became of it: only the very last turn is not taken twice."""
    spent = world.runs.spent(stored.run.id, stored.revision - 1)
    if spent is not None and (spent.token, spent.request) == (hashed(token), request_of(event)):
        return Repeated(spent.reply)
    return Held(0) if stored.run.lifecycle is Lifecycle.PAUSED else None


def _answered(world: World, stored: Stored, claims: Claims, token: str, event: Event) -> Checked | None:
    """What came of the token before, if it was spent and that is still remembered."""
    spent = world.runs.spent(claims.run, claims.revision) if claims.revision != stored.revision else None
    if spent is None or spent.token != hashed(token):
        return None
    return Repeated(spent.reply) if spent.request == request_of(event) else _stale("already_used")


def _passing(world: World, stored: Stored, claims: Claims, token: str) -> Checked:
    if stored.run.lifecycle is not Lifecycle.RUNNING and not _begins(stored):
        return Stale(not_running(stored.run))
    if not _current(world, stored, claims, token):
        return _stale("superseded", _LOST if claims.revision > stored.revision else "")
    at = world.clock.now()
    if world.lifetime is not None and at - claims.issued > world.lifetime:
        return _expired(world, stored, claims, at)
    return Held(claims.step)


def _begins(stored: Stored) -> bool:
    """True of a run that begins with its first event: whoever looked at it before has a token for that."""
    return stored.run.lifecycle is Lifecycle.IDLE and stored.origin.authority is not Authority.SQL


def _current(world: World, stored: Stored, claims: Claims, token: str) -> bool:
    if world.lifetime is None:
        return claims.revision == stored.revision
    return stored.tokens.get(claims.step) == hashed(token)


def _expired(world: World, stored: Stored, claims: Claims, at: datetime) -> Stale:
    """A fresh token for this step; those of other steps stay as they are."""
    fresh = sign(world.key, Claims(claims.run, claims.step, stored.revision, at, world.ids.nonce()))
    issued = Issued({claims.step: fresh}, {**stored.tokens, claims.step: hashed(fresh)})
    state = next((step.state for step in stored.run.open if step.number == claims.step), "")
    entries = (Entry(EntryKind.TOKEN_EXPIRED, state), Entry(EntryKind.TOKEN_GENERATED, state))
    return Stale(_refused("expired"), issued, entries)


def _stale(code: str, needed: str = "") -> Stale:
    return Stale(_refused(code, needed))


def _refused(code: str, needed: str = "") -> Refused:
    return Refused(code, _RULE, (Seen(_RULE, code),), (needed or _NEEDED[code],))
