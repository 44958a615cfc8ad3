"""`handrail ready`: whether a server over HTTP can serve, for whoever looks after it."""

import time
from http.client import HTTPConnection, HTTPException
from typing import Final

import click

from handrail.faces.cli.output import Failure
from handrail.faces.web.address import Address, address

_ANSWER: Final = 3.0
"""How many seconds a server has for its answer."""

_PAUSE: Final = 0.1
_MOST: Final = 200


@click.command()
@click.argument("server", metavar="HOST:PORT")
@click.option(
    "--within",
    type=click.IntRange(0, 3600),
    default=0,
    show_default=True,
    metavar="SECONDS",
    help="For how long it is asked again and again.",
)
def ready(server: str, within: int) -> None:
    """Ask the server that `serve --http HOST:PORT` has started whether it can serve.

    Exits with 1 if it cannot, and says why. HOST:PORT is what that server was told.
    """
    where, last = address(server), time.monotonic() + within
    while why := lacking(where):
        if time.monotonic() >= last:
            raise why
        time.sleep(_PAUSE)


def lacking(where: Address) -> Failure | None:
    """Why the server there cannot serve, if it cannot."""
    connection = HTTPConnection(where.host, where.port, timeout=_ANSWER)
    try:
        connection.request("GET", "/readyz", headers={"Host": str(where)})
        answer = connection.getresponse()
        said = answer.read(_MOST).decode("utf-8", "replace").strip()
    except (OSError, HTTPException) as error:
        message = f"no server answers at {where}: {error}"
        return Failure("not_ready", message, f"start it: handrail serve --http {where}")
    finally:
        connection.close()
    if answer.status == 200:
        return None
    message = f"the server at {where} answers {answer.status}: {said}"
    return Failure("not_ready", message, "ask again later; if it cannot read its store: handrail store check")
