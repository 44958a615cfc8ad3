"""`handrail serve --http` and `handrail dashboard`: build the servers from their parts, and run them.

With `cli.serve`, this is the only module that may import MCP, HTTP and the dashboard together.
"""

import asyncio
import base64
import dataclasses
import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import click
from cryptography.fernet import Fernet
from starlette.types import ASGIApp

from handrail.app.app import App
from handrail.app.asgi import ListenAddress, ProxySettings, parse_listen_address
from handrail.app.definitions import Definitions
from handrail.app.projects import DefinitionsLoader, NamedProjects, filter_projects, make_definitions_loader
from handrail.app.trust import TrustStore
from handrail.app.user_files import stat_path
from handrail.cli.options import project_option, store_option
from handrail.cli.output import Failure
from handrail.cli.serve import AuthOptions, ServeOptions
from handrail.dashboard.application import build_application, is_page
from handrail.dashboard.hub import Hub
from handrail.dashboard.login import Login, LoginLink
from handrail.dashboard.viewer import Dashboard, Dashboards, ProjectNaming
from handrail.http.application import Backend, GuardMiddleware, Shutdown, ShutdownMiddleware, host_names_of
from handrail.http.authentication import Authenticator, IssuerTokenVerifier, fetch_issuer_keys, is_safe_url
from handrail.http.limits import CallLimits, read_rate_limit
from handrail.http.metrics import Metrics
from handrail.http.server import GracefulServer, open_listener, run_http_server
from handrail.mcp.server import FaceServer
from handrail.mcp.streamable_http import (
    ServedProjects,
    SessionLimits,
    VisibleProjects,
    build_tenants,
    load_session_limits,
)
from handrail.runtime.errors import SYNC_FAILED_EXIT_STATUS
from handrail.runtime.ports.access import AccessScope, Grant
from handrail.runtime.ports.open_store import ServingStore
from handrail.runtime.records import project_name
from handrail.runtime.store_address import locate_store
from handrail.runtime.sweep import read_idle_limits
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
    run: Callable[[ServingStore, ServeOptions], bool]


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
    issued = _connect_issuer(options, where) if "oauth" in kinds else None

    def run(serving: ServingStore, what: ServeOptions) -> bool:
        clock, access = serving.world.clock, serving.access if "token" in kinds else None
        if kinds:
            _check_usable(serving, tokens_only=issued is None)
        given = {} if kinds else _name_projects_by_folder(serving, what.roots)
        backend = _build_backend(serving, what, given, metrics, session_limits)
        authenticator = Authenticator(access, clock, limits, issued, options.audience)
        return run_http_server(
            where, authenticator, backend, dataclasses.replace(before, names=names), session_limits.limit
        )

    return HttpService(metrics, run)


def _list_host_names(where: ListenAddress, audience: str, known_as: frozenset[str]) -> frozenset[str]:
    """Return the host names that requests may use, besides the address where the server listens."""
    names = frozenset(name for given in known_as for name in _host_spellings(given)) | _audience_host_names(
        audience
    )
    if where.is_anywhere and not names:
        message = f"at {where.host} nobody knows what the server is called"
        raise Failure("no_name", message, "say what requests call it with --known-as HOST:PORT")
    return names


def _audience_host_names(audience: str) -> frozenset[str]:
    """Return the `Host` names of a server with this audience, with and without a default port."""
    if not audience:
        return frozenset()

    parts = urlsplit(audience)
    if not is_safe_url(audience, whole=True) or parts.path:
        message = f"`{audience}` is not what clients call a server"
        repair = "write --audience as https://HOST or https://HOST:PORT; http is for this machine only"
        raise Failure("no_audience", message, repair)
    usual = ":443" if parts.scheme == "https" else ":80"
    return _host_spellings(parts.netloc if parts.port else parts.netloc + usual)


def _host_spellings(name: str) -> frozenset[str]:
    """Return a `Host` name, and the name without its port: clients leave out a default port."""
    return frozenset({name, name.removesuffix(":443").removesuffix(":80")})


def _connect_issuer(options: AuthOptions, where: ListenAddress) -> IssuerTokenVerifier:
    """Fetch the issuer's keys and return how its tokens are read. Raises `NoIssuer` if it is not reached."""
    if not options.issuer:
        raise Failure("no_issuer", "nobody is named who gives out tokens", "name them with --issuer URL")
    if not (options.audience or where.is_loopback):
        message = f"for whom tokens are given out that open {where.host} is not said"
        raise Failure("no_audience", message, "say what clients call this server with --audience URL")
    return IssuerTokenVerifier(options.issuer, fetch_issuer_keys(options.issuer), options.claim)


def _check_usable(serving: ServingStore, *, tokens_only: bool) -> None:
    """Fail if no token is valid, or if no project is served."""
    now = serving.world.clock.now()
    if tokens_only and not any(token.is_valid_at(now) for token in serving.access.tokens()):
        repair = "handrail token create NAME --scope run:read --scope run:write"
        raise Failure("no_authentication", "no token is good, so nobody could come in", repair)
    if not serving.registry.projects():
        repair = "handrail project add NAME ROOT"
        raise Failure("no_project", "no project is served, so there is nothing to do", repair)


