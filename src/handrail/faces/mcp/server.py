"""The MCP server: what the official SDK leaves open is owned here, for every face and both protocol eras.

Arguments are checked strictly, lists are the same on every call, a tool answers to all its names, and no text
of an exception reaches a client. This file and its neighbours are the only ones that know the SDK. It is
built on the SDK's low-level `Server`: `MCPServer` makes models of arguments, coerces them and adds titles.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, Final, Self, TypeAlias, TypeVar

import mcp_types as types
from anyio import CancelScope, current_time, sleep
from anyio.to_thread import run_sync
from mcp.server import InitializationOptions, NotificationOptions, Server
from mcp.server.apps import client_supports_apps
from mcp.server.caching import CacheHint
from mcp.server.context import ServerMiddleware, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler, PromptsListChanged, ResourcesListChanged
from mcp.shared.exceptions import MCPError

import handrail
from handrail.faces.mcp import apps
from handrail.faces.mcp.asking import asked
from handrail.faces.mcp.bus import Bus
from handrail.faces.mcp.callers import caller_of, grant_in
from handrail.faces.mcp.edges import READING, guarded, incident, permitted, set_level
from handrail.faces.mcp.face import Answer, Face, Failed, Prompt, Question, Tool, UnknownPrompt
from handrail.faces.mcp.names import Names
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.resources import NotFound, Resources
from handrail.faces.mcp.texts import texts
from handrail.shell.access import Scope
from handrail.shell.faults import Fault, SyncFailed
from handrail.shell.opening import Serving
from handrail.shell.records import Change

Result = TypeVar("Result")
Context: TypeAlias = ServerRequestContext[None, Any]

_STATE_TTL: Final = 7 * 24 * 3600.0
"""How many seconds a person may take to answer a question that a tool asked."""

_LOOK: Final = 2.0
"""How many seconds pass between two looks at the files of workflows, personas and guardrails."""

_FRESH: Final = CacheHint(ttl_ms=60_000, scope="private")
_STALE: Final = CacheHint(ttl_ms=0, scope="private")

log = logging.getLogger("handrail")


class Served(Server[None]):
    """One face, served. `halted` is set once the disk has not confirmed a write: then nothing is done.

    `last` is the request whose answer tells of it, if there is one. `meter`, if there is one, is told of each
    call that is answered. Where it is one of several `replicas`, clients of 2025 have no sessions.
    """

    def __init__(  # noqa: PLR0913 - what a server is made of
        self,
        face: Face,
        resources: Resources,
        serving: Serving,
        names: Names,
        projects: Projects,
        *,
        replicas: bool = False,
    ) -> None:
        self._face, self._resources, self._serving = face, resources, serving
        self._portable, self._projects = names is Names.PORTABLE, projects
        self._tools = {name: tool for tool in face.tools for name in tool.names}
        self.halted = asyncio.Event()
        self.last: types.RequestId | None = None
        self.meter: Callable[[Tool, Answer], None] | None = None
        self.bus = Bus(self._heard)
        self.listening = ListenHandler(self.bus)
        self._changes = NotificationOptions(prompts_changed=not replicas, resources_changed=not replicas)
        super().__init__(
            "handrail",
            title="Handrail",
            version=handrail.__version__,
            instructions=f"{face.instructions}\n\n{_without_sessions()}" if replicas else face.instructions,
            lifespan=lambda _: self.alive(),
            cache_hints={
                "tools/list": _FRESH,
                "prompts/list": _FRESH,
                "resources/list": _FRESH,
                "resources/templates/list": _FRESH,
                "resources/read": _STALE,
            },
            get_tool_input_schema=lambda _: None,  # no argument is sent as a header too
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_resource_templates,
            on_read_resource=self.read_resource,
            on_subscribe_resource=None if replicas else self.bus.subscribe_resource,
            on_unsubscribe_resource=None if replicas else self.bus.unsubscribe_resource,
            on_subscriptions_listen=self.listening,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_completion=self.complete,
        )
        self.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
        if not replicas:
            self.add_notification_handler(
                "notifications/initialized", types.NotificationParams, self.bus.meet
            )
        security = RequestStateSecurity(keys=[serving.secret], ttl=_STATE_TTL, bind_principal=_principal)
        shows = frozenset(name for tool in face.tools if tool.shows for name in tool.names)
        # In place of the SDK's own list, which holds its spans: they tell what agents call tools.
        self.middleware[:] = [
            RequestStateBoundary(security, default_audience=self.name),
            guarded,
            permitted,
            apps.Offered(shows),
        ]

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """What a client of 2025 is told at first; no transport of the SDK says which lists may change."""
        changes = notification_options or self._changes
        return super().create_initialization_options(changes, experimental_capabilities, extensions)

    # tools

    async def list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """The tools as their face lists them, always in the same order."""
        del ctx, params
        return types.ListToolsResult(
            tools=[types.Tool.model_validate(tool.listed) for tool in self._face.tools]
        )

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answer a call, or ask. Whatever goes wrong is an answer; only an unknown tool is an error."""
        tool, arguments = self._tools.get(params.name), params.arguments or {}
        if tool is None:
            known = ", ".join(listed.names[0] for listed in self._face.tools)
            raise MCPError(types.INVALID_PARAMS, f"there is no such tool; this face has {known}")
        answer = await self._called(tool, arguments, ctx)
        if isinstance(answer, Question):
            said = await asked(answer, ctx, params)
            if isinstance(said, types.InputRequiredResult):
                return said
            if said is None:
                answer = answer.otherwise
            else:
                answer = await self._answered(tool, arguments, partial(answer.answered, said), ctx)
        if self.meter is not None:
            self.meter(tool, answer)
        shows = tool.shows and not answer.failed
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=dict(answer.reply),
            is_error=answer.failed,
            _meta=await self._pictured(arguments, answer) if shows and client_supports_apps(ctx) else None,
        )

    async def _called(self, tool: Tool, arguments: Mapping[str, Any], ctx: Context) -> Answer | Question:
        """The answer to a call, or what a person is to be asked first. Whatever goes wrong is an answer."""
        needed = _needed(tool)
        if needed in grant_in(ctx.request).scopes:
            work = partial(self._face.call, tool, arguments, caller_of(ctx))
            return await self._answered(tool, arguments, work, ctx)
        message = "your token does not let you do this; nothing was done"
        wanted = f"a token with the scope {needed}: ask whoever runs the server"
        return self._face.failed(tool, arguments, Failed("forbidden", "scope", message, wanted, again=False))

    def trace(self, carried: ServerMiddleware[Any]) -> None:
        """Let the turn of each request know the span of its client."""
        self.middleware.append(carried)

    async def _pictured(self, given: Mapping[str, Any], answer: Answer) -> dict[str, Any] | None:
        """Where the run stands, for the page; without a picture, the answer says it all."""
        stands = self._written(partial(self._face.stands, given, answer))
        return await apps.pictured(stands, self._serving.records)

    def needs(self, method: str, name: str) -> Scope | None:
        """What somebody must be allowed who sends this, if anything; `name` is that of a tool."""
        tool = self._tools.get(name) if method == "tools/call" else None
        return Scope.READ if method in READING else _needed(tool) if tool else None

    async def _answered(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        work: Callable[[], Result],
        ctx: Context,
    ) -> Result | Answer:
        try:
            return await self._written(work)
        except Fault as fault:
            self._halt_on(fault, ctx.request_id)
            hide = self._projects.hide
            failed = Failed(fault.code, "store", hide(fault.message), hide(fault.repair), again=True)
        except Exception as bug:  # noqa: BLE001 - the edge: it is numbered, logged and answered
            needed = f"the server's log tells more under incident {incident(bug)}"
            message = "Handrail failed; nothing is known to have moved"
            failed = Failed("internal", "internal", message, needed, again=False)
        return self._face.failed(tool, arguments, failed)

    async def _written(self, work: Callable[[], Result]) -> Result:
        """The result of work that may write, done in the thread that writes, in the context of who asks."""
        return await self._serving.writer.done(partial(copy_context().run, work))

    # resources

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The fixed resources."""
        del ctx, params
        found = await run_sync(lambda: self._resources.listed(portable=self._portable))
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=one.uri, name=one.name, description=one.about, mime_type=one.mime)
                for one in found
            ]
        )

    async def list_resource_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """The resources that take an argument."""
        del ctx, params
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=one.uri, name=one.name, description=one.about, mime_type=one.mime
                )
                for one in self._resources.templates(portable=self._portable)
            ]
        )

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """What a resource says now."""
        del ctx
        uri = params.uri
        if uri == apps.URI:
            return _contents(uri, apps.page(), apps.MIME, dict(apps.META))
        try:
            content = await run_sync(self._resources.read, uri)
        except NotFound as missing:
            raise MCPError(types.INVALID_PARAMS, str(missing), {"uri": uri}) from None
        except Fault as fault:
            message = self._projects.hide(f"{fault.message}: {fault.repair}")
            raise MCPError(types.INTERNAL_ERROR, message) from None
        return _contents(uri, content.text, content.mime)

    # prompts

    async def list_prompts(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """The prompts of the face."""
        del ctx, params
        return types.ListPromptsResult(
            prompts=[_listed(prompt) for prompt in await run_sync(self._face.prompts)]
        )

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """What a prompt puts into the chat."""
        del ctx
        try:
            text = await run_sync(self._face.prompt, params.name, params.arguments or {})
        except UnknownPrompt as unknown:
            raise MCPError(types.INVALID_PARAMS, str(unknown)) from None
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """What an argument of a prompt or of a resource may be, as far as it is written."""
        del ctx
        ref, argument = params.ref, params.argument
        if isinstance(ref, types.PromptReference):
            found = await run_sync(self._completed, ref.name, argument)
        else:
            found = await run_sync(self._resources.complete, ref.uri, argument.name, argument.value)
        return types.CompleteResult(
            completion=types.Completion(values=list(found[:100]), total=len(found), has_more=len(found) > 100)
        )

    def _completed(self, name: str, argument: types.CompletionArgument) -> tuple[str, ...]:
        prompts = (prompt for prompt in self._face.prompts() if prompt.name == name)
        wanted = (one for prompt in prompts for one in prompt.arguments if one.name == argument.name)
        return tuple(c for one in wanted for c in one.choices if c.startswith(argument.value))

    # what happens beside the calls

    def _heard(self, tell: Callable[[tuple[str, ...]], None]) -> Callable[[], None]:
        """Listen to the feed for as long as somebody is subscribed; tell the URIs that have changed."""

        def changed(change: Change) -> None:
            row = self._serving.records.run(change.run)
            if row is not None:
                tell(self._resources.about(row))

        return self._serving.world.feed.listen(changed)

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[None]:
        """Afterwards nothing of it reads the store."""
        try:
            yield
        finally:
            with CancelScope(shield=True):
                await self.bus.close()

    async def look_after(self, *others: Self) -> None:
        """Give up what has gone quiet, and say so when workflows, personas or guardrails have changed.

        One face of a process does this for all `others`: they have the same store and the same projects.
        What the world does to it is told in the log, and tried again.
        """
        known, due = "", 0.0
        while True:
            try:
                if current_time() >= due:
                    await self._written(self._serving.sweep)
                    due = current_time() + self._serving.every
                known = await self._told_if_changed(known, others)
            except Fault as fault:
                log.warning("%s; %s", fault.message, fault.repair)
                self._halt_on(fault, None)
            await sleep(_LOOK)

    async def _told_if_changed(self, known: str, others: Iterable[Self]) -> str:
        """Tell clients to ask for their lists again, if what was known of the definitions is no longer so."""
        seen = await run_sync(self._projects.signature)
        for served in (self, *others) if known and seen != known else ():
            await served.bus.publish(PromptsListChanged())
            await served.bus.publish(ResourcesListChanged())
        return seen

    def _halt_on(self, fault: Fault, request: types.RequestId | None) -> None:
        """Do nothing more after a write that the disk has not confirmed; `request` is answered with that."""
        if isinstance(fault, SyncFailed):
            self.last = self.last if request is None else request
            self.halted.set()


def _principal(ctx: ServerRequestContext[Any, Any]) -> str:
    """Who is asked: nobody else answers for them."""
    return grant_in(ctx.request).principal


def _needed(tool: Tool) -> Scope:
    """What a call of the tool needs; of one that does not say that it only reads, to write."""
    return Scope.READ if tool.listed.get("annotations", {}).get("readOnlyHint") else Scope.WRITE


def _without_sessions() -> str:
    """What clients of 2025 do not have where any of several servers may answer."""
    return texts("replicas").say("instructions")


def _contents(uri: str, text: str, mime: str, meta: dict[str, Any] | None = None) -> types.ReadResourceResult:
    content = types.TextResourceContents(uri=uri, text=text, mime_type=mime, _meta=meta)
    return types.ReadResourceResult(contents=[content])


def _listed(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=one.name, description=one.about, required=one.required)
        for one in prompt.arguments
    ]
    return types.Prompt(name=prompt.name, description=prompt.about, arguments=arguments)
