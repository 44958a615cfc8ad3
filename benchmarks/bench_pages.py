"""The overview and the page of a run, asked of a real dashboard: with a million runs against a thousand.

`HANDRAIL_BENCH_RUNS` makes the large store smaller, to try the benchmark out.
"""

import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.browser import DashboardProcess, run_dashboard
from helpers.servers import Place, create_place
from kept import LARGE, LIVE, shelf, store
from rounds import report

SMALL: Final = 1000
ROUNDS: Final = 40
GOAL: Final = 10.0
"""The same order of magnitude."""


@dataclass(frozen=True, slots=True)
class Kept(Place):
    """A place whose store lies elsewhere."""

    file: Path = Path()

    @property
    def store(self) -> Path:
        """The file of the store."""
        return self.file


class Asked:
    """A dashboard over a store with so many runs, and one of those that really were taken turns of."""

    def __init__(self, stack: ExitStack, folder: Path, file: Path, runs: int) -> None:
        with store(file, runs, min(LIVE, runs // 50)) as play:
            self.run = next(iter(play.tokens))
            play.turn(self.run)
        self.pages: DashboardProcess = stack.enter_context(
            run_dashboard(Kept(create_place(folder).folder, file=file))
        )
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
    with tempfile.TemporaryDirectory() as name, shelf() as folder, ExitStack() as stack:
        few, many = (
            Asked(stack, Path(name) / str(runs), folder / f"{runs}.db", runs) for runs in (SMALL, large)
        )
        for word, path in (("overview", "/"), ("run", "/runs/{}")):
            taken = [[side.seconds(path.format(side.run)) for side in (few, many)] for _ in range(rounds + 3)]
            less, more = (median(times) for times in zip(*taken[3:], strict=True))
            print(f"# {word}: {less * 1000:.1f} ms with {SMALL} runs, {more * 1000:.1f} ms with {large}")
            report(f"pages_{word}_x_{SMALL}_runs", more / less, GOAL)


if __name__ == "__main__":
    main()
