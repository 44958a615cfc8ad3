"""`handrail brief`: where the agent is, in a page that fits into any context."""

from pathlib import Path

import click

from handrail.faces.cli import listening
from handrail.faces.cli.output import as_json, print_json, print_text
from handrail.shell.live_runs import find_live_runs


@click.command()
@click.option(
    "--project",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HANDRAIL_PROJECT",
    default=".",
    help="The project; the current folder, or the nearest above it that has a run, by default.",
)
@click.option("--store", metavar="FILE", default="", envvar="HANDRAIL_STORE", help="The store of the server.")
@as_json
def brief(project: Path, store: str, *, as_json: bool) -> None:
    """Tell where an agent is: its run and step, what is asked, what was refused last, what to call next.

    At most 6,000 bytes. The run that was called last is told in full, others under way in a line each.
    """
    runs = find_live_runs(click.get_current_context().obj.read_only, store, str(project))
    if as_json:
        print_json({"runs": [listening.data(run) for run in runs]})
    else:
        print_text(listening.brief(runs) + "\n")
