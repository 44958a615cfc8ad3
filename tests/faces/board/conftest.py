"""One browser for each module, and a new profile in it for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from faces.board.desk import CHROMIUM, FLAGS
from faces.mcp.desk import BOUND, Place, place


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, as the machine has it. While it is open, a loop runs here: no other can be begun."""
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
        yield found
        found.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that knows nothing yet."""
    made = browser.new_context()
    made.set_default_timeout(BOUND * 1000)
    yield made
    made.close()


@pytest.fixture
def at(tmp_path: Path) -> Place:
    """A project and a store."""
    return place(tmp_path / "place")
