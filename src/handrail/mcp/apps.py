"""The MCP app: a page with a picture of the run, for clients that declare the apps extension.

`add_page` announces the page; `load_picture_meta` adds the picture to the `_meta` of a tool's answer. A
picture that cannot be made never makes the call fail.
"""

import base64
import hashlib
import logging
from collections.abc import Awaitable, Mapping
from functools import cache, partial
from html import escape
from importlib.resources import files
from typing import Any, Final

from anyio.to_thread import run_sync
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID, client_supports_apps
from mcp.server.context import ServerRequestContext

from handrail.app.faces import RunStatus, load_message_catalog
from handrail.drawing.style import GRAPH_STYLE
from handrail.runtime.errors import Fault
from handrail.runtime.ports.queries import RunQueries, iterate_pages

log = logging.getLogger("handrail")
PAGE_URI: Final = "ui://handrail/run"
PAGE_MIME: Final = APP_MIME_TYPE

PAGE_META: Final[Mapping[str, Any]] = {
    "ui": {
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}
"""The metadata of the page: it connects to no domain, embeds no frame, and needs no permission."""

PICTURE_META_KEY: Final = "handrail/stands"
"""The key in a tool answer's `_meta` for the data that the page shows."""

PAGE_METHODS: Final = frozenset({"initialize", "server/discover", "tools/list", "resources/list"})


def add_page(method: str, result: dict[str, Any], tools: frozenset[str]) -> dict[str, Any]:
    """Return the result of one of `PAGE_METHODS` with the page; `tools` are those whose answers it shows."""
    match method:
        case "tools/list":
            link = {"_meta": {"ui": {"resourceUri": PAGE_URI}}}
            return {
                **result,
                "tools": [{**tool, **link} if tool["name"] in tools else tool for tool in result["tools"]],
            }
        case "resources/list":
            return {**result, "resources": [*result["resources"], _page_entry()]}
        case _:
            capabilities = result["capabilities"]
            extensions = {**(capabilities.get("extensions") or {}), EXTENSION_ID: {}}
            return {**result, "capabilities": {**capabilities, "extensions": extensions}}


def declares_apps(ctx: ServerRequestContext[Any, Any]) -> bool:
    """True if the client declares that it can show the page, in this `initialize` or before."""
    if ctx.method != "initialize":
        return client_supports_apps(ctx)
    capabilities = (ctx.params or {})["capabilities"]
    mime_types = ((capabilities.get("extensions") or {}).get(EXTENSION_ID) or {}).get("mimeTypes")
    return isinstance(mime_types, list) and PAGE_MIME in mime_types


def _page_entry() -> dict[str, Any]:
    t = load_message_catalog()
    named = {"name": t("brand"), "description": t("app.resource")}
    return {"uri": PAGE_URI, **named, "mimeType": PAGE_MIME, "_meta": PAGE_META}


@cache
def render_app_page() -> str:
    """Return the page with inline style and script. Its content security policy allows only their hashes."""
    t = load_message_catalog()
    folder = files(__package__).joinpath("page")
    source, style, script = (
        folder.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    full_style = f"{style}{GRAPH_STYLE}"
    policy = (
        f"default-src 'none'; style-src '{_policy_hash(full_style)}'; script-src '{_policy_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    words = {name: escape(t(f"app.{name}")) for name in ("waiting", "picture", "words")}
    values = {"lang": t("lang"), "brand": escape(t("brand")), **words, "policy": policy}
    for name, value in {**values, "style": full_style, "script": script}.items():
        source = source.replace(f"{{{{{name}}}}}", value)
    return source


def _policy_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


async def load_picture_meta(
    status: Awaitable[RunStatus | None], records: RunQueries
) -> dict[str, Any] | None:
    """Return the `_meta` with the picture of a run; None without a run or if anything goes wrong.

    The call has already taken effect, so a missing picture must not make it fail; the log has the reason.
    """
    try:
        current = await status
        return await run_sync(build_picture_meta, records, current) if current else None
    except Fault as fault:
        log.warning("no picture: %s; %s", fault.message, fault.repair)
    except Exception:
        log.exception("no picture")
    return None


def build_picture_meta(records: RunQueries, status: RunStatus) -> dict[str, Any]:
    """Return the `_meta` with the picture of a run as it is after a call."""
    from handrail.mcp.run_picture import build_picture  # noqa: PLC0415 - few clients show pictures, and drawing is slow to import

    row = records.run(status.id)
    journal = tuple(iterate_pages(partial(records.journal, run=status.id))) if row else ()
    return {PICTURE_META_KEY: build_picture(status, row.goal if row else "", journal)}
