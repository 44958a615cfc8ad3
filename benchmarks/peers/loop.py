"""The one loop that measures everybody: for each number on a line of stdin, the seconds of so many steps."""

import gc
import sys
import time
from collections.abc import Callable


def serve(call: Callable[[], object], steps: int = 1) -> None:
    """Measure until stdin ends; `call` takes so many steps at once."""
    print("ready", flush=True)
    for line in sys.stdin:
        calls = range(int(line) // steps)
        gc.collect()
        began = time.perf_counter()
        for _ in calls:
            call()
        print(time.perf_counter() - began, flush=True)
