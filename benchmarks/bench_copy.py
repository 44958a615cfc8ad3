"""A store with a hundred thousand runs is copied to PostgreSQL and back: what a run costs, beside a tenth.

`HANDRAIL_BENCH_RUNS` makes the largest store smaller, to try the benchmark out.
"""

import os
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from fill import fill
from handrail.app.stores import copy_store
from handrail.runtime.store_address import DatabaseUrl, StoreLocation
from handrail.stores.sql.sqlite import SqliteDatabase
from rounds import report
from servers import confirming

LARGEST: Final = int(os.environ.get("HANDRAIL_BENCH_RUNS", "1000000")) // 10
SIZES: Final = (LARGEST // 10, LARGEST)


def seconds(source: StoreLocation, target: StoreLocation) -> float:
    """How long it takes to copy a store."""
    began = time.perf_counter()
    copy_store(source, target, lambda *_: None)
    return time.perf_counter() - began


def main() -> None:
    """Print the figures."""
    there: list[float] = []
    back: list[float] = []
    with tempfile.TemporaryDirectory() as name, confirming() as server:
        for runs in SIZES:
            source, last = Path(name, f"{runs}.db"), Path(name, "back", f"{runs}.db")
            with closing(SqliteDatabase(source)):
                pass
            fill(source, runs, runs)
            target = DatabaseUrl(server.create_database())
            there.append(seconds(source, target) / runs)
            back.append(seconds(target, last) / runs)
            print(f"copy {runs} runs: {there[-1] * 1e6:.0f} us a run there, {back[-1] * 1e6:.0f} us back")
    report("copy_to_postgresql_x_a_tenth", there[1] / there[0], 1.5)
    report("copy_from_postgresql_x_a_tenth", back[1] / back[0], 1.5)


if __name__ == "__main__":
    main()
