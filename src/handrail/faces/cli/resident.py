"""`handrail up`, `down` and `status`: the resident server, with which what clients start answers at once."""

import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from handrail.faces.cli.output import Failure, as_json, print_json
from handrail.resident import place
from handrail.resident.host import Host, TakenError, UnfitError
from handrail.resident.relay import joined, told
from handrail.resident.starting import start

_SECONDS: Final = 30.0
"""How long one may take to start or to end."""

_PAUSE: Final = 0.02


@click.command()
@click.option(
    "--on-demand", is_flag=True, help="From now on, have `serve` start it when it finds none; until `down`."
)
@click.option("--foreground", is_flag=True, help="Be the resident server, until Ctrl-C or `down`.")
@click.option(
    "--idle",
    type=click.IntRange(1, 31_536_000),
    metavar="SECONDS",
    help="With --foreground: end after so long without a session.",
)
@click.pass_context
def up(context: click.Context, *, on_demand: bool, foreground: bool, idle: int | None) -> None:
    """Start a resident server: what `handrail serve` needs is then in memory before a client starts it.

    Nothing else changes. Each client still has a server of its own, and one that finds no resident server
    serves by itself.
    """
    if idle is not None and not foreground:
        raise click.UsageError("--idle is for --foreground: say both")
    if on_demand:
        _marked()
    if foreground:
        _stay(context, idle)
        return
    before = standing()
    if before is None:
        start(on_demand=on_demand)
    now = before or _waited(standing, "could not be started", "see why: handrail up --foreground")
    click.echo(f"the resident server {'already runs' if before else 'runs'}: pid {now['pid']}")


@click.command()
def down() -> None:
    """End the resident server. Sessions that it began go on, and none is started on demand any more."""
    Path(place.marker()).unlink(missing_ok=True)
    found = standing()
    if found is None:
        click.echo("no resident server runs")
        return
    os.kill(int(found["pid"]), signal.SIGTERM)
    _waited(lambda: standing() is None or None, "does not end", f"kill it: kill -9 {found['pid']}")
    click.echo("the resident server has ended")


@click.command()
@as_json
def status(*, as_json: bool) -> None:
    """Say whether a resident server runs, and how many sessions it began are under way."""
    found = standing()
    allowed = Path(place.marker()).exists()
    if as_json:
        since = {"since": _stamp(found)} if found else {}
        print_json({"resident": {**found, **since} if found else None, "on_demand": allowed})
        return
    if found:
        click.echo(f"pid {found['pid']}, version {found['version']}, since {_stamp(found)}")
        click.echo(f"{found['sessions']} sessions under way")
    else:
        click.echo("no resident server runs; start it: handrail up")
    click.echo(f"started on demand: {'yes' if allowed else 'no'}")


def standing() -> dict[str, Any] | None:
    """What the resident server says of itself; None if there is none."""
    connection = joined(_SECONDS)
    if connection is None:
        return None
    try:
        told(connection, ())
        said = b""
        while not said.endswith(b"\n"):
            more = connection.recv(4096)
            if not more:
                return None
            said += more
    except OSError:
        return None
    finally:
        connection.close()
    found: dict[str, Any] = json.loads(said)
    return found


def _stamp(found: dict[str, Any]) -> str:
    return datetime.fromtimestamp(found["since"], UTC).isoformat(" ", "seconds")


def _marked() -> None:
    marker = Path(place.marker())
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


def _waited(found: Callable[[], Any], message: str, repair: str) -> Any:  # noqa: ANN401 - whatever is found
    """What is found, as soon as it is."""
    last = time.monotonic() + _SECONDS
    while (one := found()) is None:
        if time.monotonic() > last:
            raise Failure("resident", f"the resident server {message}", repair)
        time.sleep(_PAUSE)
    return one


def _stay(context: click.Context, idle: int | None) -> None:
    """Be the resident server."""
    from handrail.faces.cli.main import cli

    def program(words: Sequence[str]) -> None:
        cli.main(list(words), prog_name="handrail", obj=context.obj)

    try:
        host = Host(program)
    except TakenError:
        raise Failure("resident", "a resident server runs already", "end it first: handrail down") from None
    except UnfitError as error:
        repair = "set XDG_RUNTIME_DIR to a short path of a folder of yours"
        raise Failure("resident", str(error), repair) from None
    from handrail.faces.cli.warming import warm

    warm(program)
    host.run(idle)
