"""Issue step tokens and validate the one a call carries.

A token is signed and short. It binds a run, a step, a revision, the time of issue and a nonce. A call with a
valid token may move its run once; a repeated call gets the reply recorded for it. A token is valid at the
revision it was issued at; where the store keeps token hashes, only the last one issued is valid.

Start at `check_token` and `issue_tokens`.
"""

import hashlib
import hmac
import struct
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from handrail.engine.decide import find_lifecycle_options
from handrail.engine.lifecycle import RESUME
from handrail.engine.model import Authority, Event, FactReading, Lifecycle, Refused, Run
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.records import StoredRun, get_step_number
from handrail.runtime.system import read_environment_seconds
from handrail.runtime.world import World

_LIFETIME_VARIABLE: Final = "HANDRAIL_TOKEN_TTL"


def read_token_lifetime() -> timedelta:
    """Return how long a step token is valid: the seconds in HANDRAIL_TOKEN_TTL, or ten minutes.

    Raises `Unreadable` if the variable is not a whole number above zero.
    """
    return read_environment_seconds(_LIFETIME_VARIABLE, timedelta(minutes=10))


TOKEN_REFUSAL_CODES: Final[Mapping[RefusalCode, str]] = {
    RefusalCode.MALFORMED: "the step token is no token at all",
    RefusalCode.FORGED: "the step token was not issued by this store",
    RefusalCode.ALREADY_USED: "the step token was spent on another call",
    RefusalCode.SUPERSEDED: (
        "another step token is good now: a newer one, or that of a backup that was put back"
    ),
    RefusalCode.EXPIRED: "the step token is too old; the fresh one in the answer is good",
}
"""Codes of refusals about a token. The engine defines `not_running`."""

_TOKEN_RULE = "step_token"  # noqa: S105 - the name of a rule

_NEEDED_BY_CODE: Final[Mapping[RefusalCode, str]] = {
    RefusalCode.MALFORMED: "a step token as it was issued, unchanged",
    RefusalCode.FORGED: "a step token that this store issued for the run",
    RefusalCode.ALREADY_USED: "the token of the last reply: this one was spent on another call",
    RefusalCode.SUPERSEDED: "the token of the last reply",
    RefusalCode.EXPIRED: "the same call with the fresh token",
}

_UNKNOWN_TURN = "the token of the run as it stands here: this one is of a turn that the store does not have"
_TOKEN_BODY = struct.Struct(">16sIIQ6s")
_SIGNATURE_BYTES = 16

_TOKEN_CHARACTERS = (_TOKEN_BODY.size + _SIGNATURE_BYTES) * 4 // 3
"""The length of a token. It is whole groups of four characters, so base64 needs no padding or spare bits.

A character outside the alphabet therefore makes the decoded token too short.
"""

_RUN_ID_BYTES = 16
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_request_encoder = msgspec.json.Encoder(order="deterministic")


class TokenClaims(Struct, frozen=True):
    """The content of a token."""

    run: str
    step: int
    revision: int
    issued: datetime
    nonce: bytes


def sign_token(key: bytes, claims: TokenClaims) -> str:
    """Encode and sign these claims. Raises `ValueError` if the run id is not a UUID."""
    issued = (claims.issued - _EPOCH) // _MILLISECOND
    run = bytes.fromhex(claims.run.replace("-", ""))
    if len(run) != _RUN_ID_BYTES:
        raise ValueError(f"{claims.run} is no UUID")
    body = _TOKEN_BODY.pack(run, claims.step, claims.revision, issued, claims.nonce)
    text = b2a_base64(body + _sign_body(key, body), newline=False).decode("ascii")
    return text.replace("+", "-").replace("/", "_")


def decode_token(key: bytes, token: str) -> TokenClaims | RefusalCode:
    """Return the claims of a token, or a refusal code: `malformed` or `forged`."""
    data = _decode_base64(token)
    if len(data) != _TOKEN_BODY.size + _SIGNATURE_BYTES:
        return RefusalCode.MALFORMED
    body, seal = data[: _TOKEN_BODY.size], data[_TOKEN_BODY.size :]
    if not hmac.compare_digest(seal, _sign_body(key, body)):
        return RefusalCode.FORGED
    run, step, revision, issued, nonce = _TOKEN_BODY.unpack(body)
    name = run.hex()
    run_id = f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}"
    return TokenClaims(run_id, step, revision, _EPOCH + issued * _MILLISECOND, nonce)


