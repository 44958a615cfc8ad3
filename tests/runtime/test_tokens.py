"""Step tokens: what is signed is read, and nothing else is."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.engine.refusals import RefusalCode
from handrail.runtime.tokens import (
    _NEEDED_BY_CODE,
    TOKEN_REFUSAL_CODES,
    TokenClaims,
    decode_token,
    hash_token,
    sign_token,
)
from helpers.requirement import requirement
from helpers.turns import KEY, NOW

RUN = "6b1c0b52-6d9c-4cf1-8a9b-0c5b8e8f0a01"
CLAIMS = TokenClaims(RUN, 3, 7, NOW, b"nonce!")
TOKEN = sign_token(KEY, CLAIMS)
SLASHED = sign_token(KEY, TokenClaims("fbefbeff-ffff-4fff-8fff-ffffffffffff", 3, 7, NOW, b"nonce!"))


def test_a_token_is_short_and_fit_for_any_url() -> None:
    assert len(TOKEN) == 72
    assert TOKEN.replace("-", "").replace("_", "").isalnum()


@requirement("steps:token.form")
@given(
    run=st.uuids(),
    step=st.integers(0, 2**32 - 1),
    revision=st.integers(0, 2**32 - 1),
    after=st.timedeltas(timedelta(0), timedelta(days=300_000)),
    nonce=st.binary(min_size=6, max_size=6),
)
def test_a_token_says_what_was_signed(
    run: object, step: int, revision: int, after: timedelta, nonce: bytes
) -> None:
    issued = datetime(1970, 1, 1, tzinfo=UTC) + after
    issued = issued.replace(microsecond=issued.microsecond // 1000 * 1000)
    claims = TokenClaims(str(run), step, revision, issued, nonce)

    assert decode_token(KEY, sign_token(KEY, claims)) == claims


@pytest.mark.parametrize("run", ["", "6b1c0b52", f"{RUN}00", "no-name"])
def test_a_run_id_that_is_not_a_uuid_gets_no_token(run: str) -> None:
    with pytest.raises(ValueError, match=r"is no UUID|hexadecimal"):
        sign_token(KEY, TokenClaims(run, 3, 7, NOW, b"nonce!"))


@given(st.binary(max_size=64))
def test_a_token_is_sealed_with_hmac_sha_256(key: bytes) -> None:
    data = urlsafe_b64decode(sign_token(key, CLAIMS))
    assert data[38:] == hmac.digest(key, data[:38], "sha256")[:16]


@requirement("steps:token.form")
@given(st.integers(0, 54 * 8 - 1))
def test_a_token_with_any_bit_flipped_is_forged(bit: int) -> None:
    data = bytearray(urlsafe_b64decode(TOKEN))
    data[bit // 8] ^= 1 << bit % 8

    assert decode_token(KEY, urlsafe_b64encode(data).decode()) == "forged"


@pytest.mark.parametrize("change", ["run", "step", "revision", "issued", "nonce", "key"])
def test_tokens_with_different_claims_differ(change: str) -> None:
    others = {
        "run": sign_token(KEY, TokenClaims(RUN.replace("6b", "7b"), 3, 7, NOW, b"nonce!")),
        "step": sign_token(KEY, TokenClaims(RUN, 4, 7, NOW, b"nonce!")),
        "revision": sign_token(KEY, TokenClaims(RUN, 3, 8, NOW, b"nonce!")),
        "issued": sign_token(KEY, TokenClaims(RUN, 3, 7, NOW + timedelta(milliseconds=1), b"nonce!")),
        "nonce": sign_token(KEY, TokenClaims(RUN, 3, 7, NOW, b"nonce?")),
        "key": sign_token(bytes(32), CLAIMS),
    }

    assert others[change] != TOKEN
    assert hash_token(others[change]) != hash_token(TOKEN)
    assert (decode_token(KEY, others[change]) == "forged") is (change == "key")


@given(st.text() | st.text(alphabet="AZaz09-_=+/ \n", min_size=70, max_size=74))
def test_no_text_is_read_as_a_token_and_none_raises(text: str) -> None:
    assert decode_token(KEY, text) in {"malformed", "forged"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\ud800" * 72,
        "é" * 72,
        "\0" * 72,
        TOKEN[:-1],
        TOKEN + "A",
        TOKEN + "=",
        f" {TOKEN}",
        f"{TOKEN}\n",
        TOKEN[:-1] + "+",
        TOKEN[:-1] + "=",
        "=" + TOKEN[1:],
        TOKEN[:-2] + "==",
        SLASHED.replace("_", "/"),
        SLASHED.replace("-", "+"),
        TOKEN.replace(TOKEN[5], "\u0661", 1),
    ],
)
def test_what_is_not_written_like_a_token_is_malformed(text: str) -> None:
    assert decode_token(KEY, text) == "malformed"


@requirement("steps:token.form")
def test_a_store_keeps_a_hash_that_does_not_give_the_token_away() -> None:
    assert len(hash_token(TOKEN)) == 64
    assert TOKEN[:8] not in hash_token(TOKEN)
    assert hash_token("\ud800") != hash_token("?")


def test_every_way_a_token_fails_is_explained_and_says_what_is_needed() -> None:
    assert (
        set(TOKEN_REFUSAL_CODES)
        == set(_NEEDED_BY_CODE)
        == {
            RefusalCode.MALFORMED,
            RefusalCode.FORGED,
            RefusalCode.ALREADY_USED,
            RefusalCode.SUPERSEDED,
            RefusalCode.EXPIRED,
        }
    )
