"""Commands in a project: the option that names it."""

from pathlib import Path

import click

from handrail.engine.facts import sound
from handrail.faces.cli.output import Failure, one_line

in_project = click.option(
    "--project",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HANDRAIL_PROJECT",
    default=".",
    help="The project whose .handrail/workflows come first; the current folder by default.",
)


def typed(project: Path) -> str:
    """The option as it must be typed again, with a blank before it; nothing for the current folder."""
    import shlex

    return "" if project == Path() else f" --project {shlex.quote(str(project))}"


def nowhere() -> frozenset[Path]:
    """The folders that are no project, as everything of a machine or a person is below them."""
    return frozenset({Path("/"), Path.home().resolve()})


def check_root(root: Path, repair: str) -> None:
    """Fail, with this repair, if a folder that was resolved cannot be a project."""
    if not sound(str(root)):
        message = f"the path {one_line(str(root))} is not UTF-8"
        raise Failure("no_project", message, f"give the folder another name, or {repair}")
    if root in nowhere():
        raise Failure("no_project", f"{root} is no project", repair)
