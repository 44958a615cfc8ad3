"""One browser for all modules here, and a profile in it that has forgotten all before each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from helpers.browser import CHROMIUM, FLAGS, DashboardProcess, run_dashboard
from helpers.face_runs import FaceRuns, play_all_faces
from helpers.large_workflow import build_large_text
from helpers.program import run_command
from helpers.servers import BOUND, Place, create_place


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, as the machine has it: it takes two seconds of a processor until a page can be opened.

    While it is open, a loop runs here, and no other can be begun: no test of this folder does that.
    """
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
        yield found
        found.close()


@pytest.fixture(scope="package")
def window(browser: Browser) -> Iterator[BrowserContext]:
    """A window that stays open: to open another takes longer than all that a test does in it."""
    yield from _opened(browser, scripts=True)


@pytest.fixture(scope="package")
def plain_window(browser: Browser) -> Iterator[BrowserContext]:
    """The same without JavaScript."""
    yield from _opened(browser, scripts=False)


@pytest.fixture
def context(window: BrowserContext) -> Iterator[BrowserContext]:
    """A browser that knows nothing yet. What it cannot forget has no place in it: see `apart`."""
    yield window
    _forget(window)


@pytest.fixture
def scriptless(plain_window: BrowserContext) -> Iterator[BrowserContext]:
    """The same without JavaScript."""
    yield plain_window
    _forget(plain_window)


@pytest.fixture
def apart(browser: Browser) -> Iterator[BrowserContext]:
    """A browser for one test only."""
    yield from _opened(browser, scripts=True)


def _opened(browser: Browser, *, scripts: bool) -> Iterator[BrowserContext]:
    """A profile, and a window of it with an empty tab, which stays."""
    made = browser.new_context(java_script_enabled=scripts)
    made.set_default_timeout(BOUND * 1000)
    made.new_page()
    yield made
    made.close()


def _forget(context: BrowserContext) -> None:
    """Close what a test has opened, and forget what its pages have left: our pages keep nothing else."""
    stays, *others = context.pages
    for page in others:
        page.close()
    context.clear_cookies()
    context.clear_permissions()
    session = context.new_cdp_session(stays)
    session.send("Network.clearBrowserCache")
    session.detach()


@pytest.fixture
def at(tmp_path: Path) -> Place:
    """A project and a store."""
    return create_place(tmp_path / "place")


@pytest.fixture(scope="session")
def faces(tmp_path_factory: pytest.TempPathFactory) -> FaceRuns:
    """A store with a run of every face; no test changes it."""
    at = create_place(Path(tmp_path_factory.mktemp("faces")) / "place", large=build_large_text())
    play_all_faces(at)
    listed = run_command("runs", "list", "--store", at.store, "--json", cwd=at.folder).data["runs"]
    return FaceRuns(at, {run["face"]: run["id"] for run in listed})


@pytest.fixture(scope="session")
def board(faces: FaceRuns) -> Iterator[DashboardProcess]:
    """The pages over it."""
    with run_dashboard(faces.at) as made:
        yield made
