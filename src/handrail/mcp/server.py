"""The MCP server of one face: its handlers, its middleware, and the functions that build it.

Start reading at `build_server`, then `FaceServer.call_tool`. Faces decide nothing here: a handler checks the
scope, runs the face in the writer's thread, and turns every failure into an answer.
"""

import asyncio
import logging
import os
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
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler, PromptsListChanged, ResourcesListChanged
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

import handrail
from handrail.app.app import App, get_required_scope, log_incident
from handrail.app.asgi import ANONYMOUS_GRANT, get_request_grant
from handrail.app.faces import Answer, Face, Prompt, Question, Tool, UnknownPrompt
from handrail.mcp import apps
from handrail.mcp.addresses import Spelling
from handrail.mcp.elicitation import ask_person
from handrail.mcp.faces.replies import load_face_texts
from handrail.mcp.resources import ResourceNotFound, Resources
from handrail.mcp.subscriptions import SubscriptionBus
from handrail.runtime.errors import Fault, SyncFailed
from handrail.runtime.ports.access import AccessScope, Grant
from handrail.runtime.records import Caller, RunChange
from handrail.runtime.system import SubprocessRunner
from handrail.stores.vcs.commands import MAX_STATUS_BYTES, read_vcs_status, scrub_environment

log = logging.getLogger("handrail")
Result = TypeVar("Result")
Context: TypeAlias = ServerRequestContext[None, Any]

AGENT_META_KEY: Final = "handrail/agent"
"""The key in a call's `_meta` by which a client with several agents names the one that calls."""

_MAX_NAME_CHARACTERS: Final = 100

READ_METHODS: Final = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "subscriptions/listen",
    }
)
"""The methods that return data about runs; they need the scope `AccessScope.READ`."""

_QUESTION_TTL_SECONDS: Final = 7 * 24 * 3600.0
"""How many seconds a person has to answer a question that a tool asked."""

_RECHECK_SECONDS: Final = 2.0
"""Seconds between two checks of the workflow, persona and guardrail files for changes."""

_CACHE_ONE_MINUTE: Final = CacheHint(ttl_ms=60_000, scope="private")
_NO_CACHE: Final = CacheHint(ttl_ms=0, scope="private")

_SUBPROCESS_FACES: Final = frozenset({"commits", "planner"})
"""The faces whose calls wait for a subprocess (version control). They use the store's side writer."""


