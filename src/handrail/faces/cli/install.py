"""`handrail install`: make the server known to the clients of agents, or take it out again."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from handrail.engine.facts import sound
from handrail.faces.cli.installed import Planned, Told, carried_out, print_entries
from handrail.faces.cli.output import Failure, as_json, one_line
from handrail.faces.cli.placed import check_root, project_option
from handrail.faces.cli.serve import FACES
from handrail.shell.clients import Place, Scope, Server, clients, found, present
from handrail.shell.reading import whole
from handrail.shell.started import FROM_INDEX, started


@click.command()
@click.argument("names", type=click.Choice(sorted(clients())), nargs=-1)
@click.option("--all", "every", is_flag=True, help="All clients that are used in the project or by you.")
@click.option(
    "--scope",
    type=click.Choice([str(scope) for scope in Scope]),
    help="Whose settings: the project's, which is the default where a client has such, or yours.",
)
@click.option("--face", type=click.Choice(FACES), help="Which way in is served; steps by default.")
@click.option(
    "--http", metavar="URL", help="Name a server that runs already instead of one that the client starts."
)
@click.option("--from-index", is_flag=True, help="Have the client fetch the program: `uvx handrail serve`.")
@click.option("--uninstall", is_flag=True, help="Take the entry out again, and leave all else as it is.")
@click.option(
    "--listen/--no-listen",
    default=True,
    help="Also what makes its agent listen: hooks, a block in the guide it reads, a skill; the default.",
)
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--print", "printing", is_flag=True, help="Print the entry, to be put in by hand.")
@project_option("The project")
@as_json
@click.pass_context
def install(  # noqa: PLR0913 - an argument for each option
    context: click.Context,
    names: tuple[str, ...],
    *,
    project: Path,
    scope: str | None,
    face: str | None,
    http: str | None,
    every: bool,
    from_index: bool,
    uninstall: bool,
    listen: bool,
    dry_run: bool,
    printing: bool,
    as_json: bool,
) -> None:
    """Make the server known to clients, in their settings of the project or in yours.

    What stands there stays as it is, and the old file is kept beside the new one. Said twice, it does nothing
    the second time.
    """
    if bool(names) == every:
        raise click.UsageError("name clients, or say --all")
    _check_apart(
        {"--uninstall": uninstall, "--http": http, "--from-index": from_index},
        {"--uninstall": uninstall, "--face": face},
        {"--uninstall": uninstall, "--print": printing},
        {"--dry-run": dry_run, "--print": printing},
    )
    pinned = context.get_parameter_source("project") is not ParameterSource.DEFAULT
    places = _places(names, scope, partial(Place, project=_root(project), pinned=pinned))
    if every:
        places = _used(places, uninstall=uninstall)
    server = Server() if uninstall else _server(face or "", http or "", from_index=from_index)
    if printing:
        print_entries(places, server, as_json=as_json)
        return
    plan = Planned(server=server, face=face or "", uninstall=uninstall, listen=listen)
    carried_out(places, plan, Told("removed" if uninstall else "written", dry_run, as_json))


def _check_apart(*groups: Mapping[str, object]) -> None:
    """Fail if two options of one group were given: only one of them has a meaning."""
    for group in groups:
        given = [name for name, value in group.items() if value]
        if len(given) > 1:
            raise click.UsageError(f"{given[0]} and {given[1]} do not go together")


def _root(project: Path) -> Path:
    if not project.is_dir():
        raise Failure("no_project", f"there is no folder {project}", "make it, or name the one that is meant")
    return whole(project)


def _places(names: tuple[str, ...], scope: str | None, place: "partial[Place]") -> dict[str, Place]:
    """The settings of the named clients, or of all that have such."""
    chosen: dict[str, Place] = {}
    for name in dict.fromkeys(names or sorted(clients())):
        client = clients()[name]
        wanted = Scope(scope) if scope else client.scopes[0]
        if wanted in client.scopes:
            chosen[name] = place(client=client, scope=wanted)
        elif names:
            message = f"{client.title} has no settings of the {wanted}"
            raise Failure("no_scope", message, f"say --scope {client.scopes[0]}, or leave --scope out")
    for one in chosen.values():
        if one.scope is Scope.PROJECT or one.pinned:
            check_root(
                one.project, "go to the folder of a project, name it with --project, or say --scope user"
            )
    return chosen


def _used(places: Mapping[str, Place], *, uninstall: bool) -> dict[str, Place]:
    """Those that have the entry, or those that somebody uses."""
    if uninstall:
        return {name: place for name, place in places.items() if found(place) is not None}
    used = {name: place for name, place in places.items() if present(place.client, place.project)}
    if not used:
        message = "no sign of a client was found, neither in the project nor in your home"
        raise Failure("no_client", message, f"name one: handrail install {'|'.join(sorted(clients()))}")
    return used


def _server(face: str, http: str, *, from_index: bool) -> Server:
    if http:
        return Server(url=_url(http, face))
    own = started()
    words = FROM_INDEX if from_index or own.passing else own.words
    if own.passing and not from_index:
        message = f"{one_line(own.words[0])} may soon be gone: the client is told to fetch it again"
        click.echo(f"{message} ({' '.join(FROM_INDEX)})", err=True)
    if not sound("".join(words)):
        message = f"the path {one_line(words[0])} is not UTF-8"
        raise Failure("unfit_path", message, "install Handrail in another folder, or say --from-index")
    return Server((*words, "serve", *(("--face", face) if face else ())))


def _url(http: str, face: str) -> str:
    """The URL of a face: as it is given, or the usual one of a server that is named without a path."""
    try:
        split = urlsplit(http)
        port = split.port
    except ValueError:
        split, port = urlsplit(""), None
    if split.scheme not in {"http", "https"} or not split.hostname or port == 0 or not http.isprintable():
        message = f"`{one_line(http)}` is no URL of a server"
        raise Failure("bad_url", message, "write one like http://127.0.0.1:8765")
    if split.path.strip("/"):
        if face:
            message = f"{one_line(http)} names a way in already"
            raise Failure("bad_url", message, "leave --face out, or give the URL without a path")
        return http
    return f"{split.scheme}://{split.netloc}/mcp/{face or FACES[-1]}"
