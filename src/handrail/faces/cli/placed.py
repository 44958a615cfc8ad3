"""Commands in a project: the option that names it."""

from collections.abc import Callable
from pathlib import Path

import click


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


def typed(project: Path) -> str:
    """The option as it must be typed again, with a blank before it; nothing for the current folder."""
    import shlex

    return "" if project == Path() else f" --project {shlex.quote(str(project))}"
