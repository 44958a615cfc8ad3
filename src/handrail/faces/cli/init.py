"""`handrail init`: from nothing to an agent that is led, with at most three questions."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from handrail.faces.cli.installed import Planned, Told, changed
from handrail.faces.cli.output import Failure, as_json, one_line, print_json
from handrail.faces.cli.placed import check_root, project_option
from handrail.faces.cli.serve import FACES
from handrail.shell.clients import Place, Server, clients, present
from handrail.shell.layers import rows
from handrail.shell.live_runs import WORDS
from handrail.shell.reading import whole
from handrail.shell.settings import Need, require_permits, settings, settings_file
from handrail.shell.started import FROM_INDEX, started
from handrail.shell.vcs import NONE, nearest

_ABOUT: Final = "handrail init --client claude, or another of: {names}"


@click.command()
@click.option(
    "--client", "names", type=click.Choice(sorted(clients())), multiple=True, help="Do not ask which clients."
)
@click.option("--face", type=click.Choice(FACES), help="Do not ask which way in is served.")
@click.option("--permit/--no-permit", default=None, help="Do not ask whether words need a permit.")
@click.option("--yes", is_flag=True, help="Ask nothing: the clients that are used here, and the usual.")
@project_option("The project")
@as_json
def init(  # noqa: PLR0913 - an argument for each option
    *, names: tuple[str, ...], face: str | None, permit: bool | None, yes: bool, project: Path, as_json: bool
) -> None:
    """Set up a project: make the server known to your clients, and have their agents listen.

    Asks at most three questions. Said twice, it does nothing the second time.
    """
    root = whole(project)
    check_root(root, "go to the folder of a project, or name it with --project")
    asks = not yes and sys.stdin.isatty()
    if not (asks or yes or names):
        repair = "say --yes, or --client NAME"
        raise Failure("unconfirmed", "nobody can be asked which clients are meant", repair)
    chosen = names or _asked_clients(root, asks=asks)
    way = face or (_asked_face() if asks else FACES[-1])
    needs = permit if permit is not None else _asked_permit(chosen, way, asks=asks)
    made = _set_up(chosen, way, root)
    if needs:
        require_permits()
    kind, above = nearest(root)
    then = clients()[chosen[0]].then
    if as_json:
        vcs = {"kind": kind, "root": None if kind == NONE else str(above)}
        setting = {"vcs": vcs, "face": way, "permit": bool(needs)}
        print_json({"project": str(root), **setting, "clients": made, "next": then})
        return
    click.echo(f"{one_line(str(root))} is set up: {', '.join(chosen)}, face {way}, version control {kind}")
    click.echo(f"next: {then}")


def _set_up(chosen: Sequence[str], face: str, root: Path) -> list[dict[str, object]]:
    """Make the server known to these clients, and have their agents listen; what became of each file."""
    own = started()
    server = Server((*(FROM_INDEX if own.passing else own.words), "serve", "--face", face))
    plan = Planned(server=server, face=face, uninstall=False, listen=True)
    return changed(
        {name: _place(name, root) for name in chosen},
        plan,
        Told("written", dry_run=False, as_json=True, then=False),
    )


def _place(name: str, root: Path) -> Place:
    client = clients()[name]
    return Place(client, client.scopes[0], root, pinned=True)


def _asked_clients(root: Path, *, asks: bool) -> Sequence[str]:
    """The clients that are meant: those that are used here, or what a person says instead."""
    used = [name for name, client in clients().items() if client.signs.program and present(client, root)]
    if asks:
        shown = ",".join(used) or "claude"
        said = click.prompt(f"Which clients? ({', '.join(clients())})", default=shown, err=True)
        used = [word.strip() for word in said.split(",") if word.strip()]
        if unknown := [word for word in used if word not in clients()]:
            message = f"no client is called `{unknown[0]}`"
            raise Failure("no_client", message, _ABOUT.format(names=", ".join(clients())))
    if not used:
        message = "no sign of a client was found, neither in the project nor in your home"
        raise Failure("no_client", message, _ABOUT.format(names=", ".join(clients())))
    return used


def _asked_face() -> str:
    kind = click.Choice(FACES)
    return str(click.prompt("Which way in?", type=kind, default=FACES[-1], err=True))


def _asked_permit(chosen: Sequence[str], face: str, *, asks: bool) -> bool:
    """Whether each word shall need a permit, where a client can leave one."""
    able = [name for name in chosen if rows()[name].hooks]
    if not asks or not able or face != WORDS or settings().spells.permit is Need.REQUIRED:
        return False
    about = f"Shall a word count only if you typed it yourself? It is set in {settings_file()}"
    return click.confirm(one_line(about), default=False, err=True)
