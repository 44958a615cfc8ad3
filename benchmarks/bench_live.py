"""How long an open page takes to show what an agent did: from a call over stdio to the changed page.

Against the time in which nothing can be shown at worst: until the feed looks again for moves of other
processes, and the page has fetched itself.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from playwright.sync_api import Page, sync_playwright

from handrail.stores.sql.runs import POLL_SECONDS
from helpers.browser import CHROMIUM, FLAGS, await_live_updates, open_signed_in_page, run_dashboard
from helpers.servers import Pipe, create_place
from rounds import report

ROUNDS: Final = 30
STEPS: Final = ("one", "two", "three", "four", "five", "six")

_WATCHED: Final = """(step) => {
  const shown = () => document.querySelector(".step.is-running .step-name")?.textContent === step;
  window.seen = new Promise((done) => {
    new MutationObserver((_, watch) => {
      if (!shown()) return;
      watch.disconnect();
      done((performance.timeOrigin + performance.now()) / 1000);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}"""
_FETCHED: Final = """async () => {
  const began = performance.now();
  await (await fetch(location.pathname + "?fragment=1")).text();
  return (performance.now() - began) / 1000;
}"""


def latencies(agent: Pipe, page: Page, url: str, rounds: int) -> tuple[list[float], list[float]]:
    """How long each of so many calls took to be seen, and a bare fetch of the page each time."""
    seen, fetched = list[float](), list[float]()
    while len(seen) < rounds:
        answer = agent.start()
        page.goto(f"{url}/runs/{answer.run}")
        await_live_updates(page)
        for step in STEPS[1:]:
            page.evaluate(_WATCHED, step)
            fetched.append(page.evaluate(_FETCHED))
            began = time.time()
            answer = agent.continue_run(answer.token)
            seen.append(page.evaluate("seen") - began)
    return seen, fetched


def main(rounds: int = ROUNDS) -> None:
    """Print the figure."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        at = create_place(Path(name) / "place")
        with Pipe(at) as agent:
            agent.start()
            with run_dashboard(at) as pages:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
                page = open_signed_in_page(browser.new_context(), pages)
                seen, fetched = latencies(agent, page, pages.url, rounds)
                browser.close()
    print(f"# {len(seen)} calls, median {median(seen) * 1000:.0f} ms, longest {max(seen) * 1000:.0f} ms")
    report("live_page_x_poll_and_fetch", median(seen) / (POLL_SECONDS + median(fetched)), 1.0)


if __name__ == "__main__":
    main()
