"""How charts look. One sheet for those that stand alone and for pages that embed them; light and dark."""

from typing import Final

SERIES: Final = ("s1", "s2", "s3", "s4", "s5", "s6")
"""The looks of series that mean nothing but themselves, in the order they are given; the last for others."""

GOOD: Final = "good"
BAD: Final = "bad"
WARN: Final = "warn"
QUIET: Final = "quiet"

STYLE: Final = """
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
