"""`make screenshots`: every page, light, dark and on a phone, from a store filled through every face."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from helpers.browser import CHROMIUM, FLAGS, DashboardProcess, open_signed_in_page, run_dashboard
from tools.filled_store import Filled, filled

FOLDER: Final = Path(__file__).resolve().parent.parent / "screenshots"
LARGE: Final[ViewportSize] = {"width": 1280, "height": 900}
SMALL: Final[ViewportSize] = {"width": 390, "height": 844}
LOOKS: Final[dict[str, tuple[Literal["light", "dark"], ViewportSize]]] = {
    "light": ("light", LARGE),
    "dark": ("dark", LARGE),
    "phone": ("light", SMALL),
}
PRESSED: Final[dict[str, tuple[str, ...]]] = {
    "picked": (),
    "bulk-pause": ("#bulk [value=pause]",),
    "bulk-abandon": ("#bulk [value=abandon]",),
}
"""Pages that come of buttons: what is pressed in the overview when every run is picked that can be."""

SIGNS: Final = ("paused", "running", "completed", "spells", "skills", "planner", "commits")


def pages(store: Filled) -> Iterator[tuple[str, str]]:
    """The name of each picture, and the path of its page."""
    yield "overview", "/"
    yield "filters", "/?q=the&lifecycle=running&lifecycle=completed"
    for sign in SIGNS:
        yield f"run-{sign}", f"/runs/{store.runs[sign]}"
    for tab in ("history", "artifacts", "graph", "timeline"):
        yield f"run-completed-{tab}", f"/runs/{store.runs['completed']}/{tab}"
    for sign in SIGNS[3:]:
        yield f"run-{sign}-plan", f"/runs/{store.runs[sign]}/plan"
        yield f"run-{sign}-graph", f"/runs/{store.runs[sign]}/graph"
    yield "changes", f"/runs/{store.runs['completed']}/artifacts?n=3&from=2"
    yield "act-by-hand", f"/runs/{store.runs['running']}/do/complete-step"
    yield "act-fork", f"/runs/{store.runs['failed']}/do/fork"
    for board in ("workflows", "steps", "telemetry", "activity"):
        yield f"insights-{board}", f"/insights/{board}?range=30d"
    yield "workflows", "/workflows"
    for name in ("bug-fix", "skills", "nightly"):
        yield f"workflow-{name}", f"/workflows/{name}"
    yield "personas", "/personas"
    yield "guardrails", "/guardrails/secrets"
    yield "missing", "/nothing"


def _taken(browser: Browser, shown: DashboardProcess, store: Filled, only: str) -> int:
    taken = 0
    for look, (scheme, size) in LOOKS.items():
        context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        page = open_signed_in_page(context, shown)
        for name, path in pages(store):
            if only in f"{name}-{look}":
                page.goto(shown.url + path)
                page.screenshot(path=FOLDER / f"{name}-{look}.png", full_page=True)
                taken += 1
        for name, steps in PRESSED.items():
            if only in f"{name}-{look}":
                page.goto(shown.url)
                for tick in page.locator(".pick").all():
                    tick.check()
                for button in steps:
                    page.locator(button).click()
                page.screenshot(path=FOLDER / f"{name}-{look}.png", full_page=bool(steps))
                taken += 1
        context.close()
    return taken


def main(only: str = "") -> None:
    """Take them all, or those whose names have this in them."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = filled(Path(folder))
        with run_dashboard(store.at, "--project", str(store.at.project)) as shown:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
            taken = _taken(browser, shown, store, only)
            browser.close()
    print(f"{taken} pictures in {FOLDER}")


if __name__ == "__main__":
    main(*sys.argv[1:])
