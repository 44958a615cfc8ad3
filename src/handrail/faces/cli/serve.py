"""`handrail serve`: the MCP server for an agent, over stdin and stdout."""

import gc
from pathlib import Path

import click

from handrail.engine.facts import sound
from handrail.faces.cli.output import Failure, one_line
from handrail.faces.cli.stored import at_store, openings
from handrail.shell.faults import SYNC_FAILED_STATUS
from handrail.shell.opening import located

FACES = ("skills", "spells", "steps")


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
@at_store
def serve(face: str, projects: tuple[Path, ...], names: str, store: str | None) -> None:
    """Serve an agent over stdin and stdout, as its client starts it. Messages go to stderr only."""
    gc.disable()
    from handrail.faces.mcp.names import Names
    from handrail.faces.mcp.serving import run

    gc.freeze()
    gc.enable()
    roots = _roots(projects)
    with openings().serving(located(store or "")) as serving:
        confirmed = run(serving, openings().folder, roots, face, Names(names))
    if not confirmed:
        raise SystemExit(SYNC_FAILED_STATUS)


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
