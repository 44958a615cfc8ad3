"""`handrail serve`: the MCP server for an agent, over stdin and stdout."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from handrail.faces.cli.output import Failure
from handrail.faces.cli.placed import check_root, nowhere
from handrail.faces.cli.stored import at_store, openings
from handrail.shell.faults import SYNC_FAILED_STATUS
from handrail.shell.opening import located

if TYPE_CHECKING:
    from handrail.faces.mcp.names import Names
    from handrail.shell.opening import Serving

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
@at_store
def serve(  # noqa: PLR0913 - an argument for each option
    *,
    face: str,
    projects: tuple[Path, ...],
    names: str,
    http: str | None,
    auth: str | None,
    known_as: tuple[str, ...],
    store: str | None,
) -> None:
    """Serve an agent over stdin and stdout, as its client starts it, or many over HTTP.

    Messages go to stderr only.
    """
    gc.disable()
    from handrail.faces.mcp.names import Names
    from handrail.faces.mcp.serving import made, run

    over_http = _over_http(http, auth, known_as, projects) if http else None
    gc.freeze()
    gc.enable()
    roots, where = _roots(projects), located(store or "")
    with openings().serving(where) as serving:
        if over_http:
            confirmed = over_http(serving, Over(roots, Names(names), where))
        else:
            confirmed = run(made(serving, openings(), roots, face, Names(names)))
    if not confirmed:
        raise SystemExit(SYNC_FAILED_STATUS)


@dataclass(frozen=True, slots=True)
class Over:
    """What is served over HTTP: the projects in these folders, the names that are listed, and the store."""

    roots: tuple[Path, ...]
    names: "Names"
    store: Path


def _over_http(
    given: str, auth: str | None, known_as: tuple[str, ...], projects: tuple[Path, ...]
) -> Callable[["Serving", Over], bool]:
    """How faces are served there. Where others could come in, nobody does who has not said who they are."""
    from handrail.faces.web.run import address, run
    from handrail.faces.web.serving import Known, tenants
    from handrail.faces.web.who import Door

    where = address(given)
    if not where.is_loopback and auth == "none":
        message = f"{where.host} is reached from other machines, and nobody is asked who they are"
        raise Failure("no_authentication", message, "leave --auth out, or listen at 127.0.0.1 or [::1]")
    if where.is_anywhere and not known_as:
        message = f"at {where.host} nobody knows what the server is called"
        raise Failure("no_name", message, "say what requests call it with --known-as HOST:PORT")
    asks = auth == "token" or not where.is_loopback
    if asks and projects:
        message = "where tokens are asked for, only projects that have a name are served"
        repair = f"handrail project add NAME {projects[0]}, then leave --project and HANDRAIL_PROJECT out"
        raise Failure("no_name", message, repair)

    def served(serving: "Serving", over: Over) -> bool:
        clock, access = serving.world.clock, serving.access if asks else None
        if access:
            _check_open(serving)
        known = Known(serving, {} if asks else _by_folder(serving, over.roots), over.store)
        faces = tenants(serving, openings(), FACES, known, over.names)
        return run(where, Door(access, clock), faces, known_as)

    return served


def _check_open(serving: "Serving") -> None:
    """Fail if nobody could come in, or would find anything there."""
    now = serving.world.clock.now()
    if not any(token.good_at(now) for token in serving.access.tokens()):
        repair = "handrail token create NAME --scope run:read --scope run:write"
        raise Failure("no_authentication", "no token is good, so nobody could come in", repair)
    if not serving.registry.projects():
        repair = "handrail project add NAME ROOT"
        raise Failure("no_project", "no project is served, so there is nothing to do", repair)


def _by_folder(serving: "Serving", roots: tuple[Path, ...]) -> dict[str, Path]:
    """The projects of the command line by the names of their folders; one that has a name keeps it."""
    taken = {one.name: Path(one.root) for one in serving.registry.projects()}
    found: dict[str, Path] = {}
    for root in (root for root in roots if root not in taken.values()):
        if (other := {**taken, **found}.get(root.name)) is not None:
            message = f"{root} and {other} would both be called `{root.name}`"
            raise Failure("taken", message, f"give it another name: handrail project add NAME {root}")
        found[root.name] = root
    return found


def _roots(given: tuple[Path, ...]) -> tuple[Path, ...]:
    """The projects: as given, or the folder the server runs in, unless that is none."""
    roots = tuple(dict.fromkeys(root.resolve() for root in given or (Path.cwd(),)))
    if not given and nowhere() & set(roots):
        return ()
    for root in roots:
        check_root(root, "name the folder of a project with --project")
    return roots
