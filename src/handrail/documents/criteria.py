"""Parse the acceptance criteria of a plan and check off the ones that results list as satisfied.

The text is parsed as CommonMark, so code and HTML comments never count as items. Checking off writes only a
box and a link; every other character stays as it was. Start reading at `parse_criteria` and
`check_off_criteria`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from handrail.documents.front_matter import list_field_texts, parse_front_matter

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


# Longer texts have no items. In the worst case, parsing this many characters takes seconds.
MAX_CHARACTERS: Final = 256 * 1024

# The front matter key under which results may list the criteria they satisfy.
SATISFIED_KEY: Final = "satisfied"
_HEADING: Final = "acceptance criteria"
_HEADING_DECORATION: Final = " *_`:"
_BOM: Final = "\ufeff"
_MAX_NESTING: Final = 100
_LINE_BREAK: Final = re.compile(r"\r\n?|\n")
_BOX: Final = re.compile(r"\[([ \txX])\]\s+(?=\S)")
_BULLETS: Final = ("-", "*", "+")
_LINK: Final = (" ([results](", "))")
_PATH: Final = re.compile(r"[^()\s]*")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


class Criterion(Struct, frozen=True):
    """One acceptance criterion: its text, on one line, and whether it is checked."""

    text: str
    checked: bool


class CheckOffResult(Struct, frozen=True):
    """A plan after the check-off: the criteria it `checked`, and the listed texts that match none."""

    text: str
    checked: tuple[str, ...]
    unmatched: tuple[str, ...]


class _Item(Struct, frozen=True):
    """A list item, `depth` lists deep: text, box (`x`, a blank, or empty), lines of its first paragraph."""

    text: str
    box: str
    bullet: bool
    depth: int
    first: int
    last: int

    @property
    def key(self) -> str:
        """The text that identifies this item."""
        return _criterion_key(self.text)


def parse_criteria(plan: str, template: str = "") -> tuple[Criterion, ...]:
    """Return the items with a box under the criteria heading of a plan that `template` does not have."""
    items = _find_criteria(plan, template)
    return tuple(Criterion(_replace_surrogates(item.text), item.box != " ") for item in items)


def strip_result_links(text: str) -> str:
    """Return the text of a criterion without the links to results at its end."""
    (head, tail), end = _LINK, len(text)
    while text.endswith(tail, 0, end):
        start = text.rfind(head, 0, end)
        if start < 0 or not _PATH.fullmatch(text, start + len(head), end - len(tail)):
            break
        end = start
    return text[:end]


def check_off_criteria(plan: str, results: str, link: str, template: str = "") -> CheckOffResult:
    """Return the plan with a checked box and a link at each criterion that the results list.

    Texts match regardless of white space and case, and otherwise exactly. Criteria that are already checked
    stay unchanged.
    """
    wanted, known = _find_satisfied(results), _find_criteria(plan, template)
    met = [item for item in known if item.box == " " and item.key in wanted]
    keys = {item.key for item in known}
    ends = [match.span() for match in _LINE_BREAK.finditer(plan)] + [(len(plan), len(plan))]
    starts = [0, *(end for _, end in ends)]
    pieces, copied = [], 0
    for item in met:
        box = plan.index("[", starts[item.first]) + 1
        end = starts[item.last] + len(plan[starts[item.last] : ends[item.last][0]].rstrip())
        pieces += [plan[copied:box], "x", plan[box + 1 : end], _LINK[0], link, _LINK[1]]
        copied = end
    return CheckOffResult(
        "".join([*pieces, plan[copied:]]),
        tuple(_replace_surrogates(item.text) for item in met),
        tuple(_replace_surrogates(text) for key, text in wanted.items() if key not in keys),
    )


def _find_satisfied(results: str) -> Mapping[str, str]:
    """Return the texts listed as satisfied, by their keys.

    The list is under a heading that contains "acceptance criteria", or in the front matter. An item with an
    empty box is not satisfied. An item without a box inside another item is a note on that item.
    """
    front = parse_front_matter(results)
    satisfied: dict[str, str] = {}
    for item in _find_items(front.body, exact=False):
        if item.box == "x" or (not item.box and item.depth == 1):
            satisfied.setdefault(item.key, item.text)
    for text in map(_fold_whitespace, list_field_texts(front.fields.get(SATISFIED_KEY, ()))):
        satisfied.setdefault(_criterion_key(text), text)
    return satisfied


def _find_criteria(plan: str, template: str) -> Sequence[_Item]:
    template_keys = {item.key for item in _find_items(template, exact=True)}
    items = _find_items(plan, exact=True)
    return [item for item in items if item.box and item.bullet and item.key not in template_keys]


def _fold_whitespace(text: str) -> str:
    return " ".join(text.split())


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which come from invalid bytes, so that the text can be encoded."""
    return _SURROGATE.sub("\ufffd", text)


def _criterion_key(text: str) -> str:
    """Return the key of a one-line text: the text without result links at its end, ignoring case."""
    return strip_result_links(text).casefold()


@lru_cache(maxsize=8)
def _find_items(text: str, *, exact: bool) -> tuple[_Item, ...]:
    """Return the list items below each criteria heading; none if the text is too long.

    With `exact`, the heading must be "acceptance criteria"; otherwise it only has to contain it. Headings
    inside a list or a quote are ignored.
    """
    body = "" if len(text) > MAX_CHARACTERS else text
    tokens = _get_parser().parse(" " + body[1:] if body.startswith(_BOM) else body)
    items = []
    within = depth = 0
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0:
            level, title = int(token.tag[1]), _fold_whitespace(tokens[number + 1].content).casefold()
            if not within or level <= within:
                wanted = title.strip(_HEADING_DECORATION) == _HEADING if exact else _HEADING in title
                within = level if wanted else 0
        elif token.type in {"list_item_open", "list_item_close"}:
            depth += token.nesting
            first = tokens[number + 1 : number + 3]
            if within and token.nesting == 1 and first[0].type == "paragraph_open":
                items.append(_build_item(token, first[1], depth))
    return tuple(items)


def _build_item(token: "Token", paragraph: "Token", depth: int) -> _Item:
    box = _BOX.match(paragraph.content)
    text = paragraph.content[box.end() :] if box else paragraph.content
    first, end = paragraph.map or (0, 1)
    mark = box[1].lower().replace("\t", " ") if box else ""
    return _Item(_fold_whitespace(text), mark, token.markup in _BULLETS, depth, first, end - 1)


@lru_cache(maxsize=1)
def _get_parser() -> "MarkdownIt":
    """Return a parser for blocks only; inline markup is not parsed."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - takes 50 ms, and most runs have no criteria

    return MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).disable(["inline", "text_join"])
