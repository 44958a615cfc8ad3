"""`handrail project`: what the projects of a server are called over HTTP, where no path is ever given."""

from pathlib import Path

import click

from handrail.faces.cli.output import Failure, NotFound, as_json, print_json, print_table
from handrail.faces.cli.stored import Text, at_store, opened
from handrail.shell.access import NAME
from handrail.shell.system import SystemClock


@click.group()
def project() -> None:
    """Name the projects that a server serves over HTTP."""


@project.command()
@click.argument("name", type=Text())
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path))
@at_store
def add(name: str, root: Path, store: str | None) -> None:
    """Let the project in the folder ROOT be called NAME."""
    if not NAME.fullmatch(name):
        raise Failure(
            "bad_name", f"`{name}` is no name of a project", f"write one that matches {NAME.pattern}"
        )
    folder = root.resolve()
    if folder in {Path("/"), Path.home().resolve()}:
        raise Failure("no_project", f"{folder} is no project", "name the folder of a project")
    with opened(store, made=True) as found:
        if not found.access.register(name, folder, SystemClock().now()):
            repair = "handrail project list shows the names; handrail project remove NAME frees one"
            raise Failure("taken", f"the name `{name}` or the folder {folder} is taken already", repair)
    click.echo(f"{folder} is called {name}", err=True)


@project.command("list")
@at_store
@as_json
def list_(store: str | None, *, as_json: bool) -> None:
    """List the names, and the folder of each."""
    with opened(store) as found:
        known = found.access.projects()
    if as_json:
        print_json({"projects": [{"name": name, "root": str(root)} for name, root in known.items()]})
    else:
        print_table([(name, str(root)) for name, root in known.items()], ("name", "root"))


@project.command()
@click.argument("name", type=Text())
@at_store
def remove(name: str, store: str | None) -> None:
    """Let no project be called NAME any more. Its files and its runs stay."""
    with opened(store) as found:
        if not found.access.forget(name):
            raise NotFound("registered project", name, "handrail project list")
    click.echo(f"no project is called {name} any more", err=True)
