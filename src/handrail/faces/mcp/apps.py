"""The extension that puts a page into the chat (MCP Apps), for clients that declare it. Nobody else sees it.

The page is one resource for every face. A tool that shows where a run stands names it, and the answer carries
the picture in its `_meta`: the answer itself is the same for every client.
"""

import base64
import hashlib
import logging
from collections.abc import Awaitable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

from anyio.to_thread import run_sync
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID, client_supports_apps
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from handrail.faces.board.texts import catalogue
from handrail.faces.mcp.face import Stand
from handrail.shell.faults import Fault
from handrail.shell.view import Records
from handrail.workflows.draw.style import STYLE

log = logging.getLogger("handrail")

URI: Final = "ui://handrail/run"
MIME: Final = APP_MIME_TYPE
META: Final[Mapping[str, Any]] = {
    "ui": {
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}
"""What a host is told of the page: it needs no host, no frame and no permission."""


async def pictured(stands: Awaitable[Stand | None], records: Records) -> dict[str, Any] | None:
    """The `_meta` of an answer after which a run stands so; None without a run, and if anything goes wrong.

    The answer is given by then, and what it tells has happened: it does not fail for want of a picture.
    """
    from handrail.faces.mcp.shown import shown_in  # noqa: PLC0415 - most clients are never shown one

    try:
        stand = await stands
        return await run_sync(shown_in, records, stand) if stand else None
    except Fault as fault:
        log.warning("no picture: %s; %s", fault.message, fault.repair)
    except Exception:
        log.exception("no picture")
    return None


@cache
def page() -> str:
    """The page, complete in itself: its style and its script are those whose hashes its policy names."""
    t = catalogue()
    folder = files(__package__).joinpath("app")
    source, style, script = (
        folder.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    dressed = f"{style}{STYLE}"
    policy = (
        f"default-src 'none'; style-src '{_hash(dressed)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    words = {name: escape(t(f"app.{name}")) for name in ("waiting", "picture", "words")}
    given = {"lang": t("lang"), "brand": escape(t("brand")), **words, "policy": policy}
    for name, value in {**given, "style": dressed, "script": script}.items():
        source = source.replace(f"{{{{{name}}}}}", value)
    return source


class Offered:
    """Adds the page to what a client is told that has declared the extension; all else passes as it is.

    `tools` are the names of those that the page is for.
    """

    def __init__(self, tools: frozenset[str]) -> None:
        self._tools = tools

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """What the server says, and the page where it belongs."""
        found = await call_next(ctx)
        if not isinstance(found, dict) or ctx.method not in _ADDED or not _declared(ctx):
            return found
        return self._added(ctx.method, found)

    def _added(self, method: str, found: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "tools/list":
                return {**found, "tools": [*map(self._tool, found["tools"])]}
            case "resources/list":
                return {**found, "resources": [*found["resources"], _listed()]}
            case _:
                able = found["capabilities"]
                extensions = {**(able.get("extensions") or {}), EXTENSION_ID: {}}
                return {**found, "capabilities": {**able, "extensions": extensions}}

    def _tool(self, tool: dict[str, Any]) -> dict[str, Any]:
        return {**tool, "_meta": {"ui": {"resourceUri": URI}}} if tool["name"] in self._tools else tool


_ADDED: Final = frozenset({"initialize", "server/discover", "tools/list", "resources/list"})


def _declared(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client says now, or has said, that it can show the page."""
    if ctx.method != "initialize":
        return client_supports_apps(ctx)
    able = (ctx.params or {})["capabilities"]
    kinds = ((able.get("extensions") or {}).get(EXTENSION_ID) or {}).get("mimeTypes")
    return isinstance(kinds, list) and MIME in kinds


def _listed() -> dict[str, Any]:
    t = catalogue()
    named = {"name": t("brand"), "description": t("app.resource")}
    return {"uri": URI, **named, "mimeType": MIME, "_meta": META}


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
