"""What an issuer says on the web: little, soon, from where it was asked, and JSON; or it is not taken."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import httpx2
import msgspec

from handrail.shell.faults import NoIssuer

_SECONDS: Final = 5.0
_BYTES: Final = 256 * 1024
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_REPAIR: Final = "look whether the issuer is up and --issuer names it, and start again"


def is_loopback(url: str) -> bool:
    """Whether an URL is of this machine."""
    return urlsplit(url).hostname in _LOOPBACK


def is_web(url: str, *, whole: bool = False) -> bool:
    """Whether nobody else answers for this URL, and it hides nothing; one that is `whole` has no query."""
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0 and parts.username is None
    except ValueError:
        return False
    shown = url.isascii() and url.isprintable() and not set(url) & set(' "\\<>#')
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    return named and shown and safe and not (whole and "?" in url)


async def fetched(url: str) -> Mapping[str, Any] | None:
    """The JSON object at an URL; None if there is nothing. Nothing leads elsewhere, and nothing is unpacked.

    Raises `NoIssuer` if it cannot be had, or is something else.
    """
    try:
        with anyio.fail_after(_SECONDS):
            body = await _body(url)
    except TimeoutError:
        raise NoIssuer(f"{url} was not read within {_SECONDS:.0f} seconds", _REPAIR) from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise NoIssuer(f"{url} cannot be read: {error or type(error).__name__}", _REPAIR) from error
    if body is None:
        return None
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NoIssuer(f"what {url} says is no JSON object", _REPAIR) from error


async def _body(url: str) -> bytes | None:
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=_SECONDS, trust_env=not is_loopback(url)) as client,
        client.stream("GET", url, follow_redirects=False) as response,
    ):
        if response.status_code != 200:
            return None
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > _BYTES:
                raise NoIssuer(f"{url} says more than {_BYTES} bytes", _REPAIR)
        return bytes(body)
