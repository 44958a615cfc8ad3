"""The CSS of pictures: one style sheet for standalone pictures and for pages that embed them.

Colours follow the reader's system setting, unless the page sets `data-theme` on its root.
"""

from typing import Final

_LIGHT: Final = """--sheet:#fcfcfd;--ink:#1f2937;--quiet:#566176;--line:#7f8ea6;--node:#fff;--rim:#9aa8bc;
--router:#f5f3ff;--router-rim:#a593f2;--end:#f0fdf6;--end-rim:#3f9f72;--accent:#2563eb;--on-accent:#fff;
--been:#e6effe;--been-rim:#7ba4ee;--walked:#3f74e0;--bad:#c62828;--plate:#fcfcfd;
--agent:#3b74e6;--person:#a85a08;--check:#7a3fd1;--rest:#7b8798;--grid:#e3e8ef;--band:#f3f5f9"""
_DARK: Final = """--sheet:#0f141c;--ink:#e5e9f0;--quiet:#a3afc2;--line:#66748b;--node:#1a212d;--rim:#46546a;
--router:#221f3a;--router-rim:#8376cf;--end:#12271f;--end-rim:#46ab7d;--accent:#6ea8ff;--on-accent:#0b1220;
--been:#1c2e4e;--been-rim:#4f77b8;--walked:#6f9df0;--bad:#ff8080;--plate:#0f141c;
--agent:#6ea8ff;--person:#f2ae5c;--check:#b794ff;--rest:#8592a6;--grid:#232c3a;--band:#141b26"""
_FONT: Final = """max-width:100%;height:auto;font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",
Roboto,"Helvetica Neue","Liberation Sans",Arial,sans-serif"""


def build_theme_styles(pictures: str) -> str:
    """Return the light and dark colours for pictures with these class selectors, separated by commas."""
    dark, forced = (
        ",".join(f"{root} {one}" for one in pictures.split(","))
        for root in (':root:not([data-theme="light"])', ':root[data-theme="dark"]')
    )
    own = ",".join(f"{one}:root" for one in pictures.split(","))
    return (
        f"{pictures}{{{_LIGHT};{_FONT}}}\n"
        f"@media (prefers-color-scheme:dark){{{dark},{own}{{{_DARK}}}}}\n"
        f"{forced}{{{_DARK}}}"
    )


