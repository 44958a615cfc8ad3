"""A server of ours with the fixtures of the conformance suite, behind our own guard.

Run as a program: `python -m helpers.conformance_server PROJECT STORE`. It serves until it is told to end, and
says where, as `handrail serve --http` does.
"""

import base64
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import mcp_types as types

from handrail.app.app import App, open_app
from handrail.app.asgi import parse_listen_address
from handrail.cli.serve_http import DashboardPages, make_dashboard_factory
from handrail.dashboard.viewer import Dashboards
from handrail.http.application import Backend
from handrail.http.authentication import Authenticator
from handrail.http.metrics import Metrics
from handrail.http.server import run_http_server
from handrail.mcp.addresses import Spelling
from handrail.mcp.resources import Resources
from handrail.mcp.server import Context, FaceServer
from handrail.mcp.streamable_http import ServedProjects, Tenants
from handrail.runtime.system import SubprocessRunner
from handrail.stores.vcs.commands import MAX_STATUS_BYTES, read_vcs_status
from helpers import conformance_fixtures
from helpers.conformance_fixtures import PICTURE, RESOURCES, SOUND, TEMPLATE, SuiteFace, embed_resource
from helpers.conformance_questions import (
    ASKING,
    CONTEXT,
    NEEDED,
    Fixture,
    Result,
    ToolArguments,
    ToolRequest,
    build_text_result,
    get_field_value,
    request_input,
)

FACE: Final = "fixtures"

CONTENTS: Final[Mapping[str, list[types.ContentBlock]]] = {
    "test_image_content": [PICTURE],
    "test_audio_content": [SOUND],
    "test_embedded_resource": [
        embed_resource("test://embedded-resource", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        types.TextContent(text="Multiple content types test:"),
        PICTURE,
        embed_resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
}


async def _with_progress(asked: ToolRequest, _: ToolArguments) -> Result:
    for part in (0, 50, 100):
        await asked.report_progress(part, 100)
    return build_text_result("All of it is done")


async def _with_logging(asked: ToolRequest, _: ToolArguments) -> Result:
    for answer in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await asked.log("info", answer)
    return build_text_result("All of it is told")


async def _other_tools(asked: ToolRequest, _: ToolArguments) -> Result:
    await asked.notify_tools_changed()
    return build_text_result("There are other tools now")


async def _other_prompts(asked: ToolRequest, _: ToolArguments) -> Result:
    await asked.notify_prompts_changed()
    return build_text_result("There are other prompts now")


FIXTURES: Final[Mapping[str, Fixture]] = {
    **ASKING,
    "test_tool_with_progress": _with_progress,
    "test_tool_with_logging": _with_logging,
    "test_logging_tool": _with_logging,
    "test_trigger_tool_change": _other_tools,
    "test_trigger_prompt_change": _other_prompts,
}


class SuiteServer(FaceServer):
    """A face as it is served, and before it what only the suite asks for."""

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Result:
        if params.name in CONTENTS:
            return types.CallToolResult(content=CONTENTS[params.name])
        if params.name in FIXTURES:
            return await FIXTURES[params.name](self._asked(ctx, params), params.arguments or {})
        return await super().call_tool(ctx, params)

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        found = await super().list_resources(ctx, params)
        return types.ListResourcesResult(resources=[*RESOURCES, *found.resources])

    async def list_resource_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        found = await super().list_resource_templates(ctx, params)
        return types.ListResourceTemplatesResult(resource_templates=[TEMPLATE, *found.resource_templates])

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        found = conformance_fixtures.read_content(params.uri)
        if found is None:
            return await super().read_resource(ctx, params)
        named: dict[str, Any] = {
            "uri": params.uri,
            "mime_type": conformance_fixtures.get_mime_type(params.uri),
        }
        if isinstance(found, bytes):
            blob = types.BlobResourceContents(**named, blob=base64.b64encode(found).decode())
            return types.ReadResourceResult(contents=[blob])
        return types.ReadResourceResult(contents=[types.TextResourceContents(**named, text=found)])

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        match params.name:
            case "test_prompt_with_embedded_resource":
                address = str((params.arguments or {})["resourceUri"])
                first = embed_resource(address, "Embedded resource content for testing.")
                return _messages(first, "Please process the embedded resource above.")
            case "test_prompt_with_image":
                return _messages(PICTURE, "Please analyze the image above.")
            case "test_input_required_result_prompt":
                answer = get_field_value(self._asked(ctx, params), "user_context", "context")
                return (
                    _messages(f"Use this context: {answer}")
                    if answer
                    else request_input(user_context=CONTEXT)
                )
            case _:
                return await super().get_prompt(ctx, params)

    def _asked(self, ctx: Context, params: types.InputResponseRequestParams) -> ToolRequest:
        return ToolRequest(request_context=ctx, input_params=params, subscriptions=self.bus)


def _messages(*parts: str | types.ImageContent | types.EmbeddedResource) -> types.GetPromptResult:
    contents = [types.TextContent(text=part) if isinstance(part, str) else part for part in parts]
    messages = [types.PromptMessage(role="user", content=content) for content in contents]
    return types.GetPromptResult(messages=messages)


def build_suite_server(app: App) -> SuiteServer:
    """The server; beside the resources of the suite it has those of a real face."""
    programs = SubprocessRunner({}, MAX_STATUS_BYTES)
    resources = Resources(app, lambda root: read_vcs_status(programs, root))
    listed = SuiteFace({name: NEEDED.get(name, ()) for name in (*CONTENTS, *FIXTURES)})
    return SuiteServer(app, listed, resources, Spelling.PORTABLE)


if __name__ == "__main__":
    with open_app(Path(sys.argv[2]), [Path(sys.argv[1])]) as app:
        door, made = Authenticator(None, app.clock), build_suite_server(app)
        boards = Dashboards(make_dashboard_factory(app, ServedProjects(app.store, {})))
        tenants = Tenants((FACE,), lambda _projects: {FACE: made})
        behind = Backend(tenants, Metrics(), app.store.measure_load, DashboardPages(boards, app.secret))
        run_http_server(parse_listen_address("127.0.0.1:0"), door, behind)
