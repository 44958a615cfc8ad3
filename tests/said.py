"""Everything that draws or tables, with the English words put in."""

from functools import partial

from handrail.faces.board.texts import catalogue
from handrail.shell import pictured
from handrail.telemetry.boards import board, calendar, tabled
from handrail.telemetry.charts import bars as bars_
from handrail.telemetry.charts import funnel as funnel_
from handrail.telemetry.charts import series
from handrail.telemetry.charts import stacked as stacked_
from handrail.workflows.draw import folds
from handrail.workflows.draw import overview as overview_
from handrail.workflows.draw import svg as svg_
from handrail.workflows.draw import timeline as timeline_

T = catalogue()

graph_of = partial(folds.graph_of, T)
graph_with = partial(pictured.graph_with, T)
overview = partial(overview_.overview, T)
around = partial(overview_.around, T)
svg = partial(svg_.svg, T)
timeline = partial(timeline_.timeline, T)
rows_of = partial(timeline_.rows_of, T)
boards = partial(board.boards, T)
tables = partial(tabled.tables, T)
slots = partial(calendar.slots, T)
bars = partial(bars_.bars, T)
stacked = partial(stacked_.stacked, T)
funnel = partial(funnel_.funnel, T)
columns = partial(series.columns, T)
lines = partial(series.lines, T)
