"""The bench of the pages: the real `handrail dashboard`, a real Chromium, and raw requests."""

import http.client
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Final

from playwright.sync_api import BrowserContext, Page, expect

from helpers.forks import ServedProcess, start_process
from helpers.http_servers import HttpAnswer
from helpers.program import PROGRAM
from helpers.servers import BOUND, Place

CHROMIUM: Final = "/usr/bin/chromium"
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LIVE: Final = ".live[data-state=live]"
expect.set_options(timeout=BOUND * 1000)


@dataclass(slots=True)
class DashboardProcess:
    """A dashboard that runs; `links` are those it has printed."""

    process: ServedProcess
    said: IO[bytes]
    links: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it is."""
        return self.links[0].partition("/in/")[0]

    @property
    def host(self) -> str:
        """What `Host` must say."""
        return self.url.removeprefix("http://")

    def link(self) -> str:
        """The next link that it prints."""
        self.links.append(self.said.readline().decode().strip())
        assert self.links[-1].startswith("http://127.0.0.1:")
        return self.links[-1]

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> HttpAnswer:
        """Send exactly these headers."""
        host, _, port = self.host.partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=BOUND)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(body or None)
            response = connection.getresponse()
            said = {name.lower(): value for name, value in response.getheaders()}
            return HttpAnswer(response.status, response.read().decode(), said)
        finally:
            connection.close()

    def cookie(self) -> str:
        """What a browser that was let in sends with every request."""
        answered = self.ask("GET", self.links[-1].removeprefix(self.url), {"Host": self.host})
        assert answered.status == 303
        self.link()
        return answered.headers["set-cookie"].partition(";")[0]

    def end(self) -> int:
        """Tell it to end; the status it ends with."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(BOUND)


@contextmanager
def run_dashboard(at: Place, *words: str, **env: str) -> Iterator[DashboardProcess]:
    """The pages over the store of a place; they must end well when they are told to."""
    command = (str(PROGRAM), "dashboard", "--store", str(at.store), "--port", "0", "--no-open", *words)
    with (at.folder / "stderr-board").open("wb") as errors:
        process = start_process(command, {**at.env, **env}, at.folder, errors.fileno())
    with process:
        assert process.stdout is not None
        made = DashboardProcess(process, process.stdout)
        try:
            made.link()
            yield made
            if process.poll() is None:
                assert made.end() == 0
        finally:
            process.send_signal(signal.SIGKILL)
    said = (at.folder / "stderr-board").read_text("utf-8")
    assert said == "", said


def open_signed_in_page(context: BrowserContext, pages: DashboardProcess, path: str = "") -> Page:
    """A page of a browser that was let in, empty unless a path is given."""
    context.request.get(pages.links[-1], max_redirects=0)
    pages.link()
    page = context.new_page()
    if path:
        page.goto(pages.url + path)
    return page


def await_live_updates(page: Page) -> None:
    """Wait until a page hears what happens."""
    expect(page.locator(LIVE)).to_be_visible()
