"""What `make bench` runs: every benchmarks/bench_*.py, every figure beside its goal, and a page of all.

`python -m tools.bench [NAME ...]` runs the named ones only, and then no page is written. A benchmark prints
lines `name value goal ok|short|missing`, and others that are remarks. Exit 1 if a figure falls short, or a
benchmark fails or prints no figure.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import Final

from tools.bench_page import Bench, machine, written

ROOT: Final = Path(__file__).resolve().parent.parent
BOUND: Final = 900
"""How many seconds a benchmark may take before it counts as stuck."""


def chosen(folder: Path, names: Sequence[str]) -> list[Path]:
    """The benchmarks of a folder that are meant: `turn` is `bench_turn.py`; none named, all. Else it ends."""
    files = {file.stem.removeprefix("bench_"): file for file in sorted(folder.glob("bench_*.py"))}
    wanted = [name.removesuffix(".py").removeprefix("bench_") for name in names] or list(files)
    if unknown := [name for name in wanted if name not in files]:
        raise SystemExit(f"bench: there is no {', '.join(unknown)}; there are {', '.join(files) or 'none'}")
    return [files[name] for name in wanted]


def ran(file: Path, stored: str) -> Bench:
    """A benchmark, run to its end; what it prints is shown as it comes.

    What is `kept` in that folder it may take from those before, and leave to those behind it.
    """
    began, lines = time.monotonic(), list[str]()
    print(f"# {file.name}", flush=True)
    command, env = (sys.executable, str(file)), {**os.environ, "HANDRAIL_BENCH_KEPT": stored}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        stuck = Timer(BOUND, process.kill)
        stuck.start()
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
        failed = process.wait() != 0
        stuck.cancel()
    bench = Bench(file, tuple(lines), time.monotonic() - began, failed)
    print(f"# {file.name}: {bench.seconds:.0f} s", flush=True)
    return bench


def main(names: Sequence[str], folder: Path = ROOT / "benchmarks", docs: Path = ROOT / "docs") -> int:
    """Run them; all of them also write the page."""
    with tempfile.TemporaryDirectory() as stored:
        benches = [ran(file, stored) for file in chosen(folder, names)]
    if not names:
        written(docs, benches, f"{datetime.now(UTC).date()}, {machine()}")
    for bench in benches:
        if trouble := bench.trouble:
            print(f"bench: {bench.file.name} {trouble}", file=sys.stderr)
    print(f"# {sum(bench.seconds for bench in benches) / 60:.1f} minutes")
    return 1 if any(bench.bad for bench in benches) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
