"""Markdown of somebody else's as HTML: no HTML of theirs, no images, and links that lead out say so."""

from collections.abc import Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from handrail.faces.board.looks import lines

_LINK: Final = {"rel": "noopener noreferrer nofollow", "target": "_blank"}


def rendered(text: str) -> Markup:
    """The text as HTML that a page can show: what is hidden in it is written out."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(lines(text))
    _tame(tokens)
    options: Any = reader.options
    return Markup(reader.renderer.render(tokens, options, {}))  # noqa: S704 - html is off, and all text escaped


def _tame(tokens: Sequence[Token]) -> None:
    """Leave no attribute that a page must not have, and say of links that they lead elsewhere."""
    for token in tokens:
        token.attrs = {name: value for name, value in token.attrs.items() if name in {"href", "start"}}
        if token.type == "link_open":
            token.attrs |= _LINK
        if token.tag in {"h1", "h2", "h3", "h4", "h5"}:
            token.tag = f"h{int(token.tag[1]) + 1}"
        _tame(token.children or ())