class FaceServer(Server[None]):
    """The MCP server of one face.

    `halted` is set when the disk fails to confirm a write; after that the server does no more work. `last` is
    the request whose answer reports that failure, or None. `meter`, if set, is called for each answered call.
    With `replicas`, this is one of several servers, and clients of the 2025 protocol have no sessions. Calls
    run in the store's writer, or with `aside` in its side writer.
    """

    def __init__(  # noqa: PLR0913 - what a server is made of
        self,
        app: App,
        face: Face,
        resources: Resources,
        names: Spelling,
        *,
        replicas: bool = False,
        aside: bool = False,
    ) -> None:
        self._app, self._face, self._resources = app, face, resources
        self._writer = app.store.side_writer if aside else app.store.writer
        self._portable = names is Spelling.PORTABLE
        self._tools = {name: tool for tool in face.tools for name in tool.names}
        self.halted = asyncio.Event()
        self.last: types.RequestId | None = None
        self.meter: Callable[[Tool, Answer], None] | None = None
        self.bus = SubscriptionBus(self._listen_to_feed)
        self.listening = ListenHandler(self.bus)
        self._changes = NotificationOptions(prompts_changed=not replicas, resources_changed=not replicas)
        super().__init__(
            "handrail",
            title="Handrail",
            version=handrail.__version__,
            instructions=f"{face.instructions}\n\n{_replicas_notice()}" if replicas else face.instructions,
            lifespan=lambda _: self.close_afterwards(),
            cache_hints={
                "tools/list": _CACHE_ONE_MINUTE,
                "prompts/list": _CACHE_ONE_MINUTE,
                "resources/list": _CACHE_ONE_MINUTE,
                "resources/templates/list": _CACHE_ONE_MINUTE,
                "resources/read": _NO_CACHE,
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
        self.add_request_handler("logging/setLevel", types.SetLevelRequestParams, accept_log_level)
        if not replicas:
            self.add_notification_handler(
                "notifications/initialized", types.NotificationParams, self.bus.meet
            )
        security = RequestStateSecurity(
            keys=[app.secret], ttl=_QUESTION_TTL_SECONDS, bind_principal=_principal_of
        )
        self._shows = frozenset(name for tool in face.tools if tool.shows for name in tool.names)
        # Replace the SDK's own middleware: its spans would contain what agents send to tools.
        self.middleware[:] = [
            RequestStateBoundary(security, default_audience=self.name),
            report_incidents,
            require_read_scope,
            self.announce_page,
        ]

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what a client of 2025 gets from `initialize`.

        The SDK's transports pass no notification options, so the lists that can change are filled in here.
        """
        changes = notification_options or self._changes
        return super().create_initialization_options(changes, experimental_capabilities, extensions)

    # tools

    async def list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return the tools of the face, always in the same order."""
        del ctx, params
        return types.ListToolsResult(
            tools=[types.Tool.model_validate(tool.listed) for tool in self._face.tools]
        )

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answer a tool call, or ask a person first.

        Failures are returned as answers. Only an unknown tool raises `MCPError`.
        """
        tool, arguments = self._tools.get(params.name), params.arguments or {}
        if tool is None:
            known = ", ".join(listed.names[0] for listed in self._face.tools)
            raise MCPError(types.INVALID_PARAMS, f"there is no such tool; this face has {known}")
        app, face, scopes = self._app, self._face, _grant_of(ctx).scopes
        answer = await self._run_in_writer(partial(app.call, face, tool, arguments, caller_of(ctx), scopes))
        if isinstance(answer, Question):
            choice = await ask_person(answer, ctx, params)
            if isinstance(choice, types.InputRequiredResult):
                return choice
            if choice is None:
                answer = answer.fallback
            else:
                work = partial(answer.answer_with, choice)
                answer = await self._run_in_writer(partial(app.answer, face, tool, arguments, work))
        if app.sync_failed and not self.halted.is_set():
            self.last = ctx.request_id
            self.halted.set()
        if self.meter is not None:
            self.meter(tool, answer)
        shows = tool.shows and not answer.failed
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=dict(answer.reply),
            is_error=answer.failed,
            _meta=await self._picture_meta(arguments, answer)
            if shows and client_supports_apps(ctx)
            else None,
        )

    def trace(self, middleware: ServerMiddleware[Any]) -> None:
        """Add the middleware that passes the client's span on to each turn."""
        self.middleware.append(middleware)

    async def _picture_meta(self, given: Mapping[str, Any], answer: Answer) -> dict[str, Any] | None:
        """Return the `_meta` with the picture of the run for the app page, or None without a picture."""
        status = self._run_in_writer(partial(self._face.find_run_status, given, answer))
        return await apps.load_picture_meta(status, self._app.runs)

    async def announce_page(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Add the app page to lists and capabilities, for clients that declare the apps extension."""
        result = await call_next(ctx)
        if ctx.method in apps.PAGE_METHODS and isinstance(result, dict) and apps.declares_apps(ctx):
            return apps.add_page(ctx.method, result, self._shows)
        return result

    def required_scope(self, method: str, name: str) -> AccessScope | None:
        """Return the scope that this method needs, or None; `name` is the tool of a `tools/call`."""
        tool = self._tools.get(name) if method == "tools/call" else None
        return AccessScope.READ if method in READ_METHODS else get_required_scope(tool) if tool else None

    async def _run_in_writer(self, work: Callable[[], Result]) -> Result:
        """Run work that may write in the writer's thread, with the request's context variables."""
        return await self._writer.call_async(partial(copy_context().run, work))

    # resources

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return the fixed resources."""
        del ctx, params
        fixed = await run_sync(lambda: self._resources.list_fixed(portable=self._portable))
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=one.uri, name=one.name, description=one.about, mime_type=one.mime)
                for one in fixed
            ]
        )

    async def list_resource_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return the resource templates."""
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
        """Return the current content of a resource."""
        del ctx
        uri = params.uri
        if uri == apps.PAGE_URI:
            return _contents(uri, apps.render_app_page(), apps.PAGE_MIME, dict(apps.PAGE_META))
        try:
            content = await run_sync(self._resources.read, uri)
        except ResourceNotFound as missing:
            raise MCPError(types.INVALID_PARAMS, str(missing), {"uri": uri}) from None
        except Fault as fault:
            message = self._app.projects.hide(f"{fault.message}: {fault.repair}")
            raise MCPError(types.INTERNAL_ERROR, message) from None
        return _contents(uri, content.text, content.mime)

    # prompts

    async def list_prompts(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """Return the prompts of the face."""
        del ctx, params
        return types.ListPromptsResult(
            prompts=[_prompt_entry(prompt) for prompt in await run_sync(self._face.prompts)]
        )

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Return the message that a prompt puts into the chat."""
        del ctx
        try:
            text = await run_sync(self._face.prompt, params.name, params.arguments or {})
        except UnknownPrompt as unknown:
            raise MCPError(types.INVALID_PARAMS, str(unknown)) from None
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Return the values of a prompt or template argument that begin with the typed text."""
        del ctx
        ref, argument = params.ref, params.argument
        if isinstance(ref, types.PromptReference):
            values = await run_sync(self._complete_prompt, ref.name, argument)
        else:
            values = await run_sync(self._resources.complete, ref.uri, argument.name, argument.value)
        return types.CompleteResult(
            completion=types.Completion(
                values=list(values[:100]), total=len(values), has_more=len(values) > 100
            )
        )

    def _complete_prompt(self, name: str, argument: types.CompletionArgument) -> tuple[str, ...]:
        prompts = (prompt for prompt in self._face.prompts() if prompt.name == name)
        wanted = (one for prompt in prompts for one in prompt.arguments if one.name == argument.name)
        return tuple(c for one in wanted for c in one.choices if c.startswith(argument.value))

    # background work

    def _listen_to_feed(self, notify: Callable[[tuple[str, ...]], None]) -> Callable[[], None]:
        """Listen to the store's feed and pass on the URIs that change. Return the function that stops it."""

        def changed(change: RunChange) -> None:
            row = self._app.runs.run(change.run)
            if row is not None:
                notify(self._resources.uris_of_run(row))

        return self._app.world.feed.listen(changed)

    @asynccontextmanager
    async def close_afterwards(self) -> AsyncIterator[None]:
        """Close the subscriptions when the block ends, so that nothing reads the store afterwards."""
        try:
            yield
        finally:
            with CancelScope(shield=True):
                await self.bus.close()

    async def look_after(self, *others: Self, sweeps: bool = True) -> None:
        """Sweep idle runs, and notify clients when workflows, personas or guardrails change; runs forever.

        One face of a process does this for all `others`: they share the store and the projects. Only one of
        the apps over a store `sweeps`. A `Fault` is logged, and the next round tries again.
        """
        known, due = "", 0.0
        while True:
            try:
                if sweeps and current_time() >= due:
                    await self._run_in_writer(self._app.sweep)
                    due = current_time() + self._app.idle_limits.sweep_seconds
                known = await self._notify_if_changed(known, others)
            except Fault as fault:
                log.warning("%s; %s", fault.message, fault.repair)
                if isinstance(fault, SyncFailed):
                    self.halted.set()
            await sleep(_RECHECK_SECONDS)

    async def _notify_if_changed(self, known: str, others: Iterable[Self]) -> str:
        """Notify clients if the definitions differ from `known`; return the current signature."""
        seen = await run_sync(self._app.projects.signature)
        for served in (self, *others) if known and seen != known else ():
            await served.bus.publish(PromptsListChanged())
            await served.bus.publish(ResourcesListChanged())
        return seen


