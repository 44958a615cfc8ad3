"""`handrail serve --http` and `handrail dashboard`: build the servers from their parts, and run them.

With `cli.serve`, this is the only module that may import MCP, HTTP and the dashboard together.
"""

import asyncio
import base64
import dataclasses
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import click
from cryptography.fernet import Fernet
from starlette.types import ASGIApp

from handrail.app.app import App, check_server_settings, open_app
from handrail.app.asgi import ListenAddress, ProxySettings, parse_listen_address
from handrail.app.definitions import Definitions
from handrail.app.projects import VisibleProjects
from handrail.app.user_files import stat_path
from handrail.cli.options import project_option, store_option
from handrail.cli.output import Failure
from handrail.cli.serve import AuthOptions, ServeOptions
from handrail.dashboard.application import build_application, is_page
from handrail.dashboard.hub import Hub
from handrail.dashboard.login import Login, LoginLink
from handrail.dashboard.viewer import Dashboard, Dashboards
from handrail.http.application import Backend, GuardMiddleware, Shutdown, ShutdownMiddleware, host_names_of
from handrail.http.authentication import Authenticator, IssuerTokenVerifier, fetch_issuer_keys, is_safe_url
from handrail.http.limits import CallLimits, read_rate_limit
from handrail.http.metrics import Metrics
from handrail.http.server import GracefulServer, open_listener, run_http_server
from handrail.mcp.server import FaceServer
from handrail.mcp.streamable_http import ServedProjects, SessionLimits, build_tenants, load_session_limits
from handrail.runtime.errors import SYNC_FAILED_EXIT_STATUS
from handrail.runtime.ports.access import AccessScope, Grant
from handrail.runtime.records import project_name
from handrail.runtime.store_address import locate_store
from handrail.runtime.system import get_login_name, resolve_path

DASHBOARD_PORT = 8766
# How many runs a filter searches at a time.
MAX_FILTERED_RUNS = 20_000
# How many bytes a request may have.
MAX_REQUEST_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class HttpService:
    """A prepared HTTP server: `run` serves the faces, `metrics` counts their calls."""

    metrics: Metrics
    run: Callable[[App, ServeOptions], bool]


def prepare_http_service(
    given: str,
    options: AuthOptions,
    before: ProxySettings,
    projects: tuple[Path, ...] = (),
    *,
    replicas: bool = False,
) -> HttpService:
    """Check the options, and prepare an HTTP server at the given address.

    `before` has the proxies in front of it, and its names there. Raises `NoIssuer` if the issuer is not
    reached.
    """
    where = parse_listen_address(given)
    kinds = options.token_kinds(where)
    names = _list_host_names(where, options.audience if "oauth" in kinds else "", before.names)
    if kinds and projects:
        message = "where tokens are asked for, only projects that have a name are served"
        repair = f"handrail project add NAME {projects[0]}, then leave --project and HANDRAIL_PROJECT out"
        raise Failure("no_name", message, repair)
    limits, session_limits, metrics = (
        CallLimits(read_rate_limit()),
        load_session_limits(sessions=not replicas),
        Metrics(),
    )
    issued = None
    if "oauth" in kinds:
        if not options.issuer:
            raise Failure("no_issuer", "nobody is named who gives out tokens", "name them with --issuer URL")
        if not (options.audience or where.is_loopback):
            message = f"for whom tokens are given out that open {where.host} is not said"
            raise Failure("no_audience", message, "say what clients call this server with --audience URL")
        issued = IssuerTokenVerifier(options.issuer, fetch_issuer_keys(options.issuer), options.claim)

    def run(app: App, what: ServeOptions) -> bool:
        access, now = app.store.access, app.now()
        if kinds == {"token"} and not any(token.is_valid_at(now) for token in access.tokens()):
            repair = "handrail token create NAME --scope run:read --scope run:write"
            raise Failure("no_authentication", "no token is good, so nobody could come in", repair)
        if kinds and not app.store.registry.projects():
            problem = "no project is served, so there is nothing to do"
            raise Failure("no_project", problem, "handrail project add NAME ROOT")
        known = ServedProjects(app.store, {} if kinds else _name_projects_by_folder(app))
        backend = _build_backend(app, what, known, metrics, session_limits)
        accepted = access if "token" in kinds else None
        authenticator = Authenticator(accepted, app.clock, limits, issued, options.audience)
        named = dataclasses.replace(before, names=names)
        return run_http_server(where, authenticator, backend, named, session_limits.limit)

    return HttpService(metrics, run)


def _list_host_names(where: ListenAddress, audience: str, known_as: frozenset[str]) -> frozenset[str]:
    """Return the `Host` names that requests may use, besides the address where the server listens."""
    given = set(known_as)
    if audience:
        parts = urlsplit(audience)
        if not is_safe_url(audience, whole=True) or parts.path:
            message = f"`{audience}` is not what clients call a server"
            repair = "write --audience as https://HOST or https://HOST:PORT; http is for this machine only"
            raise Failure("no_audience", message, repair)
        given.add(parts.netloc if parts.port else f"{parts.netloc}:{443 if parts.scheme == 'https' else 80}")
    if where.is_anywhere and not given:
        message = f"at {where.host} nobody knows what the server is called"
        raise Failure("no_name", message, "say what requests call it with --known-as HOST:PORT")
    # Clients leave out a default port.
    return frozenset(given | {name.removesuffix(":443").removesuffix(":80") for name in given})


