"""One browser for each module, and a new profile in it for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from faces.board.desk import CHROMIUM, FLAGS, Pages, dashboard
from faces.board.five import Faces, five
from faces.board.large import large
from faces.mcp.desk import BOUND, Place, place
from program import command


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


@pytest.fixture(scope="session")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Faces:
    """A store with a run of every face; no test changes it."""
    at = place(Path(tmp_path_factory.mktemp("faces")) / "place", large=large())
    five(at)
    listed = command("runs", "list", "--store", at.store, "--json", cwd=at.folder).data["runs"]
    return Faces(at, {run["face"]: run["id"] for run in listed})


@pytest.fixture(scope="session")
def board(faces: Faces) -> Iterator[Pages]:
    """The pages over it."""
    with dashboard(faces.at) as made:
        yield made
