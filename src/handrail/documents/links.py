"""Links to issues and pages of Jira and Confluence in a text, and the list of those handed on before.

A link is known by its form alone; nothing is ever fetched. It counts wherever it stands, in code and comments
too, and is given as it is written: only the escapes of Markdown and `&amp;` are read as what they stand for.

On a site of Atlassian's, and on a host that has the product's name in its own, every page counts but the
first; elsewhere the path must be one that the products make. A link with a name or a password before its host
is none, and neither is one that is too long or damaged.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Final
from unicodedata import category

LONGEST: Final = 2_000
"""How many characters a link may have."""

MOST: Final = 32_768
"""How many bytes the lines may have together that links are handed on in at once, with their ends."""

_START: Final = re.compile(r"(?<![A-Za-z0-9+])https?://", re.IGNORECASE)
_WITHIN: Final = frozenset("=/")
"""What a link stands behind that is a part of another."""

_PIECE: Final = re.compile(
    r"[A-Za-z0-9._~:/?#@!$'*+,;=%-]++|[()]|\\[_*~&#+.!()-]"
    r"|&(?!(?:quot|apos|lt|gt|nbsp|#[0-9A-Za-z]{1,6});)|[^\x00-\x7f]"
)
_ESCAPE: Final = re.compile(r"\\(.)")
_TRAILING: Final = ".,:;!?'*_~&("
_AROUND: Final = (("<", ">"), ("](", ")"), ('"', '"'))
_DAMAGED: Final = re.compile(r"[\ufffd\ud800-\udfff]")
_MARK: Final = "\ufeff"

_HOST: Final = re.compile(r"((?:[\w-]{1,63}\.){0,20}[\w-]{1,63})(?::[0-9]{1,5})?")
_CLOUD: Final = (".atlassian.net", ".atlassian-us-gov-mod.net", ".jira.com")
_PRODUCTS: Final = frozenset({"jira", "confluence"})
_FORM: Final = re.compile(
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


def found(text: str) -> tuple[str, ...]:
    """The links in a text, each once, in the order in which they first stand there."""
    return tuple(dict.fromkeys(link for link in _runs(text) if _is_wanted(link)))


def safe_id(link: str) -> str:
    """The name of the file that is kept for a link: it depends on the link alone and is safe everywhere."""
    return hashlib.sha256(link.encode()).hexdigest()[:16]


def line(link: str) -> str:
    """The line in which a link is handed on: with the name of its file."""
    return f"{link} → {safe_id(link)}"


def fresh(text: str, refs: str) -> tuple[str, ...]:
    """The links in a text that are not in the list yet."""
    known = _known(refs)
    return tuple(link for link in found(text) if link not in known)


def handed(links: Sequence[str]) -> tuple[str, ...]:
    """As many of the links, from the first on, as are handed on at once."""
    room, taken = MOST, 0
    for link in links:
        room -= len(f"{line(link)}\n".encode())
        if room < 0:
            break
        taken += 1
    return tuple(links[:taken])


def _known(refs: str) -> frozenset[str]:
    """The links of a list: a line is one, with or without blanks around it."""
    return frozenset(line.strip() for line in refs.removeprefix(_MARK).split("\n"))


def _runs(text: str) -> Iterator[str]:
    """What may be a link; no character is looked at twice.

    One ends where the next begins, unless that is a part of it, such as a value of its query.
    """
    starts = [start.start() for start in _START.finditer(text)]
    limits: dict[int, int] = {}
    limit = len(text)
    for start in reversed(starts):
        limits[start] = limit
        if text[start - 1 : start] not in _WITHIN:
            limit = start
    end = 0
    for start in starts:
        if start >= end:
            end = _end(text, start, limits[start])
            link = _ESCAPE.sub(r"\1", text[start:end]).replace("&amp;", "&")
            yield link if _is_enclosed(text, start, end) else link.rstrip(_TRAILING)


def _end(text: str, start: int, limit: int) -> int:
    """Where a link ends: at what none can have, or at a bracket that closes what was open before it."""
    end, depth = start, 0
    while piece := _PIECE.match(text, end, limit):
        sign = piece[0]
        depth += (sign == "(") - (sign == ")")
        if depth < 0 or not (sign.isascii() or _DAMAGED.match(sign) or category(sign)[0] in "LMN"):
            break
        end = piece.end()
    return end


def _is_enclosed(text: str, start: int, end: int) -> bool:
    """Whether signs say where the link begins and ends, so that a dot at its end is its own."""
    after = text[end : end + 1]
    return any(after == closed and text.endswith(opened, 0, start) for opened, closed in _AROUND)


def _is_wanted(link: str) -> bool:
    if len(link) > LONGEST or _DAMAGED.search(link):
        return False
    place, _, query = link.partition("://")[2].partition("#")[0].partition("?")
    authority, _, path = place.partition("/")
    host = _HOST.fullmatch(authority)
    if not host or not (path or query):
        return False
    return _is_theirs(host[1].lower()) or bool(_FORM.fullmatch(f"{path}?{query}" if query else path))


def _is_theirs(host: str) -> bool:
    """Whether nothing but their pages is to be expected of a host."""
    own = host.split(".")[:-1] or [host]
    return host.endswith(_CLOUD) or any(_PRODUCTS & set(label.split("-")) for label in own)
