"""Find links to Jira and Confluence pages in a text, and tell which ones have not been handed on yet.

A link is recognised by its form alone; nothing is fetched. Links count everywhere, in code and comments too,
and are returned as written. Only Markdown escapes and `&amp;` are decoded.

On Atlassian's own sites, and on hosts with the product's name in theirs, every page but the first counts. On
other hosts the path must be one that the products use. A link with a user name or a password does not count,
nor does one that is too long or damaged.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Final
from unicodedata import category

MAX_LINK_LENGTH: Final = 2_000

# The maximum number of bytes, line ends included, of the lines that are handed on at once.
MAX_LINK_LIST_BYTES: Final = 32_768
_START: Final = re.compile(r"(?<![A-Za-z0-9+])https?://", re.IGNORECASE)

# A link after one of these characters is part of another link.
_INNER_LINK_PREFIXES: Final = frozenset("=/")

_PIECE: Final = re.compile(
    r"[A-Za-z0-9._~:/?#@!$'*+,;=%-]++|[()]|\\[_*~&#+.!()-]"
    r"|&(?!(?:quot|apos|lt|gt|nbsp|#[0-9A-Za-z]{1,6});)|[^\x00-\x7f]"
)

_ESCAPE: Final = re.compile(r"\\(.)")
_TRAILING: Final = ".,:;!?'*_~&("
_ENCLOSURES: Final = (("<", ">"), ("](", ")"), ('"', '"'))
_DAMAGED: Final = re.compile(r"[\ufffd\ud800-\udfff]")
_BOM: Final = "\ufeff"
_HOST: Final = re.compile(r"((?:[\w-]{1,63}\.){0,20}[\w-]{1,63})(?::[0-9]{1,5})?")
_CLOUD_DOMAINS: Final = (".atlassian.net", ".atlassian-us-gov-mod.net", ".jira.com")
_PRODUCTS: Final = frozenset({"jira", "confluence"})

_PRODUCT_PATH: Final = re.compile(
    r"""
    (?:jira|confluence)/.+
    | ex/(?:jira|confluence)/.+
    | wiki/x/.+
    | (?:[\w.~-]{1,64}/)?
      (?: browse/[a-z][a-z0-9_]{0,63}-[0-9]{1,12}(?:[/?].*)?
        | projects/[a-z][a-z0-9_]{0,63}/issues/[a-z][a-z0-9_]{0,63}-[0-9]{1,12}(?:[/?].*)?
        | issues/?\?(?:.*&)?(?:jql|filter)=.+
        | secure/[a-z!]{1,64}\.jspa(?:\?.*)?
        | servicedesk/customer/portal/[0-9]{1,12}(?:[/?].*)?
        | display/~?[\w.-]{1,255}(?:[/?].*)?
        | pages/[a-z-]{1,64}\.action(?:\?.*)?
        | spaces/~?[\w.-]{1,255}/pages/[0-9]{1,20}(?:[/?].*)?
      )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def find_links(text: str) -> tuple[str, ...]:
    """Return the links in a text without duplicates, in order of first appearance."""
    return tuple(dict.fromkeys(link for link in _find_candidates(text) if _is_wanted_link(link)))


def make_link_id(link: str) -> str:
    """Return the file name for a link. It depends only on the link and is safe on every system."""
    return hashlib.sha256(link.encode()).hexdigest()[:16]


def format_link_line(link: str) -> str:
    """Return the line that hands on a link: the link and its file name."""
    return f"{link} → {make_link_id(link)}"


def find_new_links(text: str, refs: str) -> tuple[str, ...]:
    """Return the links in a text that are not in `refs` yet, a list with one link per line."""
    known = frozenset(line.strip() for line in refs.removeprefix(_BOM).split("\n"))
    return tuple(link for link in find_links(text) if link not in known)


def limit_links(links: Sequence[str]) -> tuple[str, ...]:
    """Return the first links, as many as may be handed on at once."""
    room, count = MAX_LINK_LIST_BYTES, 0
    for link in links:
        room -= len(f"{format_link_line(link)}\n".encode())
        if room < 0:
            break
        count += 1
    return tuple(links[:count])


def _find_candidates(text: str) -> Iterator[str]:
    """Yield everything that may be a link, in one pass over the text.

    A link ends where the next one begins, unless that one is part of it, such as a value in its query.
    """
    starts = [start.start() for start in _START.finditer(text)]
    limits: dict[int, int] = {}
    limit = len(text)
    for start in reversed(starts):
        limits[start] = limit
        if text[start - 1 : start] not in _INNER_LINK_PREFIXES:
            limit = start
    end = 0
    for start in starts:
        if start >= end:
            end = _find_end(text, start, limits[start])
            link = _ESCAPE.sub(r"\1", text[start:end]).replace("&amp;", "&")
            # A dot at the end of a link belongs to it if quotes or brackets delimit the link.
            after = text[end : end + 1]
            enclosed = any(
                after == closed and text.endswith(opened, 0, start) for opened, closed in _ENCLOSURES
            )
            yield link if enclosed else link.rstrip(_TRAILING)


def _find_end(text: str, start: int, limit: int) -> int:
    """Return where a link ends: at a character it cannot have, or at a bracket that was opened before it."""
    end, depth = start, 0
    while piece := _PIECE.match(text, end, limit):
        sign = piece[0]
        depth += (sign == "(") - (sign == ")")
        if depth < 0 or not (sign.isascii() or _DAMAGED.match(sign) or category(sign)[0] in "LMN"):
            break
        end = piece.end()
    return end


def _is_wanted_link(link: str) -> bool:
    if len(link) > MAX_LINK_LENGTH or _DAMAGED.search(link):
        return False
    place, _, query = link.partition("://")[2].partition("#")[0].partition("?")
    authority, _, path = place.partition("/")
    match = _HOST.fullmatch(authority)
    if not match or not (path or query):
        return False
    host = match[1].lower()
    own = host.split(".")[:-1] or [host]
    if host.endswith(_CLOUD_DOMAINS) or any(_PRODUCTS & set(label.split("-")) for label in own):
        return True
    return _PRODUCT_PATH.fullmatch(f"{path}?{query}" if query else path) is not None
