"""The page of the benchmarks: what a run printed, as tables and as pictures, and on which machine."""

import ast
import os
import platform
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handrail.app.faces import load_message_catalog
from handrail.drawing.charts import Bar, BarChart, draw_bar_chart, make_standalone
from handrail.drawing.tables import Unit

OURS: Final = "Handrail"
SMALLER: Final = "HANDRAIL_BENCH_RUNS"
"""How the large stores are made smaller, to try things out; the page says so."""

VERDICTS: Final = ("ok", "short", "missing")
_BAR: Final = re.compile(r"# bar (.+?): (.+) = ([\d.]+)")
_HEAD: Final = """\
# Benchmarks

Written by `make bench` at the end of a full run, and not by hand. The last one: {here}.

A figure is a ratio wherever it can be one: ours and a floor, or ours and a peer, measured in turn in the
same run; read ratios, not times, for machines differ. `_x_` in a name reads "times". Bytes and processes are
counted. A figure that is `short` misses its goal, one that is `missing` could not be measured, since its peer
could not be installed. Peers run in an environment and a process of their own (`benchmarks/peers.txt`),
measured by the same loop as ours.

{summary}

## Pictures
"""
_PUBLISHED: Final = """\
What others say that lists of tools cost, published by them and not measured here: the median of 3,213
servers is 1,905 tokens, and a tenth of them takes more than 7,952 ([PolicyLayer][1]); the tools of Azure
DevOps took 60,000 ([azure-devops-mcp#755][2]).

[1]: https://policylayer.com/token-cost/jtalk22-slack-mcp-server
[2]: https://github.com/microsoft/azure-devops-mcp/issues/755
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as it was printed, beside its goal."""

    name: str
    value: str
    goal: str
    verdict: str

    @property
    def wanted(self) -> str:
        """The goal, and which side of it is good, where the value tells."""
        try:
            over = float(self.value) - float(self.goal)
        except ValueError:
            return self.goal
        if not over:
            return self.goal
        return f"{'at least' if (over > 0) == (self.verdict == 'ok') else 'at most'} {self.goal}"


@dataclass(frozen=True, slots=True)
class Bench:
    """What a benchmark printed, and how long it took."""

    file: Path
    lines: tuple[str, ...]
    seconds: float
    failed: bool

    @property
    def figures(self) -> list[Figure]:
        """Its figures; what else it printed are remarks."""
        words = (line.split() for line in self.lines if not line.startswith("#"))
        return [Figure(*some) for some in words if len(some) == 4 and some[-1] in VERDICTS]

    @property
    def bars(self) -> Iterator[tuple[str, str, float]]:
        """What its charts show: the chart, the name, the value."""
        for line in self.lines:
            if found := _BAR.fullmatch(line):
                yield found[1], found[2], float(found[3])

    @property
    def bad(self) -> bool:
        """True if it failed, fell short, or showed nothing; a figure that is missing is none of these."""
        figures = self.figures
        return self.failed or not figures or any(one.verdict == "short" for one in figures)

    @property
    def trouble(self) -> str:
        """What is to be said of it, if anything."""
        by = {verdict: [one.name for one in self.figures if one.verdict == verdict] for verdict in VERDICTS}
        parts = ["failed"] if self.failed else []
        parts += [] if self.figures else ["printed no figure"]
        parts += [f"falls short: {', '.join(by['short'])}"] if by["short"] else []
        parts += [f"could not measure: {', '.join(by['missing'])}"] if by["missing"] else []
        return "; ".join(parts)


def machine() -> str:
    """The machine in one line, and how busy it was in the last quarter of an hour: what all takes."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.+)$", info.read_text() if info.exists() else "", re.MULTILINE)
    cores, load, smaller = os.cpu_count(), os.getloadavg()[2], os.environ.get(SMALLER, "")
    return (
        f"{cores} cores ({names[0] if names else platform.machine()}), {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"load {load:.1f}{f', {SMALLER}={smaller}' if smaller else ''}"
    )


def written(docs: Path, benches: Sequence[Bench], here: str) -> None:
    """Write the page and its pictures below this folder; pictures that nobody shows any more go."""
    charts = pictures(benches)
    folder = docs / "pictures"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("bench-*.svg"):
        old.unlink()
    for title, picture in charts.items():
        (folder / _file(title)).write_text(picture, "utf-8")
    (docs / "benchmarks.md").write_text(page(benches, here, list(charts)), "utf-8")


def pictures(benches: Sequence[Bench]) -> dict[str, str]:
    """The charts as SVG, by their titles."""
    shown: dict[str, dict[str, float]] = {}
    for bench in benches:
        for chart, name, value in bench.bars:
            shown.setdefault(chart, {})[name] = value
    return {title: make_standalone(_drawn(title, values)) for title, values in shown.items()}


def page(benches: Sequence[Bench], here: str, titles: Sequence[str]) -> str:
    """The page."""
    parts = [_HEAD.format(here=here, summary=_summary(benches))]
    parts += [f"### {title}\n\n![{title}](pictures/{_file(title)})\n" for title in titles]
    parts += [_PUBLISHED, "## All figures\n"]
    parts += ["\n".join(_table(bench)) for bench in benches]
    return "\n".join(parts)


def _summary(benches: Sequence[Bench]) -> str:
    figures = [one for bench in benches for one in bench.figures]
    counts = {verdict: sum(one.verdict == verdict for one in figures) for verdict in VERDICTS}
    answer = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    failed = [f"`{bench.file.name}`" for bench in benches if bench.failed]
    more = f" Failed: {', '.join(failed)}." if failed else ""
    minutes = sum(bench.seconds for bench in benches) / 60
    return f"{len(figures)} figures in {minutes:.0f} minutes: {answer}.{more}"


def _table(bench: Bench) -> Iterator[str]:
    about = (ast.get_docstring(ast.parse(bench.file.read_text("utf-8"))) or "").partition("\n\n")[0]
    yield f"### `{bench.file.name}`\n"
    yield f"{' '.join(about.split())} {'Failed after' if bench.failed else 'Took'} {bench.seconds:.0f} s.\n"
    yield "| figure | value | goal | |\n|---|---|---|---|"
    for one in bench.figures:
        said = one.verdict if one.verdict == "ok" else f"**{one.verdict}**"
        yield f"| `{one.name}` | {one.value} | {one.wanted} | {said} |"
    yield ""


def _drawn(title: str, values: Mapping[str, float]) -> str:
    """A chart whose bars of ours stand out from those of others."""
    ours = [name for name in values if name.startswith(OURS)]
    rows = tuple(
        Bar(name, round(value) if value >= 10 else value, "s1" if not ours or name in ours else "quiet")
        for name, value in values.items()
    )
    return draw_bar_chart(load_message_catalog(), BarChart(title, Unit.COUNT, rows, ""))


def _file(title: str) -> str:
    return f"bench-{re.sub('[^a-z0-9]+', '-', title.lower())}.svg"