def caller_of(ctx: ServerRequestContext[Any, Any]) -> Caller:
    """Return the principal, client and agent that send this request."""
    params = ctx.session.client_params
    info, agent = params.client_info if params else None, (ctx.meta or {}).get(AGENT_META_KEY)
    return Caller(
        principal=_grant_of(ctx).principal,
        client=f"{info.name} {info.version}"[:_MAX_NAME_CHARACTERS] if info else "",
        agent=agent[:_MAX_NAME_CHARACTERS] if isinstance(agent, str) else "",
    )


async def report_incidents(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Turn an unexpected exception into an error with an incident number; the log has the details.

    The SDK itself reports invalid request parameters, so those errors pass unchanged.
    """
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as bug:  # noqa: BLE001 - no exception text goes to a client
        raise internal_error(bug) from None


async def require_read_scope(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Reject methods that return run data if the caller lacks the read scope.

    Tool calls are not checked here: `FaceServer` answers them with a refusal that names the scope.
    """
    if ctx.method in READ_METHODS and AccessScope.READ not in _grant_of(ctx).scopes:
        message = f"this needs a token with the scope {AccessScope.READ}: ask whoever runs the server"
        raise MCPError(types.INVALID_REQUEST, message)
    return await call_next(ctx)


async def accept_log_level(
    ctx: ServerRequestContext[Any, Any], params: types.SetLevelRequestParams
) -> types.EmptyResult:
    """Accept any log level and ignore it: this server sends no log messages to clients."""
    del ctx, params
    return types.EmptyResult()


def internal_error(bug: Exception) -> MCPError:
    """Log the bug and return the error for the client: it holds the incident number only."""
    return MCPError(types.INTERNAL_ERROR, f"Handrail failed (incident {log_incident(bug)})")


def _grant_of(ctx: ServerRequestContext[Any, Any]) -> Grant:
    """Return what the caller may do: everything over stdio, what the token allows over HTTP."""
    return get_request_grant(ctx.request) if ctx.request else ANONYMOUS_GRANT


def _principal_of(ctx: ServerRequestContext[Any, Any]) -> str:
    """Return the principal that a question is bound to: only they can answer it."""
    return _grant_of(ctx).principal


def _replicas_notice() -> str:
    """Return the text that says what clients of 2025 do without when there are several servers."""
    return load_face_texts("replicas").say("instructions")


def _contents(uri: str, text: str, mime: str, meta: dict[str, Any] | None = None) -> types.ReadResourceResult:
    content = types.TextResourceContents(uri=uri, text=text, mime_type=mime, _meta=meta)
    return types.ReadResourceResult(contents=[content])


def _prompt_entry(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=one.name, description=one.about, required=one.required)
        for one in prompt.arguments
    ]
    return types.Prompt(name=prompt.name, description=prompt.about, arguments=arguments)


