"""Commands in a project: the option that names it."""

from pathlib import Path

import click

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
