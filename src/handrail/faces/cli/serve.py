"""`handrail serve`: the MCP server for an agent, over stdin and stdout."""

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from handrail.engine.facts import sound
from handrail.faces.cli.output import Failure, one_line
from handrail.faces.cli.stored import at_store, openings
from handrail.shell.faults import SYNC_FAILED_STATUS
from handrail.shell.opening import located

if TYPE_CHECKING:
    from handrail.faces.mcp.server import Served
    from handrail.faces.web.metrics import Metrics
    from handrail.shell.opening import Serving
    from handrail.shell.watching import Came, Watch

FACES = ("planner", "skills", "spells", "steps")


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
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve every face over HTTP instead, each at /mcp/FACE; port 0 is any that is free.",
)
@click.option(
    "--auth",
    type=click.Choice(["token", "none"]),
    help="Over HTTP: must a request show a token? `none` is for loopback addresses, and their default.",
)
@click.option(
    "--known-as",
    metavar="HOST:PORT",
    multiple=True,
    help="Over HTTP: another name by which requests may call the server, such as that of a proxy before it.",
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
    http: str | None,
    auth: str | None,
    known_as: tuple[str, ...],
    replicas: bool,
    store: str | None,
) -> None:
    """Serve an agent over stdin and stdout, as its client starts it, or many over HTTP.

    Messages go to stderr only.
    """
    gc.disable()
    from handrail.faces.mcp.names import Names
    from handrail.faces.mcp.serving import made, run
    from handrail.faces.mcp.tracing import tracing

    over_http = _over_http(http, auth, known_as, replicas=replicas) if http else None
    spans = tracing(os.environ)
    gc.freeze()
    gc.enable()
    roots = _roots(projects)
    watches = [one.turned for one in (over_http and over_http.metrics, spans) if one]
    with openings().serving(located(store or "")) as opened:
        serving = replace(opened, world=replace(opened.world, watch=_all(watches)))
        several = bool(over_http and replicas)
        parts = partial(made, serving, openings(), roots, names=Names(names), replicas=several)
        faces = {name: parts(name) for name in (FACES if over_http else (face,))}
        if spans:
            for served in faces.values():
                served.middleware.append(spans.carried)
        confirmed = over_http.run(serving, faces) if over_http else run(faces[face])
    if not confirmed:
        raise SystemExit(SYNC_FAILED_STATUS)


def _all(watches: "Sequence[Watch]") -> "Watch | None":
    """One that tells them all, if there are any."""

    def told(came: "Came") -> None:
        for watch in watches:
            watch(came)

    return told if watches else None


@dataclass(frozen=True, slots=True)
class _OverHttp:
    """How faces are served over HTTP, and what is counted of them."""

    metrics: "Metrics"
    run: Callable[["Serving", Mapping[str, "Served"]], bool]


def _over_http(given: str, auth: str | None, known_as: tuple[str, ...], *, replicas: bool) -> _OverHttp:
    """How faces are served there. Where others could come in, nobody does who has not said who they are."""
    from handrail.faces.web.app import Faces
    from handrail.faces.web.metrics import Metrics
    from handrail.faces.web.run import address, run
    from handrail.faces.web.sessions import allowed
    from handrail.faces.web.who import Door

    where = address(given)
    if not where.is_loopback and auth == "none":
        message = f"{where.host} is reached from other machines, and nobody is asked who they are"
        raise Failure("no_authentication", message, "leave --auth out, or listen at 127.0.0.1 or [::1]")
    if where.is_anywhere and not known_as:
        message = f"at {where.host} nobody knows what the server is called"
        raise Failure("no_name", message, "say what requests call it with --known-as HOST:PORT")
    asks, metrics, may = auth == "token" or not where.is_loopback, Metrics(), allowed(sessions=not replicas)

    def served(serving: "Serving", faces: Mapping[str, "Served"]) -> bool:
        clock, access = serving.world.clock, serving.access if asks else None
        if access and not any(token.good_at(clock.now()) for token in access.tokens()):
            repair = "handrail token create NAME --scope run:read --scope run:write"
            raise Failure("no_authentication", "no token is good, so nobody could come in", repair)
        return run(where, Door(access, clock), Faces(faces, metrics, may), known_as)

    return _OverHttp(metrics, served)


def _roots(given: tuple[Path, ...]) -> tuple[Path, ...]:
    """The projects: as given, or the folder the server runs in, unless that is none."""
    nowhere = {Path("/"), Path.home().resolve()}
    roots = tuple(dict.fromkeys(root.resolve() for root in given or (Path.cwd(),)))
    odd = [root for root in roots if not sound(str(root))]
    if odd:
        message = f"the path {one_line(str(odd[0]))} is not UTF-8"
        raise Failure("no_project", message, "give the folder another name, or name another with --project")
    if given and nowhere & set(roots):
        message = f"{next(iter(nowhere & set(roots)))} is no project"
        raise Failure("no_project", message, "name the folder of a project with --project")
    return tuple(root for root in roots if root not in nowhere)
