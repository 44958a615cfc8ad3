"""Acceptance criteria: the checklist under one heading of a plan, and how some of it is checked off.

The text is read as CommonMark, so what stands in code or in an HTML comment is no item. What is written is
a box and a link, each in its place: every other character stays what it was.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from handrail.documents.frontmatter import parse, texts

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST: Final = 256 * 1024
"""How many characters a text may have to be read at all: at worst, as many take seconds."""

SATISFIED: Final = "satisfied"
"""The key of front matter under which results may list what they satisfy."""

_HEADING: Final = "acceptance criteria"
_AROUND_HEADING: Final = " *_`:"
_MARK: Final = "\ufeff"
_NESTED: Final = 100
_BREAK: Final = re.compile(r"\r\n?|\n")
_BOX: Final = re.compile(r"\[([ \txX])\]\s+(?=\S)")
_BULLETS: Final = ("-", "*", "+")
_LINK: Final = (" ([results](", "))")
_PATH: Final = re.compile(r"[^()\s]*")
_UNFIT: Final = re.compile(r"[\ud800-\udfff]")


class Criterion(Struct, frozen=True):
    """One acceptance criterion: what it says, in one line, and whether it is checked."""

    text: str
    checked: bool


class CheckedOff(Struct, frozen=True):
    """A plan after its check-off: its text, the criteria this checked, and what was listed for nothing."""

    text: str
    checked: tuple[str, ...]
    unmatched: tuple[str, ...]


class _Item(Struct, frozen=True):
    """An item of a list: its text, its box (`x`, a blank, or nothing), and the lines of its first paragraph.

    `depth` is how many lists it stands in.
    """

    text: str
    box: str
    bullet: bool
    depth: int
    first: int
    last: int

    @property
    def key(self) -> str:
        """What tells it from others."""
        return _key(self.text)


def criteria(plan: str, template: str = "") -> tuple[Criterion, ...]:
    """The acceptance criteria of a plan: the items with a box under the heading of that name.

    Items that stand in the template it was made from are none.
    """
    return tuple(Criterion(_clean(item.text), item.box != " ") for item in _criteria(plan, template))


def bare(text: str) -> str:
    """What a criterion says, without the links to results that its text ends with."""
    (head, tail), end = _LINK, len(text)
    while text.endswith(tail, 0, end):
        begun = text.rfind(head, 0, end)
        if begun < 0 or not _PATH.fullmatch(text, begun + len(head), end - len(tail)):
            break
        end = begun
    return text[:end]


def listed(results: str) -> tuple[str, ...]:
    """What results list as satisfied, each once: under a heading that names the criteria, or in front matter.

    An item with an empty box is not satisfied. An item without a box inside another is a note on that.
    """
    return tuple(map(_clean, _listed(results).values()))


def check_off(plan: str, results: str, link: str, template: str = "") -> CheckedOff:
    """The plan with a checked box, and a link, at each criterion whose text is listed in the results.

    White space and case do not matter; nothing else is made up for. What is checked already stays as it is.
    """
    wanted, known = _listed(results), _criteria(plan, template)
    met = [item for item in known if item.box == " " and item.key in wanted]
    keys = {item.key for item in known}
    return CheckedOff(
        _marked(plan, met, f"{_LINK[0]}{link}{_LINK[1]}"),
        tuple(_clean(item.text) for item in met),
        tuple(_clean(text) for key, text in wanted.items() if key not in keys),
    )


def _listed(results: str) -> Mapping[str, str]:
    """What is listed as satisfied, by its key."""
    front = parse(results)
    found: dict[str, str] = {}
    for item in _items(front.body, exact=False):
        if item.box == "x" or (not item.box and item.depth == 1):
            found.setdefault(item.key, item.text)
    for text in map(_folded, texts(front.fields.get(SATISFIED, ()))):
        found.setdefault(_key(text), text)
    return found


def _criteria(plan: str, template: str) -> Sequence[_Item]:
    standing = {item.key for item in _items(template, exact=True)}
    found = _items(plan, exact=True)
    return [item for item in found if item.box and item.bullet and item.key not in standing]


def _folded(text: str) -> str:
    return " ".join(text.split())


def _clean(text: str) -> str:
    """The text as one that can be told: bytes that were no text are shown as such."""
    return _UNFIT.sub("\ufffd", text)


def _key(text: str) -> str:
    """What tells a text in one line from others: all but the links to results it ends with, in any case."""
    return bare(text).casefold()


def _marked(plan: str, items: Sequence[_Item], link: str) -> str:
    """The plan with these items checked: their boxes lie in their first lines, the link ends the last."""
    ends = [match.span() for match in _BREAK.finditer(plan)] + [(len(plan), len(plan))]
    begins = [0, *(end for _, end in ends)]
    pieces, done = [], 0
    for item in items:
        box = plan.index("[", begins[item.first]) + 1
        end = begins[item.last] + len(plan[begins[item.last] : ends[item.last][0]].rstrip())
        pieces += [plan[done:box], "x", plan[box + 1 : end], link]
        done = end
    return "".join([*pieces, plan[done:]])


@lru_cache(maxsize=8)
def _items(text: str, *, exact: bool) -> tuple[_Item, ...]:
    """The items of lists below each heading that is, or at least contains, the one meant.

    A text that is too long has none.
    """
    body = "" if len(text) > MOST else text
    tokens = _parser().parse(" " + body[1:] if body.startswith(_MARK) else body)
    return tuple(_walked(tokens, exact=exact))


def _walked(tokens: Sequence["Token"], *, exact: bool) -> Iterator[_Item]:
    """Headings inside a list or a quote begin and end nothing."""
    within = depth = 0
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0:
            level = int(token.tag[1])
            if not within or level <= within:
                within = level if _meant(tokens[number + 1].content, exact=exact) else 0
        elif token.type in {"list_item_open", "list_item_close"}:
            depth += token.nesting
            first = tokens[number + 1 : number + 3]
            if within and token.nesting == 1 and first[0].type == "paragraph_open":
                yield _item(token, first[1], depth)


def _meant(heading: str, *, exact: bool) -> bool:
    title = _folded(heading).casefold()
    return title.strip(_AROUND_HEADING) == _HEADING if exact else _HEADING in title


def _item(token: "Token", paragraph: "Token", depth: int) -> _Item:
    box = _BOX.match(paragraph.content)
    text = paragraph.content[box.end() :] if box else paragraph.content
    first, end = paragraph.map or (0, 1)
    mark = box[1].lower().replace("\t", " ") if box else ""
    return _Item(_folded(text), mark, token.markup in _BULLETS, depth, first, end - 1)


@lru_cache(maxsize=1)
def _parser() -> "MarkdownIt":
    """Blocks only: what stands inside a line is not looked at."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 50 ms that only those pay who have criteria

    return MarkdownIt("commonmark", {"maxNesting": _NESTED}).disable(["inline", "text_join"])