def _decode_base64(token: str) -> bytes:
    """Decode a token; empty if it is not spelled as one. Each token has exactly one spelling."""
    if len(token) != _TOKEN_CHARACTERS or not token.isascii() or "+" in token or "/" in token:
        return b""
    try:
        return a2b_base64(token.replace("-", "+").replace("_", "/"))
    except Error:
        return b""


def _sign_body(key: bytes, body: bytes) -> bytes:
    seal = _keyed_hmac(key).copy()
    seal.update(body)
    return seal.digest()[:_SIGNATURE_BYTES]


@lru_cache(maxsize=8)
def _keyed_hmac(key: bytes) -> hmac.HMAC:
    """Return an HMAC that has seen only the key.

    Cached, because each digest computed from the start lets other threads go first.
    """
    return hmac.new(key, digestmod="sha256")


def hash_token(token: str) -> str:
    """Return the hash under which stores keep a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def hash_request(event: Event) -> str:
    """Return a hash of the event, to tell a repeated call from a different one.

    Empty for an event that cannot be encoded: such a call is refused, or its hash is never compared.
    """
    try:
        encoded = _request_encoder.encode([event.trigger, event.payload, event.note, event.by])
    except (UnicodeEncodeError, RecursionError, TypeError):
        return ""
    return hashlib.sha256(encoded).hexdigest()


class IssuedTokens(Struct, frozen=True):
    """New tokens by step number, and their hashes for the store."""

    tokens: Mapping[int, str]
    hashes: Mapping[int, str]


class ValidToken(Struct, frozen=True):
    """The token is valid for the step with this number."""

    step: int


class RecordedReply(Struct, frozen=True):
    """The call was answered before; this is the recorded reply."""

    reply: bytes


class RejectedToken(Struct, frozen=True):
    """The token is refused. `issued` replaces a token that has merely expired."""

    refused: Refused
    issued: IssuedTokens | None = None
    entries: tuple[Entry, ...] = ()


TokenCheck: TypeAlias = ValidToken | RecordedReply | RejectedToken
"""The result of `check_token`."""


def issue_tokens(world: World, run: Run, revision: int, at: datetime) -> IssuedTokens:
    """Issue a token for each open step of a running run; one for step 0 if no step is open.

    A run that is not running gets none.
    """
    if run.lifecycle is not Lifecycle.RUNNING:
        return IssuedTokens({}, {})
    tokens, hashes = {}, {}
    for number in map(get_step_number, run.open) if run.open else (0,):
        token = sign_token(world.key, TokenClaims(run.id, number, revision, at, world.ids.nonce()))
        tokens[number] = token
        if world.lifetime:
            hashes[number] = hash_token(token)
    return IssuedTokens(tokens, hashes)


def refuse_not_running(run: Run) -> Refused:
    """Refuse work on a step because the run is not running: it is paused, idle, or has ended."""
    seen = (FactReading("run.lifecycle", str(run.lifecycle)),)
    return Refused(
        RefusalCode.NOT_RUNNING, "lifecycle", seen, ("run.lifecycle = running",), find_lifecycle_options(run)
    )


def read_token(world: World, token: str) -> TokenClaims | Refused:
    """Decode a token to find its run. Checks only that it is authentic; refuses it otherwise."""
    claims = decode_token(world.key, token)
    return _token_refusal(claims) if isinstance(claims, RefusalCode) else claims


def bind_event_to_step(event: Event, step: int) -> Event:
    """Return the event bound to the step with this number; 0 leaves it unbound."""
    return Event(event.trigger, event.payload, event.by, event.note, step) if step else event


def check_token(
    world: World, stored: StoredRun, token: str, event: Event, known: TokenClaims | None = None
) -> TokenCheck:
    """Check the token of a call. `known` is the decoded token, if the caller already decoded it.

    The checks have a fixed order: malformed, forged, spent (recorded reply, or already used), not running,
    superseded, expired. A paused run has no valid token, so any token issued for it can resume it.
    """
    claims = known or read_token(world, token)
    if isinstance(claims, Refused):
        return RejectedToken(claims)
    if claims.run != stored.run.id:
        return _reject_token(RefusalCode.FORGED)
    resumed = _check_resume(world, stored, token, event) if event.trigger == RESUME else None
    return (
        resumed
        or _check_spent(world, stored, claims, token, event)
        or _check_unspent(world, stored, claims, token)
    )


def _check_resume(world: World, stored: StoredRun, token: str, event: Event) -> TokenCheck | None:
    """Accept any token of a paused run to resume it; repeat the reply if the last turn was this same call.

    None if neither applies.
    """
    spent = world.runs.find_recorded_call(stored.run.id, stored.revision - 1)
    if spent is not None and (spent.token, spent.request) == (hash_token(token), hash_request(event)):
        return RecordedReply(spent.reply)
    return ValidToken(0) if stored.run.lifecycle is Lifecycle.PAUSED else None


def _check_spent(
    world: World, stored: StoredRun, claims: TokenClaims, token: str, event: Event
) -> TokenCheck | None:
    """Return the recorded reply, or `already_used`, if the token was spent; None if no record is kept."""
    spent = (
        world.runs.find_recorded_call(claims.run, claims.revision)
        if claims.revision != stored.revision
        else None
    )
    if spent is None or spent.token != hash_token(token):
        return None
    return (
        RecordedReply(spent.reply)
        if spent.request == hash_request(event)
        else _reject_token(RefusalCode.ALREADY_USED)
    )


def _check_unspent(world: World, stored: StoredRun, claims: TokenClaims, token: str) -> TokenCheck:
    if stored.run.lifecycle is not Lifecycle.RUNNING and not _begins_with_first_event(stored):
        return RejectedToken(refuse_not_running(stored.run))
    if not _is_current(world, stored, claims, token):
        return _reject_token(
            RefusalCode.SUPERSEDED, _UNKNOWN_TURN if claims.revision > stored.revision else ""
        )
    at = world.clock.now()
    if world.lifetime is not None and at - claims.issued > world.lifetime:
        return _replace_expired(world, stored, claims, at)
    return ValidToken(claims.step)


def _begins_with_first_event(stored: StoredRun) -> bool:
    """True if the run starts with its first event: a caller who read it before has a token for that."""
    return stored.run.lifecycle is Lifecycle.IDLE and stored.origin.authority is not Authority.SQL


def _is_current(world: World, stored: StoredRun, claims: TokenClaims, token: str) -> bool:
    if world.lifetime is None:
        return claims.revision == stored.revision
    return stored.tokens.get(claims.step) == hash_token(token)


def _replace_expired(world: World, stored: StoredRun, claims: TokenClaims, at: datetime) -> RejectedToken:
    """Reject the expired token and issue a new one for its step. Tokens of other steps stay valid."""
    fresh = sign_token(
        world.key, TokenClaims(claims.run, claims.step, stored.revision, at, world.ids.nonce())
    )
    issued = IssuedTokens({claims.step: fresh}, {**stored.tokens, claims.step: hash_token(fresh)})
    state = next((step.state for step in stored.run.open if step.number == claims.step), "")
    entries = (Entry(EntryKind.TOKEN_EXPIRED, state), Entry(EntryKind.TOKEN_GENERATED, state))
    return RejectedToken(_token_refusal(RefusalCode.EXPIRED), issued, entries)


def _reject_token(code: RefusalCode, needed: str = "") -> RejectedToken:
    return RejectedToken(_token_refusal(code, needed))


def _token_refusal(code: RefusalCode, needed: str = "") -> Refused:
    return Refused(
        code, _TOKEN_RULE, (FactReading(_TOKEN_RULE, str(code)),), (needed or _NEEDED_BY_CODE[code],)
    )
