"""The overview and the page of a run, asked of a real dashboard: with a million runs against a thousand.

`HANDRAIL_BENCH_RUNS` makes the large store smaller, to try the benchmark out.
"""

import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from faces.board.desk import Pages, dashboard
from faces.mcp.desk import place
from fill import fill, spread
from handrail.stores.sql.database import Database
from handrail.stores.sql.summaries import Summaries
from rounds import report
from stage import stage

LARGE: Final = int(os.environ.get("HANDRAIL_BENCH_RUNS", "1000000"))
SMALL: Final = 1000
LIVE: Final = 20
ROUNDS: Final = 40
GOAL: Final = 10.0
"""The same order of magnitude."""


class Asked:
    """A dashboard over a store with so many runs, and one of those that really were taken turns of."""

    def __init__(self, stack: ExitStack, folder: Path, runs: int) -> None:
        at = place(folder)
        at.store.parent.mkdir(parents=True)
        play = stage(Database(at.store))
        play.start(LIVE)
        self.run = next(iter(play.tokens))
        play.turn(self.run)
        spread(play.database, runs // LIVE)
        fill(play.database, runs, runs // LIVE)
        Summaries(play.database).fold()
        play.database.close()
        self.pages: Pages = stack.enter_context(dashboard(at))
        self._headers = {"Host": self.pages.host, "Cookie": self.pages.cookie()}

    def seconds(self, path: str) -> float:
        """How long a page takes."""
        began = time.perf_counter()
        answered = self.pages.ask("GET", path, self._headers)
        taken = time.perf_counter() - began
        if answered.status != 200 or "</html>" not in answered.text:
            raise SystemExit(f"{path} was answered with {answered.status}")
        return taken


def main(large: int = LARGE, rounds: int = ROUNDS) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        few, many = (Asked(stack, Path(name) / str(runs), runs) for runs in (SMALL, large))
        for word, path in (("overview", "/"), ("run", "/runs/{}")):
            taken = [[side.seconds(path.format(side.run)) for side in (few, many)] for _ in range(rounds + 3)]
            less, more = (median(times) for times in zip(*taken[3:], strict=True))
            print(f"# {word}: {less * 1000:.1f} ms with {SMALL} runs, {more * 1000:.1f} ms with {large}")
            report(f"pages_{word}_x_{SMALL}_runs", more / less, GOAL)


if __name__ == "__main__":
    main()