def build_server(app: App, face: str, names: Spelling, *, replicas: bool = False) -> FaceServer:
    """Build the server of a face over an app.

    With `replicas`, it is one of several servers, and any of them may get the next request.
    """
    programs = SubprocessRunner(scrub_environment(os.environ), MAX_STATUS_BYTES)
    resources = Resources(app, lambda root: read_vcs_status(programs, root))
    aside = face in _SUBPROCESS_FACES
    return FaceServer(app, _build_face(app, face, names), resources, names, replicas=replicas, aside=aside)


def _build_face(app: App, face: str, names: Spelling) -> Face:
    """Build a face. Only this one is imported: the others read documents that this server never sees."""
    if face == "steps":
        from handrail.mcp.faces.steps import build_face as build_steps  # noqa: PLC0415 - the reason above

        return build_steps(app, names)
    if face == "spells":
        from handrail.mcp.faces.spells import build_face as build_spells  # noqa: PLC0415 - the reason above

        return build_spells(app, names)
    if face == "skills":
        from handrail.mcp.faces.skills import build_face as build_skills  # noqa: PLC0415 - the reason above

        return build_skills(app, names)
    if face == "planner":
        from handrail.mcp.faces.planner import build_face as build_planner  # noqa: PLC0415 - the reason above

        return build_planner(app, names)
    from handrail.mcp.faces.commits import build_face as build_commits  # noqa: PLC0415 - the reason above

    return build_commits(app, names)