_GRAPH_RULES: Final = """
.workflow-graph .sheet{fill:var(--sheet)}
.workflow-graph text{fill:var(--ink);font-size:13px;text-anchor:middle}
.workflow-graph .box{fill:var(--node);stroke:var(--rim);stroke-width:1.25}
.workflow-graph .inner{fill:none;stroke:var(--end-rim);stroke-width:1}
.workflow-graph .prefix{fill:var(--quiet)}
.workflow-graph .router .box{fill:var(--router);stroke:var(--router-rim)}
.workflow-graph .terminal .box{fill:var(--end);stroke:var(--end-rim)}
.workflow-graph .any .box,.workflow-graph .back .box{fill:none;stroke:var(--line);stroke-dasharray:3 3}
.workflow-graph .any text,.workflow-graph .back text{fill:var(--quiet);font-size:11px}
.workflow-graph a{cursor:pointer;text-decoration:none}
.workflow-graph a:hover .box,.workflow-graph a:focus .box{stroke:var(--accent);stroke-width:2.5}
.workflow-graph a:focus{outline:none}
.workflow-graph .start{fill:var(--ink)}
.workflow-graph .start-line{fill:none;stroke:var(--ink);stroke-width:1.5}
.workflow-graph .line{fill:none;stroke:var(--line);stroke-width:1.4}
.workflow-graph .head{fill:var(--line)}
.workflow-graph .edge.return .line{stroke-dasharray:5 4}
.workflow-graph .edge.walked .line{stroke:var(--walked);stroke-width:2.2}
.workflow-graph .edge.walked .head{fill:var(--walked)}
.workflow-graph .edge.open .line{stroke:var(--accent);stroke-width:3}
.workflow-graph .edge.open .head{fill:var(--accent)}
.workflow-graph .edge.blocked .line{stroke:var(--bad);stroke-width:1.6;stroke-dasharray:2 3}
.workflow-graph .edge.blocked .head{fill:var(--bad)}
.workflow-graph .edge:hover .line{stroke:var(--accent);stroke-width:3}
.workflow-graph .edge:hover .head{fill:var(--accent)}
.workflow-graph .plate{fill:var(--plate);opacity:.92}
.workflow-graph .label text{font-size:11px;fill:var(--quiet);paint-order:stroke;stroke:var(--plate);
stroke-width:4px;stroke-linejoin:round}
.workflow-graph .label.open text{fill:var(--accent)}
.workflow-graph .label.blocked text{fill:var(--bad)}
.workflow-graph .note{font-size:11px;fill:var(--quiet);text-anchor:start;font-style:italic}
.workflow-graph .visited .box{fill:var(--been);stroke:var(--been-rim)}
.workflow-graph .visited .inner{stroke:var(--been-rim)}
.workflow-graph .possible .box{stroke:var(--accent);stroke-width:2;stroke-dasharray:6 3}
.workflow-graph .open .box{stroke:var(--accent)}
.workflow-graph .blocked .box{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:2 3}
.workflow-graph .current .box{fill:var(--accent);stroke:var(--accent);stroke-width:5;stroke-opacity:.45}
.workflow-graph .current .inner{stroke:var(--on-accent)}
.workflow-graph .current text,.workflow-graph .current .prefix{fill:var(--on-accent)}
.workflow-graph .sign{fill:none;stroke:var(--walked);stroke-width:1.8;stroke-linecap:round;
stroke-linejoin:round}
.workflow-graph .possible-sign{stroke:var(--accent)}
.workflow-graph .blocked-sign{stroke:var(--bad);stroke-width:2}
.workflow-graph .current-sign{fill:var(--on-accent);stroke:none}
.workflow-graph .legend .current-sign{fill:var(--accent)}
.workflow-graph .legend text{font-size:11px;fill:var(--quiet);text-anchor:start}
.workflow-graph .pill{fill:var(--sheet);stroke:var(--been-rim)}
.workflow-graph .more .pill{stroke:var(--line);stroke-dasharray:2 2}
.workflow-graph .node .count text,.workflow-graph .node .more text{font-size:9px;font-weight:600;
fill:var(--ink)}
""".strip()
# The style of workflow graphs.
GRAPH_STYLE: Final = f"{build_theme_styles('.workflow-graph')}\n{_GRAPH_RULES}"
_TIMELINE_RULES: Final = """
.run-timeline .sheet{fill:var(--sheet)}
.run-timeline text{fill:var(--ink);font-size:12px}
.run-timeline a{cursor:pointer;text-decoration:none}
.run-timeline a:hover .name,.run-timeline a:focus .name{fill:var(--accent);text-decoration:underline}
.run-timeline a:focus{outline:none}
.run-timeline .band{fill:var(--band)}
.run-timeline .grid{stroke:var(--grid);stroke-width:1;fill:none}
.run-timeline .time,.run-timeline .day{fill:var(--quiet);font-size:11px;text-anchor:middle}
.run-timeline .day{font-weight:600;font-size:10px}
.run-timeline .first{text-anchor:start}
.run-timeline .last{text-anchor:end}
.run-timeline .torn{fill:var(--sheet)}
.run-timeline .tear{fill:none;stroke:var(--line);stroke-width:1}
.run-timeline .break text{font-size:9px;fill:var(--quiet);text-anchor:middle}
.run-timeline .span{stroke-width:1.5}
.run-timeline .agent .span{fill:var(--agent);stroke:var(--agent)}
.run-timeline .person .span{fill:var(--sheet);stroke:var(--person);stroke-width:3}
.run-timeline .check .span{fill:var(--sheet);stroke:var(--check);stroke-width:2;stroke-dasharray:4 2}
.run-timeline .pause .span{fill:var(--rest);stroke:none}
.run-timeline .thin .span{stroke:none}
.run-timeline .thin.person .span{fill:var(--person)}
.run-timeline .thin.check .span{fill:var(--check)}
.run-timeline .lasts .span{fill-opacity:.55}
.run-timeline .pole{stroke:var(--bad);stroke-width:1;fill:none}
.run-timeline .flag{stroke:var(--bad);stroke-width:2.2;stroke-linecap:round;fill:none}
.run-timeline .legend text{font-size:11px;fill:var(--quiet)}
""".strip()
# The style of run timelines.
TIMELINE_STYLE: Final = f"{build_theme_styles('.run-timeline')}\n{_TIMELINE_RULES}"
# The CSS classes of series without a meaning of their own, in order; the last is for all others.
SERIES_CLASSES: Final = ("s1", "s2", "s3", "s4", "s5", "s6")
GOOD: Final = "good"
BAD: Final = "bad"
WARN: Final = "warn"
QUIET: Final = "quiet"
CHART_STYLE: Final = """
.chart{--sheet:#fcfcfd;--ink:#1f2937;--dim:#64748b;--grid:#e2e8f0;--axis:#94a3b8;--s1:#2f6fdf;--s2:#0f9488;
--s3:#d9820b;--s4:#8250df;--s5:#cf3f7f;--s6:#8a97a8;--good:#2a9d63;--bad:#d1383d;--warn:#d9820b;--quiet:#b3bdca;
--on:#fff;display:block;width:100%;max-width:45rem;height:auto;
font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Liberation Sans",Arial,
sans-serif;font-variant-numeric:tabular-nums}
@media (prefers-color-scheme:dark){.chart{--sheet:#0f141c;--ink:#e5e9f0;--dim:#93a0b4;--grid:#232d3b;
--axis:#4b586c;--s1:#5b9bff;--s2:#2cbfb0;--s3:#f0a63c;--s4:#a98bff;--s5:#f278ad;--s6:#7d8ba0;--good:#45c184;
--bad:#f2686c;--warn:#f0a63c;--quiet:#56637a;--on:#0b1220}}
.chart .sheet{fill:var(--sheet)}
.chart text{fill:var(--ink);font-size:12px}
.chart .end{text-anchor:end}
.chart .mid{text-anchor:middle}
.chart .tick,.chart .note,.chart .key{fill:var(--dim);font-size:11px}
.chart .value{font-size:11.5px}
.chart .empty{fill:var(--dim);font-size:12.5px}
.chart .grid{stroke:var(--grid);stroke-width:1}
.chart .axis{stroke:var(--axis);stroke-width:1}
.chart .inside{fill:var(--on);font-size:11px;font-weight:600}
.chart .mark{fill:var(--look)}
.chart .line{fill:none;stroke:var(--look);stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.chart .area{fill:var(--look);opacity:.13}
.chart .reach{stroke:var(--s1);stroke-width:1.5;opacity:.75}
.chart .point{fill:var(--sheet);stroke:var(--ink);stroke-width:1.5}
.chart .s1{--look:var(--s1)}.chart .s2{--look:var(--s2)}.chart .s3{--look:var(--s3)}
.chart .s4{--look:var(--s4)}.chart .s5{--look:var(--s5)}.chart .s6{--look:var(--s6)}
.chart .good{--look:var(--good)}.chart .bad{--look:var(--bad)}.chart .warn{--look:var(--warn)}
.chart .quiet{--look:var(--quiet)}
.chart .hit{fill:transparent}
.chart .hit:hover{fill:var(--dim);opacity:.12}
@media print{.chart{break-inside:avoid}}
""".strip()
