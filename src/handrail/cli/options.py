"""Options and parameter types that several commands share."""

import shlex
from collections.abc import Callable
from datetime import datetime
from ipaddress import ip_network
from pathlib import Path

import click

from handrail.cli.output import Failure
from handrail.documents.text import escape_for_terminal
from handrail.engine.facts import is_valid_value
from handrail.runtime.ports.turn import GIT, JJ
from handrail.runtime.system import parse_moment, resolve_path


class NetworkParam(click.ParamType[str]):
    """An address such as `10.0.0.7`, or a network such as `10.0.0.0/24`."""

    name = "network"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the network in its canonical form."""
        try:
            return str(ip_network(value))
        except ValueError:
            message = (
                f"`{escape_for_terminal(value)}` is neither an "
                "address like 10.0.0.7 nor a network like 10.0.0.0/24"
            )
            self.fail(message, param, ctx)


def project_option(about: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option `--project`; its default is the current folder."""
    return click.option(
        "--project",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="HANDRAIL_PROJECT",
        default=".",
        help=f"{about}; the current folder by default.",
    )


workflows_project_option = project_option("The project whose .handrail/workflows come first")

vcs_option = click.option(
    "--vcs",
    type=click.Choice([JJ, GIT]),
    envvar="HANDRAIL_VCS",
    help="Which version control keeps plans; by default what the project has, jj if it has both.",
)


def format_project_option(project: Path) -> str:
    """Return ` --project PATH`, to be added to a command that we suggest; empty for the current folder."""
    return "" if project == Path() else f" --project {shlex.quote(str(project))}"


def non_project_folders() -> frozenset[Path]:
    """Return the folders that cannot be a project: everything on the machine or of the user is below them."""
    return frozenset({Path("/"), resolve_path(Path.home())})


def check_root(root: Path, repair: str) -> None:
    """Fail with this repair if a resolved folder cannot be a project."""
    if not is_valid_value(str(root)):
        message = f"the path {escape_for_terminal(str(root))} is not UTF-8"
        raise Failure("no_project", message, f"give the folder another name, or {repair}")
    if root in non_project_folders():
        raise Failure("no_project", f"{root} is no project", repair)


class TextParam(click.ParamType[str]):
    """A text that a store can keep: UTF-8, with at most `longest` characters if that is given."""

    name = "text"

    def __init__(self, longest: int | None = None) -> None:
        self.longest = longest

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text unchanged."""
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail("is not UTF-8", param, ctx)
        if self.longest is not None and len(value) > self.longest:
            self.fail(f"has more than {self.longest} characters", param, ctx)
        return value


class MomentParam(click.ParamType[datetime]):
    """A time: ISO 8601 (UTC unless it has an offset), or an age such as `2d`."""

    name = "time"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time in UTC."""
        try:
            return parse_moment(value)
        except (ValueError, OverflowError):
            message = (
                f"`{escape_for_terminal(value)}` is neither a time like 2026-01-31T12:00 nor an age like 30d"
            )
            self.fail(message, param, ctx)


store_option = click.option(
    "--store",
    type=TextParam(),
    metavar="URL",
    envvar="HANDRAIL_STORE",
    help="The store: a file, or postgresql://user@host/name; else handrail.db in your data folder.",
)


def normalize_project(project: str) -> str:
    """Return a project as the store knows it: a path is resolved, a name stays as it is."""
    return str(resolve_path(Path(project))) if "/" in project or project.startswith(".") else project
