"""`handrail serve`: the MCP server for an agent, over stdin and stdout."""

import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from handrail.faces.cli.network import Network
from handrail.faces.cli.placed import by_vcs, check_root, nowhere
from handrail.faces.cli.stored import at_store, openings
from handrail.shell.faults import SYNC_FAILED_STATUS
from handrail.shell.reading import whole
from handrail.shell.store_address import located

if TYPE_CHECKING:
    from handrail.faces.cli.over_http import OverHttp
    from handrail.faces.mcp.server import Served
    from handrail.faces.mcp.spans import Spans
    from handrail.shell.watching import Came, Watch

FACES = ("commits", "planner", "skills", "spells", "steps")


@click.command()
@click.option(
    "--face",
    type=click.Choice(FACES),
    default="steps",
    show_default=True,
    help="Which way in is served.",
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
@by_vcs
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
    type=Network(),
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
@at_store
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
    gc.disable()  # the SDK makes many objects while it is imported, and none of them is garbage
    from mcp.server.mcpserver.utilities.logging import configure_logging

    from handrail.faces.mcp.names import Names
    from handrail.faces.mcp.serving import made, run
    from handrail.faces.mcp.tracing import tracing

    configure_logging("WARNING")
    spans, asked = tracing(os.environ), (auth, issuer, audience, projects_claim)
    over_http = _over(http, asked, (known_as, proxies), projects, replicas=replicas) if http else None
    gc.freeze()
    gc.enable()
    roots, where, opens = _roots(projects), located(store or ""), openings(vcs or "")
    watches = [one.turned for one in (over_http and over_http.metrics, spans) if one]
    with opens.serving(where) as opened:
        serving = replace(opened, world=replace(opened.world, watch=_all(watches)))
        if over_http:
            from handrail.faces.cli.over_http import Over

            confirmed = over_http.run(serving, Over(opens, FACES, roots, Names(names), where, spans))
        else:
            confirmed = run(_traced(made(serving, opens, roots, face, Names(names)), spans))
    raise SystemExit(0 if confirmed else SYNC_FAILED_STATUS)


def _over(
    http: str,
    asked: tuple[tuple[str, ...], str, str, str],
    before: tuple[tuple[str, ...], tuple[str, ...]],
    projects: tuple[Path, ...],
    *,
    replicas: bool,
) -> "OverHttp":
    """How faces are served there: `asked` is what tokens must be, `before` the names and the proxies."""
    from handrail.faces.cli.over_http import Asking, over
    from handrail.faces.web.address import Before

    names, proxies = map(frozenset, before)
    return over(http, Asking(*asked), Before(names, proxies), projects, replicas=replicas)


def _traced(served: "Served", spans: "Spans | None") -> "Served":
    """It, with spans for its calls if there are any."""
    if spans:
        served.trace(spans.carried)
    return served


def _all(watches: "Sequence[Watch]") -> "Watch | None":
    """One that tells them all, if there are any."""

    def told(came: "Came") -> None:
        for watch in watches:
            watch(came)

    return told if watches else None


def _roots(given: tuple[Path, ...]) -> tuple[Path, ...]:
    """The projects: as given, or the folder the server runs in, unless that is none."""
    roots = tuple(dict.fromkeys(whole(root) for root in given or (Path.cwd(),)))
    if not given and nowhere() & set(roots):
        return ()
    for root in roots:
        check_root(root, "name the folder of a project with --project")
    return roots
