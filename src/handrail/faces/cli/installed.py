"""What `handrail install` does to the settings of clients, and how it tells it."""

import json
import re
import shlex
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Final
from urllib.parse import quote

import click

from handrail.faces.cli.compared import print_changes
from handrail.faces.cli.output import one_line, print_json, print_text
from handrail.faces.cli.serve import FACES
from handrail.shell.clients import NAME, Place, Server, found, installing, removing, shown
from handrail.shell.layers import layers
from handrail.shell.layers import rows as layer_rows
from handrail.shell.settings_files import Change, done
from handrail.shell.started import started

_BLANK: Final = re.compile(r"(NAMED|NAME|ENTRY)(?:/(url|base64|shell))?")
_WRITTEN: Final[Mapping[str | None, Callable[[str], str]]] = {
    None: str,
    "url": partial(quote, safe=""),
    "base64": lambda text: quote(b64encode(text.encode()).decode(), safe=""),
    "shell": shlex.quote,
}
_TOLD: Final = {
    ("written", True, False): "{path} has the {what} now",
    ("written", True, True): "{path} would be changed",
    ("written", False, False): "nothing to do: {path} has the {what} already",
    ("removed", True, False): "the {what} {is_} taken out of {path}",
    ("removed", True, True): "{path} would be changed",
    ("removed", False, False): "nothing to do: {path} has no such {what}",
}
"""What is said, by what was asked for, whether something changes, and whether that is only tried."""

_PARTS: Final = {"guide": "block for the agent"}
"""What parts are called that are not called by their kind."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is asked for, `written` or `removed`, whether it is only tried, and to whom it is told.

    `then` says that what is left to do is told with each file.
    """

    what: str
    dry_run: bool
    as_json: bool
    then: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry, to be put into a file by hand."""

    client: str
    title: str
    path: str
    text: str
    links: tuple[str, ...]


def served(server: Server) -> str:
    """The face that a client gets of a server that it starts; nothing is known of one that runs."""
    words = server.words
    return words[words.index("--face") + 1] if "--face" in words[:-1] else FACES[-1] if words else ""


def started_by(entry: Mapping[str, object]) -> tuple[str, ...]:
    """The words that an entry of a client starts; none if it names a server that runs."""
    command, args = entry.get("command"), entry.get("args")
    more = [str(one) for one in args] if isinstance(args, list) else []
    return (command, *more) if isinstance(command, str) and command else ()


def program(server: Server) -> tuple[str, ...]:
    """The words that start Handrail, of those that start a server; else those that started this program."""
    words = server.words
    return words[: words.index("serve")] if "serve" in words else started().words


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What shall become of a client's files: the entry of a server, and what makes its agent listen.

    A part is worked out when the one before it is done, since both may be in one file.
    """

    server: Server
    face: str
    uninstall: bool
    listen: bool

    def __call__(self, name: str, place: Place) -> Iterator[tuple[str, Change]]:
        """Each part of it, by what it is; to take them out, the last one first."""
        server = Server(started_by(found(place) or {})) if self.uninstall else self.server
        face = self.face or served(server)
        parts = layers(name, place.scope, place.project, program(server), face) if self.listen else ()
        heard = [layer for layer in parts if layer.kind != "hooks" or not self.server.url]
        if self.uninstall:
            yield from ((layer.kind, layer.removing()) for layer in reversed(heard))
            yield "server", removing(place)
        else:
            yield "server", installing(place, self.server)
            yield from ((layer.kind, layer.adding()) for layer in heard)


def carried_out(places: Mapping[str, Place], plan: Planned, told: Told) -> None:
    """Make the planned changes, or only show them; none is made before all can be."""
    rows = changed(places, plan, told)
    if told.as_json:
        print_json({"dry_run": told.dry_run, "clients": rows})
    elif not rows:
        click.echo("nothing to do: no client has the server", err=True)


def changed(places: Mapping[str, Place], plan: Planned, told: Told) -> list[dict[str, object]]:
    """What became of each file, which is told on stderr; nothing is changed before everything can be."""
    for name, place in places.items():
        list(plan(name, place))
    return [_changed(name, place, part, told) for name, place in places.items() for part in plan(name, place)]


def _changed(name: str, place: Place, part: tuple[str, Change], told: Told) -> dict[str, object]:
    kind, change = part
    if not told.as_json:
        print_changes(change.difference().splitlines())
    backup = None if told.dry_run else done(change)
    sentence = _TOLD[told.what, change.needed, told.dry_run and change.needed].format(
        path=change.file.path, what=_PARTS.get(kind, kind), is_="are" if kind.endswith("s") else "is"
    )
    lines = [f"{place.client.title}: {sentence}"]
    if backup:
        lines.append(f"  the old file is kept as {backup}")
    if told.then and told.what == "written" and change.needed and not told.dry_run:
        then = {"server": place.client.then, "hooks": layer_rows()[name].then}.get(kind, "")
        lines += [f"  next: {then}"] if then else []
    click.echo("\n".join(map(one_line, lines)), err=True)
    return {
        "client": name,
        "part": kind,
        "scope": str(place.scope),
        "path": str(change.file.path),
        "status": told.what if change.needed else "unchanged",
        "backup": str(backup) if backup else None,
        "diff": change.difference(),
    }


def print_entries(places: Mapping[str, Place], server: Server, *, as_json: bool) -> None:
    """Print the entry of each client, and the links and lines that put it in."""
    entries = [_entry(name, place, place.entry(server)) for name, place in places.items()]
    if as_json:
        print_json({"entries": [asdict(entry) for entry in entries]})
        return
    for entry in entries:
        click.echo(one_line(f"{entry.title}: {entry.path}"), err=True)
        print_text("".join([entry.text, *(f"{link}\n" for link in entry.links)]))


def _entry(name: str, place: Place, entry: dict[str, object]) -> Entry:
    client = place.client
    values = {"NAME": NAME, "ENTRY": _compact(entry), "NAMED": _compact({"name": NAME, **entry})}

    def filled(blank: re.Match[str]) -> str:
        return _WRITTEN[blank[2]](values[blank[1]])

    links = tuple(_BLANK.sub(filled, link) for link in client.links)
    return Entry(name, client.title, str(place.file().path), shown(client, entry), links)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
