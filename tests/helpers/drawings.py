"""What draws or tables, with the English words put in; and a chart as a test reads it."""

from functools import partial
from xml.etree import ElementTree as ET

from handrail.app import insights, run_pictures
from handrail.app.faces import load_message_catalog
from handrail.drawing import charts, graph
from handrail.drawing import charts as bars_
from handrail.drawing import charts as funnel_
from handrail.drawing import charts as stacked_
from handrail.drawing import graph as overview_
from handrail.drawing import svg as svg_
from handrail.drawing import timeline as timeline_
from handrail.drawing.charts import CHART_WIDTH

NAMESPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('x')</script>\"&\x1b[2J\u202e]]>"
FORBIDDEN = {"script", "style", "a", "image", "use", "foreignObject", "iframe"}


class Drawing:
    """A chart that was found to be well-formed, inert, and within its own edges."""

    def __init__(self, chart: str) -> None:
        self.root = ET.XML(chart)
        self.all = list(self.root.iter())
        assert {each.tag.removeprefix(NAMESPACE) for each in self.all}.isdisjoint(FORBIDDEN)
        names = {name for each in self.all for name in each.attrib}
        assert not [name for name in names if name in {"style", "id", "href"} or name.startswith("on")]
        assert self.root.get("role") == "img"
        assert [child.tag for child in list(self.root)[:2]] == [f"{NAMESPACE}title", f"{NAMESPACE}desc"]
        self._stays_inside()

    def _stays_inside(self) -> None:
        _, _, wide, high = map(float, str(self.root.get("viewBox")).split())
        for each in self.all:
            for name, most in (("x", wide), ("y", high), ("x2", wide), ("y2", high)):
                assert 0 <= float(each.get(name) or 0) <= most, ET.tostring(each)
            end = float(each.get("x") or 0) + float(each.get("width") or 0)
            assert each is self.root or end <= CHART_WIDTH + 1, ET.tostring(each)

    @property
    def title(self) -> str:
        return str(self.root[0].text)

    @property
    def about(self) -> str:
        return str(self.root[1].text)

    def texts(self, look: str = "") -> list[str]:
        """What is written, in order, of this class, or all."""
        found = self.root.iter(f"{NAMESPACE}text")
        return [str(each.text) for each in found if not look or look in str(each.get("class")).split()]

    def titles(self) -> list[str]:
        """What is told where something is pointed at."""
        return [str(each.text) for each in self.root.iter(f"{NAMESPACE}title")][1:]

    def marks(self, look: str = "") -> list[tuple[float, float, float, float]]:
        """The bars of this class, or all: where they begin, how wide and high they are."""
        return [
            (number(each, "x"), number(each, "y"), number(each, "width"), number(each, "height"))
            for each in self.root.iter(f"{NAMESPACE}rect")
            if {"mark", look or "mark"} <= set(str(each.get("class")).split())
            and number(each, "height") != 10
        ]

    def count(self, tag: str, look: str) -> int:
        """How many elements of this kind have this class."""
        found = self.root.iter(f"{NAMESPACE}{tag}")
        return sum(look in str(each.get("class")).split() for each in found)


def number(element: ET.Element, name: str) -> float:
    return float(str(element.get(name)))


# --- what draws or tables, in English -----------------------------------------------------------------------


T = load_message_catalog()
graph_of = partial(graph.build_graph, T)
graph_with = partial(run_pictures.build_run_graph, T)
overview = partial(overview_.build_overview, T)
around = partial(overview_.build_neighbourhood, T)
svg = partial(svg_.draw_graph_svg, T)
timeline = partial(timeline_.draw_timeline_svg, T)
rows_of = partial(timeline_.build_rows, T)
boards = partial(insights.build_boards, T)
tables = partial(insights.build_tables, T)
slots = partial(insights.build_slots, T)
bars = partial(bars_.draw_bar_chart, T)
stacked = partial(stacked_.draw_stacked_chart, T)
funnel = partial(funnel_.draw_funnel_chart, T)
columns = partial(charts.draw_column_chart, T)
lines = partial(charts.draw_line_chart, T)
