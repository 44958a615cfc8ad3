"""`handrail serve`: build the MCP server from its parts, and run it.

With `cli.serve_http`, this is the only module that may import the other ways in.
"""

import gc
import os
from dataclasses import dataclass
from pathlib import Path

import click
from mcp.server.mcpserver.utilities.logging import configure_logging

from handrail.app.app import check_server_settings, open_app
from handrail.app.asgi import ListenAddress, ProxySettings
from handrail.app.faces import FACES
from handrail.cli.options import NetworkParam, check_root, non_project_folders, store_option, vcs_option
from handrail.cli.output import Failure
from handrail.mcp.addresses import Spelling
from handrail.mcp.server import build_server
from handrail.mcp.stdio import run_stdio_server
from handrail.mcp.telemetry import TurnTelemetry, load_telemetry
from handrail.runtime.errors import SYNC_FAILED_EXIT_STATUS
from handrail.runtime.store_address import locate_store
from handrail.runtime.system import resolve_path
from handrail.runtime.world import TurnReport


@click.command()
@click.option(
    "--face", type=click.Choice(FACES), default="steps", show_default=True, help="Which way in is served."
)
@click.option(
    "--project",
    "projects",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    envvar="HANDRAIL_PROJECT",
    help="A project that runs are started in; may be given several times. The folder it runs in by default.",
)
@click.option(
    "--names",
    type=click.Choice(["portable", "source"]),
    default="portable",
    show_default=True,
    help="Which spelling of tools and resources is listed; both are accepted.",
)
@vcs_option
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve every face over HTTP instead, each at /mcp/FACE; port 0 is any that is free.",
)
@click.option(
    "--auth",
    type=click.Choice(["token", "oauth", "none"]),
    multiple=True,
    envvar="HANDRAIL_AUTH",
    help="Over HTTP: which tokens open it, our own or those of an issuer; may be given twice, for both. "
    "`none` is for loopback addresses, and their default.",
)
@click.option(
    "--issuer",
    metavar="URL",
    default="",
    envvar="HANDRAIL_ISSUER",
    help="Over HTTP, with OAuth: who gives out tokens, written as in the tokens themselves.",
)
@click.option(
    "--audience",
    metavar="URL",
    default="",
    envvar="HANDRAIL_AUDIENCE",
    help="Over HTTP, with OAuth: what clients call this server, without a path; tokens are given out for it. "
    "At a loopback address, that by default.",
)
@click.option(
    "--projects-claim",
    metavar="NAME",
    default="",
    envvar="HANDRAIL_PROJECTS_CLAIM",
    help="Over HTTP, with OAuth: the claim of a token that lists its projects. All of them by default.",
)
@click.option(
    "--known-as",
    metavar="HOST:PORT",
    multiple=True,
    envvar="HANDRAIL_KNOWN_AS",
    help="Over HTTP: another name by which requests may call the server, such as that of a proxy before it.",
)
@click.option(
    "--proxy",
    "proxies",
    type=NetworkParam(),
    multiple=True,
    envvar="HANDRAIL_PROXY",
    help="Over HTTP: the address or network of a proxy on another machine; where requests come from is then "
    "what it says in X-Forwarded-For.",
)
@click.option(
    "--replicas",
    is_flag=True,
    help="Over HTTP: one of several servers on the same store, any of which may answer. Clients of 2025 then "
    "have no sessions: no subscriptions, and no questions in between.",
)
@store_option
def serve(  # noqa: PLR0913 - an argument for each option
    *,
    face: str,
    projects: tuple[Path, ...],
    names: str,
    vcs: str | None,
    http: str | None,
    auth: tuple[str, ...],
    issuer: str,
    audience: str,
    projects_claim: str,
    known_as: tuple[str, ...],
    proxies: tuple[str, ...],
    replicas: bool,
    store: str | None,
) -> None:
    """Serve an agent over stdin and stdout, as its client starts it, or many over HTTP.

    Messages go to stderr only.
    """
    configure_logging("WARNING")
    spans, over_http = load_telemetry(os.environ), None
    if http:
        # The dashboard and the HTTP server take longer to import than a server on stdin takes to start.
        from handrail.cli.serve_http import prepare_http_service

        options = AuthOptions(auth, issuer, audience, projects_claim)
        before = ProxySettings(frozenset(known_as), frozenset(proxies))
        over_http = prepare_http_service(http, options, before, projects, replicas=replicas)
    gc.freeze()  # what was imported is never garbage
    roots, where = _resolve_roots(projects), locate_store(store or "")
    observers = [one.record_turn for one in (over_http and over_http.metrics, spans) if one]

    def notify(report: TurnReport) -> None:
        for observe in observers:
            observe(report)

    check_server_settings()
    with open_app(where, roots, vcs=vcs or "", observer=notify if observers else None) as app:
        if over_http:
            confirmed = over_http.run(app, ServeOptions(FACES, Spelling(names), spans))
        else:
            server = build_server(app, face, Spelling(names))
            if spans:
                server.trace(spans.propagate_parent)
            confirmed = run_stdio_server(server)
    raise SystemExit(0 if confirmed else SYNC_FAILED_EXIT_STATUS)


def _resolve_roots(given: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the given projects, or the current folder; nothing if that cannot be a project."""
    roots = tuple(dict.fromkeys(resolve_path(root) for root in given or (Path.cwd(),)))
    if not given and non_project_folders() & set(roots):
        return ()
    for root in roots:
        check_root(root, "name the folder of a project with --project")
    return roots


@dataclass(frozen=True, slots=True)
class AuthOptions:
    """The options about tokens: the kinds that are accepted, and the issuer, audience and projects claim."""

    auth: tuple[str, ...]
    issuer: str
    audience: str
    claim: str

    def token_kinds(self, where: ListenAddress) -> frozenset[str]:
        """Return the kinds of tokens that a server at this address accepts; empty if it asks for none."""
        default = ("oauth",) if self.issuer else ("none",) if where.is_loopback else ("token",)
        kinds = frozenset(self.auth or default)
        if self.issuer and "oauth" not in kinds:
            message = f"tokens of {self.issuer} are not asked for"
            raise Failure("no_authentication", message, "say --auth oauth, or leave --issuer out")
        if "none" in kinds and len(kinds) > 1:
            message = "nobody is asked who they are, and yet tokens are asked for"
            raise Failure("no_authentication", message, "leave --auth none out, or the rest")
        if kinds == {"none"} and not where.is_loopback:
            message = f"{where.host} is reached from other machines, and nobody is asked who they are"
            raise Failure("no_authentication", message, "leave --auth out, or listen at 127.0.0.1 or [::1]")
        return kinds - {"none"}


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What to serve: these faces, and the spelling of names. `spans` traces the calls, if telemetry is on."""

    faces: tuple[str, ...]
    names: Spelling
    spans: TurnTelemetry | None
