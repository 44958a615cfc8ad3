"""Render the pages: templates, their filters, Markdown, pictures and static files.

Texts of runs and agents are untrusted. They are escaped, or rendered as Markdown without HTML and images.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from starlette.responses import HTMLResponse

import handrail
from handrail.app.faces import load_message_catalog
from handrail.documents.text import escape_for_terminal, split_lines
from handrail.drawing.style import CHART_STYLE, GRAPH_STYLE, TIMELINE_STYLE
from handrail.drawing.tables import format_milliseconds
from handrail.drawing.timeline import format_duration
from handrail.runtime.records import format_rfc3339

_LINK_ATTRIBUTES: Final = {"rel": "noopener noreferrer nofollow", "target": "_blank"}


def render_markdown(text: str) -> Markup:
    """Render untrusted Markdown as HTML. HTML and images are off, and control characters are written out."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(escape_lines(text))
    _restrict_tokens(tokens)
    options: Any = reader.options
    return Markup(reader.renderer.render(tokens, options, {}))  # noqa: S704 - html is off, and all text escaped


def _restrict_tokens(tokens: Sequence[Token]) -> None:
    """Drop all attributes but `href` and `start`, mark links as external, and lower headings by one level."""
    for token in tokens:
        token.attrs = {name: value for name, value in token.attrs.items() if name in {"href", "start"}}
        if token.type == "link_open":
            token.attrs |= _LINK_ATTRIBUTES
        if token.tag in {"h1", "h2", "h3", "h4", "h5"}:
            token.tag = f"h{int(token.tag[1]) + 1}"
        _restrict_tokens(token.children or ())


# The style sheets of our pictures, by the file names that pages load.
STYLE_SHEETS: Final = {
    "charts.css": CHART_STYLE.encode(),
    "pictures.css": f"{GRAPH_STYLE}\n{TIMELINE_STYLE}\n".encode(),
}


def embed_picture(picture: str) -> Markup:
    """Return an SVG picture as markup for a page."""
    return Markup(picture)  # noqa: S704 - our own drawing, in which every name is escaped


def extract_caption(picture: str) -> Markup:
    """Return the title of an SVG picture."""
    return embed_picture(picture.partition("<title>")[2].partition("</title>")[0])


_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_SHORT_ID_LENGTH: Final = 8


def render_page(template: str, status: int = 200, /, **values: Any) -> HTMLResponse:  # noqa: ANN401 - any value that a template shows
    """Render a template as the response with this status."""
    return HTMLResponse(build_environment().get_template(template).render(**values), status)


@cache
def build_environment() -> Environment:
    """Build the template environment, with the globals and filters that every template may use."""
    environment = Environment(
        loader=FunctionLoader(_read_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    t = load_message_catalog()
    environment.globals |= {"t": t, "version": handrail.__version__}
    environment.filters |= {
        "plain": escape_for_terminal,
        "lines": escape_lines,
        "json": format_json,
        "iso": format_rfc3339,
        "when": format_time,
        "took": format_milliseconds,
        "lasting": format_duration,
        "ago": format_age,
        "short": shorten_id,
        "drawn": embed_picture,
        "caption": extract_caption,
    }
    return environment


def escape_lines(text: str) -> str:
    """Write out the control characters of a text, except its line breaks and tabs."""
    return "\n".join("\t".join(map(escape_for_terminal, line.split("\t"))) for line in split_lines(text))


def format_json(value: object) -> str:
    """Format a value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def format_time(at: datetime) -> str:
    """Format a time to the second, in UTC."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def format_age(at: datetime, now: datetime) -> str:
    """Format how long ago a time was, in hours, minutes or seconds."""
    past = now - at
    if past < _SECOND:
        return load_message_catalog()("time.now")
    unit = next(unit for unit in (_HOUR, _MINUTE, _SECOND) if past >= unit * (24 if unit is _HOUR else 1))
    return load_message_catalog()("time.ago", took=format_milliseconds(past // unit * unit / _SECOND * 1000))


def shorten_id(run: str) -> str:
    """Return the first characters of a run id, which are enough to tell it from others."""
    return escape_for_terminal(run[:_SHORT_ID_LENGTH])


def _read_template(name: str) -> str | None:
    template = files(__package__).joinpath("templates", name)
    return template.read_text("utf-8") if template.is_file() else None


def load_static_files() -> Mapping[str, bytes]:
    """Return the files that pages load, by name. The style sheets of pictures come from the drawing code."""
    static = {file.name: file.read_bytes() for file in files(__package__).joinpath("static").iterdir()}
    return {**static, **STYLE_SHEETS}
