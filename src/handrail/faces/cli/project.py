"""`handrail project`: the projects that a server over HTTP serves, each by its name."""

from pathlib import Path

import click

from handrail.faces.cli.output import Failure, NotFound, as_json, print_json, print_table
from handrail.faces.cli.placed import check_root
from handrail.faces.cli.stored import Text, at_store, opened
from handrail.shell.reading import whole
from handrail.shell.records import project_id, rfc3339
from handrail.shell.registry import NAME, Registered, Registry, shared
from handrail.shell.system import SystemClock


@click.group()
def project() -> None:
    """Add, list and remove the projects that this store's server serves over HTTP."""


@project.command()
@click.argument("name", type=Text())
@click.argument("root", type=click.Path(path_type=Path))
@at_store
@as_json
def add(name: str, root: Path, store: str | None, *, as_json: bool) -> None:
    """Have the project in the folder ROOT served as NAME, also by a server that runs already."""
    if not NAME.fullmatch(name):
        message = f"`{name}` is no name of a project"
        raise Failure("bad_name", message, f"write one that matches {NAME.pattern}")
    if not root.is_dir():
        raise Failure("no_project", f"there is no folder {root}", "make it, or name the one that is meant")
    folder = whole(root)
    check_root(folder, "name the folder of a project")
    with opened(store, made=True) as found:
        made = Registered(name, str(folder), SystemClock().now())
        _check_apart(found.registry, made)
        if not found.registry.add(made):
            raise Failure("taken", f"`{name}` was added by somebody else just now", "handrail project list")
    if as_json:
        print_json({"project": _as_data(made)})
    else:
        click.echo(f"project {name} is served from {folder}", err=True)


@project.command("list")
@at_store
@as_json
def list_(store: str | None, *, as_json: bool) -> None:
    """List the projects that are served over HTTP."""
    with opened(store) as found:
        projects = found.registry.projects()
    if as_json:
        print_json({"projects": [_as_data(one) for one in projects]})
    else:
        heads = ("name", "root", "since")
        print_table([(one.name, one.root, rfc3339(one.created)) for one in projects], heads)


@project.command()
@click.argument("name", type=Text())
@at_store
@as_json
def remove(name: str, store: str | None, *, as_json: bool) -> None:
    """Serve the project NAME no longer; its runs and its files stay as they are."""
    with opened(store) as found:
        gone = next((one for one in found.registry.projects() if one.name == name), None)
        if gone is None or not found.registry.remove(name):
            raise NotFound("project", name, "handrail project list")
    if as_json:
        print_json({"project": _as_data(gone)})
    else:
        kept = f"its runs are kept: handrail runs list --project {gone.root}"
        click.echo(f"project {name} is served no longer; {kept}", err=True)


def _check_apart(registry: Registry, new: Registered) -> None:
    """Fail if the name is taken, or the folder has something in common with that of another project."""
    for one in registry.projects():
        if one.name == new.name:
            message = f"`{one.name}` is the project in {one.root} already"
            raise Failure("taken", message, f"choose another name, or: handrail project remove {one.name}")
        if common := shared(Path(new.root), Path(one.root)):
            message = f"{new.root} is not apart from `{one.name}` in {one.root}: {common}"
            repair = f"use `{one.name}` for both, or: handrail project remove {one.name}"
            raise Failure("not_apart", message, repair)


def _as_data(one: Registered) -> dict[str, object]:
    return {
        "name": one.name,
        "root": one.root,
        "project_id": project_id(one.root),
        "created": rfc3339(one.created),
    }
