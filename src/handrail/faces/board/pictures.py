"""Pictures of ours on a page: SVG without any style of its own, and the sheets that dress it."""

from typing import Final

from markupsafe import Markup

from handrail.telemetry.charts.style import STYLE as CHARTS
from handrail.workflows.draw.style import STYLE as GRAPHS
from handrail.workflows.draw.style import TIMELINE_STYLE as TIMELINES

SHEETS: Final = {"charts.css": CHARTS.encode(), "pictures.css": f"{GRAPHS}\n{TIMELINES}\n".encode()}
"""The sheets by the names of the files that pages load."""


def drawn(picture: str) -> Markup:
    """A picture for a page."""
    return Markup(picture)  # noqa: S704 - we drew it, and whoever draws has escaped every name in it


def caption(picture: str) -> Markup:
    """What a picture says that it is."""
    return drawn(picture.partition("<title>")[2].partition("</title>")[0])
