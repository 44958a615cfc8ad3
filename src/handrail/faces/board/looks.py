"""How pages are made: templates that escape everything, and the few ways in which values are shown."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.responses import HTMLResponse

import handrail
from handrail.faces.board.pictures import SHEETS, caption, drawn
from handrail.faces.board.texts import catalogue
from handrail.shell.records import rfc3339
from handrail.telemetry.units import took
from handrail.workflows.characters import safe, split_lines
from handrail.workflows.draw.timescale import lasting

_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_SHORT: Final = 8


def page(template: str, status: int = 200, /, **values: Any) -> HTMLResponse:  # noqa: ANN401 - whatever it shows
    """A page from this template."""
    return HTMLResponse(looks().get_template(template).render(**values), status)


@cache
def looks() -> Environment:
    """The templates, and what each of them may use."""
    made = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    t = catalogue()
    made.globals |= {"t": t, "version": handrail.__version__}
    made.filters |= {
        "plain": safe,
        "lines": lines,
        "json": json,
        "iso": rfc3339,
        "when": when,
        "took": took,
        "lasting": lasting,
        "ago": ago,
        "short": short,
        "drawn": drawn,
        "caption": caption,
    }
    return made


def lines(text: str) -> str:
    """A text of several lines, with everything hidden in it written out."""
    return "\n".join("\t".join(map(safe, line.split("\t"))) for line in split_lines(text))


def json(value: object) -> str:
    """A value as JSON, its parts under each other."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def when(at: datetime) -> str:
    """A time in full."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def ago(at: datetime, now: datetime) -> str:
    """How long ago a time was."""
    past = now - at
    if past < _SECOND:
        return catalogue()("time.now")
    unit = next(unit for unit in (_HOUR, _MINUTE, _SECOND) if past >= unit * (24 if unit is _HOUR else 1))
    return catalogue()("time.ago", took=took(past // unit * unit / _SECOND * 1000))


def short(run: str) -> str:
    """The beginning of an id, which is enough to tell it from others."""
    return safe(run[:_SHORT])


def _source(name: str) -> str | None:
    found = files(__package__).joinpath("templates", name)
    return found.read_text("utf-8") if found.is_file() else None


def static() -> Mapping[str, bytes]:
    """The files that pages load, by their names; the style of pictures is what those themselves say."""
    found = {one.name: one.read_bytes() for one in files(__package__).joinpath("static").iterdir()}
    return {**found, **SHEETS}
