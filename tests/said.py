"""Everything that draws or tables, with the English words put in."""

from functools import partial

from handrail.app import insights, run_pictures
from handrail.app.faces import load_message_catalog
from handrail.drawing import charts, graph
from handrail.drawing import charts as bars_
from handrail.drawing import charts as funnel_
from handrail.drawing import charts as stacked_
from handrail.drawing import graph as overview_
from handrail.drawing import svg as svg_
from handrail.drawing import timeline as timeline_

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