def _name_projects_by_folder(serving: ServingStore, roots: tuple[Path, ...]) -> dict[str, Path]:
    """Name the projects of the command line after their folders; leave out those that have a name already."""
    taken = {one.name: Path(one.root) for one in serving.registry.projects()}
    found: dict[str, Path] = {}
    for root in (root for root in roots if root not in taken.values()):
        if (other := {**taken, **found}.get(root.name)) is not None:
            message = f"{root} and {other} would both be called `{root.name}`"
            raise Failure("taken", message, f"give it another name: handrail project add NAME {root}")
        found[root.name] = root
    return found


def _build_backend(
    serving: ServingStore,
    what: ServeOptions,
    given: Mapping[str, Path],
    metrics: Metrics,
    session_limits: SessionLimits,
) -> Backend:
    """Build the faces and the dashboard of a server."""

    def instrument(face: str, server: FaceServer) -> None:
        server.meter = partial(metrics.record_call, face)
        if what.spans:
            server.trace(what.spans.propagate_parent)

    known = ServedProjects(serving, given, what.store)
    tenants = build_tenants(
        serving, what.opens, what.faces, known, what.names, allowed=session_limits, told=instrument
    )
    pages = DashboardPages(
        Dashboards(make_dashboard_factory(serving, what.opens, known), tenants.halted), serving.secret
    )
    return Backend(tenants, metrics, serving.measure_load, pages)


@dataclass(frozen=True, slots=True)
class DashboardPages:
    """The dashboard of an HTTP server. `secret` is the store's, so that all its servers accept a cookie."""

    boards: Dashboards
    secret: bytes

    def build(
        self, url: str, door: Authenticator, told: Callable[[str], None]
    ) -> tuple[ASGIApp, Callable[[], None]]:
        """Build the dashboard of a server at this URL. Return it, and a function that announces its address.

        `told` receives the address. If the server asks for no token, the address is a one-time sign-in link.
        """
        if door.requires_token:
            login = Login(
                self.boards, self._key(b"tokens"), check_token=door.check_token, find_grant=door.find_grant
            )
            return build_application(login), lambda: told(f"{url}/")
        links = LoginLink(lambda path: told(f"{url}{path}"))
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


def make_dashboard_factory(
    serving: ServingStore, app: App, known: ServedProjects
) -> Callable[[VisibleProjects], Dashboard]:
    """Return a function that builds the dashboard for viewers who may see these projects."""
    load_definitions = make_definitions_loader(TrustStore())

    def build(visible: VisibleProjects) -> Dashboard:
        visible_projects = known.visible_to(visible)
        projects = NamedProjects(visible_projects, load_definitions, known.folders)
        filtered = filter_projects(serving, lambda: tuple(map(str, projects.roots)))
        naming = ProjectNaming(
            lambda root: projects.label(root) or "",
            lambda name: str(visible_projects().get(name, name)),
            projects.hide,
        )

        def visible_definitions() -> Mapping[str, Definitions]:
            found = {name: load_definitions(str(root)) for name, root in visible_projects().items()}
            return found or {"": load_definitions("")}

        measures = serving.measures if visible is None else None
        return Dashboard(
            filtered, read_idle_limits(), naming, Hub(filtered), app, visible_definitions, measures
        )

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

    def announce(link: str) -> None:
        click.echo(link)
        if not (no_open or opened):
            click.launch(link)
        opened.append(link)

    app = App()
    with app.open_serving(locate_store(store or "")) as serving:
        confirmed = run_dashboard(
            serving, app, resolve_path(project), ListenAddress("127.0.0.1", port), announce
        )
    raise SystemExit(0 if confirmed else SYNC_FAILED_EXIT_STATUS)


def run_dashboard(
    serving: ServingStore, app: App, project: Path, where: ListenAddress, announce: Callable[[str], None]
) -> bool:
    """Serve the dashboard until it is stopped. Return False if the disk has not confirmed a write.

    `announce` receives every sign-in link. The definitions of `project` are shown first.
    """
    load_definitions = partial(_load_definitions, serving, project, make_definitions_loader(TrustStore()))
    board = Dashboard(
        serving,
        read_idle_limits(),
        ProjectNaming(),
        Hub(serving),
        app,
        load_definitions,
        serving.measures,
        reach=MAX_FILTERED_RUNS,
    )
    boards = Dashboards(lambda _: board, asyncio.Event())
    with open_listener(where) as (listener, bound):
        links = LoginLink(lambda path: announce(f"http://{bound}{path}"))
        person = Grant(get_login_name(), frozenset(AccessScope))
        pages = build_application(Login(boards, Fernet.generate_key(), links, person))
        shutdown = Shutdown()
        authenticator = Authenticator(None, serving.world.clock)
        guard = GuardMiddleware(
            ShutdownMiddleware(pages, shutdown),
            host_names_of(str(bound)),
            authenticator,
            MAX_REQUEST_BYTES,
            lambda: shutdown.has_begun,
        )

        async def close() -> None:
            boards.close()

        anyio.run(GracefulServer(guard, shutdown, close, boards.halted).serve, listener, links.renew)
    return not boards.halted.is_set()


def _load_definitions(
    serving: ServingStore, project: Path, load: DefinitionsLoader
) -> Mapping[str, Definitions]:
    """Return the definitions of this project and of the store's projects that still exist, by name."""
    found: dict[str, Definitions] = {}
    for root in dict.fromkeys((str(project), *_list_project_roots(serving))):
        name = project_name(root)
        found[root if name in found else name] = load(root)
    return found


def _list_project_roots(serving: ServingStore) -> Iterator[str]:
    registered = (one.root for one in serving.registry.projects())
    yield from (root for root in (*registered, *serving.roots()) if stat_path(Path(root)))
