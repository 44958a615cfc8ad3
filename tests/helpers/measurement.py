"""Whose coverage is measured: that of every test but those with the mark `unmeasured`, which come last.

Under measurement everything takes about twice as long. A test that does very often, or in many processes,
what others do once shows nothing more by it. Measuring ends before the first of them: what is kept from one
test to the next was then made while it was measured, whichever tests a worker gets.
"""

import os
from typing import Final

import coverage
import pytest

MARK: Final = "unmeasured"


def move_unmeasured_last(items: list[pytest.Item]) -> None:
    """Put the tests with the mark behind all others; the order is kept else."""
    items.sort(key=is_unmeasured)


def is_unmeasured(item: pytest.Item) -> bool:
    """True if the coverage of a test is not measured."""
    return item.get_closest_marker(MARK) is not None


def stop_measuring_here() -> None:
    """Measure nothing in this process from now on; what was measured stays."""
    measuring = coverage.Coverage.current()
    if measuring is not None:
        measuring.stop()


def stop_measuring() -> None:
    """Measure nothing from now on, neither here nor in programs that are started."""
    stop_measuring_here()
    for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS_")]:
        del os.environ[name]
