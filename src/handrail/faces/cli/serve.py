"""`handrail serve`: the MCP server for an agent, over stdin and stdout."""

import gc
from collections.abc import Callable, Mapping
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

FACES = ("spells", "steps")


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
@at_store
def serve(face: str, projects: tuple[Path, ...], names: str, http: str | None, store: str | None) -> None:
    """Serve an agent over stdin and stdout, as its client starts it, or many over HTTP.

    Messages go to stderr only.
    """
    gc.disable()
    from handrail.faces.mcp.names import Names
    from handrail.faces.mcp.serving import made, run

    over_http = _over_http(http) if http else None
    gc.freeze()
    gc.enable()
    roots = _roots(projects)
    with openings().serving(located(store or "")) as serving:
        parts = partial(made, serving, openings().folder, roots, names=Names(names))
        confirmed = over_http({name: parts(name) for name in FACES}) if over_http else run(parts(face))
    if not confirmed:
        raise SystemExit(SYNC_FAILED_STATUS)


def _over_http(given: str) -> Callable[[Mapping[str, "Served"]], bool]:
    """How faces are served there. Where others could come in, nobody does who has not said who they are."""
    from handrail.faces.web.run import address, run

    where = address(given)
    if not where.is_loopback:
        message = f"{where.host} is reached from other machines, and nobody is asked who they are"
        raise Failure("no_authentication", message, "listen at 127.0.0.1 or [::1]")
    return partial(run, where)


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
