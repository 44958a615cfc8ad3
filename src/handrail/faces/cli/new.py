"""`handrail workflows new`: a workflow to begin with, from a template beside this file."""

import shlex
from pathlib import Path
from typing import Final

import click

from handrail.faces.cli.output import Failure, one_line
from handrail.faces.cli.placed import in_project, typed
from handrail.shell.catalog import FOLDER_FILE, PROJECT, Kind, catalog
from handrail.shell.workspace import Disk
from handrail.workflows.reader import NAME

TEMPLATE: Final = Path(__file__).with_name("new.yaml")
_BLANK: Final = "workflow: NAME"


@click.command()
@click.argument("name")
@click.option("--hide", is_flag=True, help="Make it even if it hides one of yours, or a built-in one.")
@in_project
def new(name: str, project: Path, *, hide: bool) -> None:
    """Begin the workflow NAME in a project: a file that works as it stands, with comments on what to change.

    A file that is there is never written over.
    """
    file = f"{name}{Kind.WORKFLOW.suffix}"
    if not NAME.fullmatch(name) or file == FOLDER_FILE:
        repair = "use letters, digits, `_`, `-` and `.`, beginning with a letter, at most 64"
        raise Failure("bad_name", f"a workflow cannot be called `{name}`", repair)
    rack = catalog(project).racks[0]
    disk = Disk(project, rack.path.relative_to(project).as_posix())
    if {name, file} & set(disk.names("")):
        raise Failure(
            "exists", f"{rack.path / file} is there already", "choose another name, or change that file"
        )
    hidden = next((one for one in catalog(project).all() if one.name == name and one.origin != PROJECT), None)
    if hidden and not hide:
        repair = "choose another name, or say --hide: then it is used only after `handrail trust`"
        raise Failure("hides", f"`{name}` is a {hidden.origin} workflow, which this one would hide", repair)
    text = TEMPLATE.read_text("utf-8").replace(_BLANK, f"workflow: {name}", 1)
    disk.mkdir("")
    disk.write(file, text.encode())
    disk.sync("")
    click.echo(one_line(str(rack.path / file)))
    click.echo("\n".join(_next(name, rack.path / file, project, hides=hidden is not None)), err=True)


def _next(name: str, path: Path, project: Path, *, hides: bool) -> list[str]:
    """What to do now."""
    lines = (
        [f"it hides another: no run starts before `handrail trust {name}{typed(project)}`"] if hides else []
    )
    return [
        *lines,
        "change it as its comments say, then:",
        f"  handrail workflows check {one_line(shlex.quote(str(path)))}",
        f"  handrail workflows show {name}{one_line(typed(project))}",
    ]