def _name_projects_by_folder(app: App) -> dict[str, Path]:
    """Name the projects of the command line after their folders; leave out those that have a name already."""
    taken = {one.name: Path(one.root) for one in app.store.registry.projects()}
    found: dict[str, Path] = {}
    for root in (root for root in app.projects.roots if root not in taken.values()):
        if (other := {**taken, **found}.get(root.name)) is not None:
            message = f"{root} and {other} would both be called `{root.name}`"
            raise Failure("taken", message, f"give it another name: handrail project add NAME {root}")
        found[root.name] = root
    return found


def _build_backend(
    app: App, what: ServeOptions, known: ServedProjects, metrics: Metrics, limits: SessionLimits
) -> Backend:
    """Build the faces and the dashboard of a server."""

    def instrument(face: str, server: FaceServer) -> None:
        server.meter = partial(metrics.record_call, face)
        if what.spans:
            server.trace(what.spans.propagate_parent)

    tenants = build_tenants(app, what.faces, known, what.names, limits=limits, instrument=instrument)
    pages = DashboardPages(Dashboards(make_dashboard_factory(app, known), tenants.halted), app.secret)
    return Backend(tenants, metrics, app.store.measure_load, pages)


@dataclass(frozen=True, slots=True)
class DashboardPages:
    """The dashboard of an HTTP server. `secret` is the store's, so that all its servers accept a cookie."""

    boards: Dashboards
    secret: bytes

    def build(
        self, url: str, authenticator: Authenticator, announce: Callable[[str], None]
    ) -> tuple[ASGIApp, Callable[[], None]]:
        """Build the dashboard of a server at this URL. Return it, and a function that announces its address.

        `announce` receives the address. If the server asks for no token, it is a one-time sign-in link.
        """
        if authenticator.requires_token:
            check_token, find_grant = authenticator.check_token, authenticator.find_grant
            login = Login(self.boards, self._key(b"tokens"), check_token=check_token, find_grant=find_grant)
            return build_application(login), lambda: announce(f"{url}/")
        links = LoginLink(lambda path: announce(f"{url}{path}"))
        person = Grant(get_login_name(), frozenset(AccessScope))
        return build_application(Login(self.boards, self._key(b"links"), links, person)), links.renew

    def _key(self, of: bytes) -> bytes:
        """Derive the cookie key for this kind of sign-in from the store's secret."""
        return base64.urlsafe_b64encode(hmac.digest(self.secret, b"pages by " + of, hashlib.sha256))

    def has_page(self, path: str) -> bool:
        """True if the dashboard has a page at this path."""
        return is_page(path)

    def close(self) -> None:
        """End the live updates of all pages."""
        self.boards.close()


def make_dashboard_factory(app: App, known: ServedProjects) -> Callable[[VisibleProjects], Dashboard]:
    """Return a function that builds the dashboard for viewers who may see these projects."""

    def build(visible: VisibleProjects) -> Dashboard:
        projects = known.select(visible)
        limited = app.limit_to(projects)
        measures = app.store.measures if visible is None else None
        return Dashboard(limited, Hub(limited), projects.definitions_by_name, measures)

    return build


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DASHBOARD_PORT,
    show_default=True,
    help="Where it listens, on 127.0.0.1 only; 0 is any port that is free.",
)
@click.option("--no-open", is_flag=True, help="Only print the link, and open no browser.")
@project_option("The project whose workflows are shown first")
@store_option
def dashboard(port: int, project: Path, store: str | None, *, no_open: bool) -> None:
    """Show every run of a store in a browser, live, and act on it there.

    It prints a link that lets one browser in, once; as soon as that was used, another one. Only programs of
    this machine reach it. It ends with Ctrl-C.
    """
    opened: list[str] = []

    def announce(path: str) -> None:
        click.echo(f"http://{bound}{path}")
        if not (no_open or opened):
            click.launch(f"http://{bound}{path}")
        opened.append(path)

    check_server_settings()
    with (
        open_app(locate_store(store or "")) as app,
        open_listener(ListenAddress("127.0.0.1", port)) as (listener, bound),
    ):
        load_definitions = partial(_load_definitions, app, resolve_path(project))
        board = Dashboard(app, Hub(app), load_definitions, app.store.measures, reach=MAX_FILTERED_RUNS)
        boards, shutdown = Dashboards(lambda _: board, asyncio.Event()), Shutdown()
        links, person = LoginLink(announce), Grant(get_login_name(), frozenset(AccessScope))
        pages = build_application(Login(boards, Fernet.generate_key(), links, person))
        guard = GuardMiddleware(
            ShutdownMiddleware(pages, shutdown),
            host_names_of(str(bound)),
            Authenticator(None, app.clock),
            MAX_REQUEST_BYTES,
            lambda: shutdown.has_begun,
        )

        async def close() -> None:
            boards.close()

        anyio.run(GracefulServer(guard, shutdown, close, boards.halted).serve, listener, links.renew)
    raise SystemExit(SYNC_FAILED_EXIT_STATUS if boards.halted.is_set() else 0)


def _load_definitions(app: App, project: Path) -> Mapping[str, Definitions]:
    """Return the definitions of this project and of the store's projects that still exist, by name."""
    found: dict[str, Definitions] = {}
    known = (*(one.root for one in app.store.registry.projects()), *app.store.mirrors.projects())
    for root in dict.fromkeys((str(project), *(root for root in known if stat_path(Path(root))))):
        name = project_name(root)
        found[root if name in found else name] = app.projects.definitions(root)
    return found
