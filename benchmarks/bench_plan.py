"""The plan parser against a bare scanner, two readers of commits in Node, and a parser of Markdown.

`python benchmarks/bench_plan.py FILE` takes the messages from a file of JSON lines, each with a `message`.
"""

import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

from markdown_it import MarkdownIt

from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS
from handrail.documents.plan.parse import parse_plan
from handrail.documents.plan.validate import validate_plan
from messages import MESSAGES, PLANS
from rounds import bar, ratio, report, report_least, report_missing
from scanner import scan

ROOT: Final = Path(__file__).resolve().parent.parent
NODE: Final = ROOT / ".node"
PEER: Final = (NODE / "node_modules" / "conventional-commits-parser" / "dist" / "index.js",)
LINT: Final = tuple(
    ROOT / ".bench" / "node" / "node_modules" / "@commitlint" / name
    for name in ("lint/lib/lint.js", "config-conventional/lib/index.js")
)
"""The files of each: its code, and its rules, if it has any."""

PASSES: Final = 20
"""How often a round goes over all texts."""

CHART: Final = "A commit message read, microseconds"
Given: TypeAlias = tuple[Sequence[str], int]
"""Messages, and how many rounds to go over them."""

HALF: Final = 45_000
T: Final = "feat(x): t\n\n"
HOSTILE: Final[tuple[Callable[[int], str], ...]] = (
    lambda n: "feat(x):" + " " * n + "\rx\r",
    lambda n: T + "\n" * (n // 2) + "a\n" + "- b\n" * (n // 8),
    lambda n: T + "- " + "a:" * (n // 2),
    lambda n: T + "- A: B\n" * (n // 7),
    lambda n: T + " " * (n // 2) + "- " + " " * (n // 2),
    lambda n: T + "- [ ]: a\n~~~ " + "A " * (n // 2) + "~~",
    lambda n: T + "Constraints:\n" + "- Never: b\n" * (n // 11),
)


def over(read: Callable[[str], object], texts: Sequence[str], passes: int = PASSES) -> Callable[[], None]:
    """The work of reading all texts so many times."""

    def work() -> None:
        for _ in range(passes):
            for text in texts:
                read(text)

    return work


def checked(text: str) -> object:
    """Read a message and say what is wrong with it."""
    return validate_plan(parse_plan(text))


@contextmanager
def in_node(files: Sequence[Path], messages: Sequence[str]) -> Iterator[Callable[[], float]]:
    """A process with the code of others; each call has it read all messages and gives the seconds."""
    code, *rules = files
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(messages, file)
        file.flush()
        script = Path(__file__).with_name("peer.mjs")
        words = [str(part) for part in (NODE / "node", script, code, file.name, *rules)]
        with subprocess.Popen(  # noqa: S603 - our own script
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        ) as peer:
            if peer.stdin is None or peer.stdout is None:
                raise SystemExit("a process without pipes cannot be measured")
            given, taken = peer.stdin, peer.stdout

            def once() -> float:
                given.write("\n")
                return float(taken.readline())

            yield once
            given.close()


def against(
    files: Sequence[Path], read: Callable[[str], object], messages: Sequence[str], rounds: int
) -> float:
    """How many times as long theirs takes as ours, by the medians of rounds taken in turn."""
    ours, theirs = [], []
    work = over(read, messages, 1)
    with in_node(files, messages) as once:
        for _ in range(PASSES):
            once()
        for _ in range(rounds * 5):
            gc.collect()
            theirs.append(once())
            began = time.perf_counter()
            work()
            ours.append(time.perf_counter() - began)
    said = "conventional-commits-parser" if files is PEER else "commitlint"
    bar(CHART, f"Handrail, {read.__name__}", median(ours) / len(messages) * 1e6)
    bar(CHART, said, median(theirs) / len(messages) * 1e6)
    return median(theirs) / median(ours)


def compared(name: str, files: Sequence[Path], read: Callable[[str], object], given: Given) -> None:
    """Print the figure against one of those in Node."""
    if all(file.is_file() for file in files):
        report_least(name, against(files, read, *given), 20)
    else:
        report_missing(name, 20)


def doubling(rounds: int) -> float:
    """How many times as long twice a hostile text takes, for the worst of them.

    The processor's time is taken, and the least of several rounds: on a busy machine the longer of two works
    is interrupted more often.
    """
    gc.collect()
    found = 0.0
    for make in HOSTILE:
        for config in (COMMIT_MESSAGE, COMMITS):
            works = [over(partial(parse_plan, config=config), [make(size)], 3) for size in (HALF, 2 * HALF)]
            taken = [[_seconds(work) for work in works] for _ in range(rounds * 5)]
            once, twice = (min(column) for column in zip(*taken, strict=True))
            found = max(found, twice / once)
    return found


def _seconds(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main(messages: Sequence[str] = MESSAGES, rounds: int = 9) -> None:
    """Print the figures."""
    report_least(
        "plan_x_bare_scanner", 1 / ratio(over(parse_plan, messages), over(scan, messages), rounds), 0.6
    )
    compared("plan_x_conventional_commits_parser", PEER, parse_plan, (messages, rounds))
    compared("plan_x_commitlint", LINT, checked, (messages, rounds))
    markdown = ratio(over(parse_plan, PLANS), over(MarkdownIt().parse, PLANS, 1), rounds) / PASSES
    report_least("plan_x_markdown_it", 1 / markdown, 20)
    report("plan_twice_the_text", doubling(rounds), 2.5)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main([json.loads(line)["message"] for line in Path(sys.argv[1]).read_text("utf-8").splitlines()])
    else:
        main()
