"""`handrail dashboard`: every run of a store, live in a browser on this machine."""

from pathlib import Path

import click

from handrail.faces.cli.placed import project_option
from handrail.faces.cli.stored import at_store, openings
from handrail.shell.faults import SYNC_FAILED_STATUS
from handrail.shell.reading import whole
from handrail.shell.store_address import located

PORT = 8766


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Where it listens, on 127.0.0.1 only; 0 is any port that is free.",
)
@click.option("--no-open", is_flag=True, help="Only print the link, and open no browser.")
@project_option("The project whose workflows are shown first")
@at_store
def dashboard(port: int, project: Path, store: str | None, *, no_open: bool) -> None:
    """Show every run of a store in a browser, live, and act on it there.

    It prints a link that lets one browser in, once; as soon as that was used, another one. Only programs of
    this machine reach it. It ends with Ctrl-C.
    """
    from handrail.faces.board.run import run
    from handrail.faces.web.address import Address

    opened: list[str] = []

    def told(link: str) -> None:
        click.echo(link)
        if not (no_open or opened):
            click.launch(link)
        opened.append(link)

    opens = openings()
    with opens.serving(located(store or "")) as serving:
        confirmed = run(serving, opens, whole(project), Address("127.0.0.1", port), told)
    raise SystemExit(0 if confirmed else SYNC_FAILED_STATUS)
