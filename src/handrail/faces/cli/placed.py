"""Commands in a project: the options that name it, and the version control that keeps its plan."""

from collections.abc import Callable
from pathlib import Path

import click

from handrail.engine.facts import sound
from handrail.faces.cli.output import Failure, one_line
from handrail.shell.reading import whole
from handrail.shell.vcs import GIT, JJ


def project_option(about: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option `--project`, which is the current folder unless something else is said."""
    return click.option(
        "--project",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="HANDRAIL_PROJECT",
        default=".",
        help=f"{about}; the current folder by default.",
    )


in_project = project_option("The project whose .handrail/workflows come first")

by_vcs = click.option(
    "--vcs",
    type=click.Choice([JJ, GIT]),
    envvar="HANDRAIL_VCS",
    help="Which version control keeps plans; by default what the project has, jj if it has both.",
)


def typed(project: Path) -> str:
    """The option as it must be typed again, with a blank before it; nothing for the current folder."""
    import shlex

    return "" if project == Path() else f" --project {shlex.quote(str(project))}"


def nowhere() -> frozenset[Path]:
    """The folders that are no project, as everything of a machine or a person is below them."""
    return frozenset({Path("/"), whole(Path.home())})


def check_root(root: Path, repair: str) -> None:
    """Fail, with this repair, if a folder that was resolved cannot be a project."""
    if not sound(str(root)):
        message = f"the path {one_line(str(root))} is not UTF-8"
        raise Failure("no_project", message, f"give the folder another name, or {repair}")
    if root in nowhere():
        raise Failure("no_project", f"{root} is no project", repair)
