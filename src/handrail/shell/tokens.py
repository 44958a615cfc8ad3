"""Step tokens: what a caller holds instead of a revision. Signed, single-use, and short.

A token binds a run, a step, a revision, the time it was issued and a nonce. It is good for the revision it
was issued at; a store that keeps hashes lets only the last one issued pass.
"""

import hashlib
import hmac
import struct
from binascii import Error, a2b_base64, b2a_base64
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from msgspec import Struct

CODES = {
    "malformed": "the step token is no token at all",
    "forged": "the step token was not issued by this store",
    "already_used": "the step token was spent on another call",
    "superseded": "another step token is good now: a newer one, or that of a backup that was put back",
    "expired": "the step token is too old; the fresh one in the answer is good",
}
"""Every code of a refusal that is about a token; `not_running` is the engine's."""

_BODY = struct.Struct(">16sIIQ6s")
_SIGN = 16
_LENGTH = (_BODY.size + _SIGN) * 4 // 3
"""Whole groups of four characters: nothing is padded, no bit is spare, and any other character is missed."""

_RUN = 16
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Claims(Struct, frozen=True):
    """What a token says."""

    run: str
    step: int
    revision: int
    issued: datetime
    nonce: bytes


def sign(key: bytes, claims: Claims) -> str:
    """The token that says this."""
    issued = (claims.issued - _EPOCH) // _MILLISECOND
    run = bytes.fromhex(claims.run.replace("-", ""))
    if len(run) != _RUN:
        raise ValueError(f"{claims.run} is no UUID")
    body = _BODY.pack(run, claims.step, claims.revision, issued, claims.nonce)
    text = b2a_base64(body + _seal(key, body), newline=False).decode("ascii")
    return text.replace("+", "-").replace("/", "_")


def read(key: bytes, token: str) -> Claims | str:
    """What the token says, or the code of why it says nothing: `malformed` or `forged`."""
    data = _decoded(token)
    if len(data) != _BODY.size + _SIGN:
        return "malformed"
    body, seal = data[: _BODY.size], data[_BODY.size :]
    if not hmac.compare_digest(seal, _seal(key, body)):
        return "forged"
    run, step, revision, issued, nonce = _BODY.unpack(body)
    name = run.hex()
    run_id = f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}"
    return Claims(run_id, step, revision, _EPOCH + issued * _MILLISECOND, nonce)


def hashed(token: str) -> str:
    """What a store keeps of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _decoded(token: str) -> bytes:
    """The bytes of a token, or none if it is not written as one: one token has one spelling."""
    if len(token) != _LENGTH or not token.isascii() or "+" in token or "/" in token:
        return b""
    try:
        return a2b_base64(token.replace("-", "+").replace("_", "/"))
    except Error:
        return b""


def _seal(key: bytes, body: bytes) -> bytes:
    seal = _keyed(key).copy()
    seal.update(body)
    return seal.digest()[:_SIGN]


@lru_cache(maxsize=8)
def _keyed(key: bytes) -> hmac.HMAC:
    """What has seen only the key: made once, since each digest from the start lets other threads go first."""
    return hmac.new(key, digestmod="sha256")
