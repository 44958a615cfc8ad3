"""What `handrail doctor` looks at: a row for each check, and a small function that finds out."""

import os
import platform
import shlex
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import handrail
from handrail.engine.model import Authority
from handrail.faces.cli.installed import program, served, started_by
from handrail.shell.clients import Place, Scope, Server, clients, found, installing, present
from handrail.shell.faults import Fault
from handrail.shell.handshake import shake
from handrail.shell.layers import Layer, layers, rows
from handrail.shell.live_runs import find_live_runs
from handrail.shell.reading import whole
from handrail.shell.runner import Programs
from handrail.shell.settings import Need, settings, settings_file
from handrail.shell.settings_files import done
from handrail.shell.started import started
from handrail.shell.vcs import GIT, INSTALL_JJ, JJ, NONE, OLDEST_JJ, nearest, scrubbed
from handrail.shell.view import OpenReadOnly

_QUIET: Final = timedelta(days=1)
_OWN: Final = 0o077
_OTHERS: Final = 0o022
_VERSION: Final = 5.0


class Status(StrEnum):
    """How something is: well, worth a look, or in need of a repair."""

    OK = "ok"
    NOTE = "note"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. `repair` is the command that mends it; `fix` does it, where that is safe."""

    status: Status
    message: str
    repair: str = ""
    fix: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class Patient:
    """Whom the doctor looks at: a project, and a store as whoever started the program opens it."""

    project: Path
    store: str
    open_store: OpenReadOnly
    now: datetime
    env: "os._Environ[str]" = field(default_factory=lambda: os.environ)

    def places(self) -> Iterator[tuple[str, Place, dict[str, Any]]]:
        """Every entry of ours in the settings of a client, by its name. Raises a `Fault`."""
        seen: set[Path] = set()
        for name, client in clients().items():
            for scope in client.scopes:
                place = Place(client, scope, self.project)
                entry = found(place) if place.file().path not in seen else None
                if entry is not None:
                    seen.add(place.file().path)
                    yield name, place, entry


Findings: TypeAlias = Iterator[Finding]


def versions(_: Patient) -> Findings:
    """Which Handrail, Python and SQLite."""
    told = f"handrail {handrail.__version__}, Python {platform.python_version()}"
    yield Finding(Status.OK, f"{told}, SQLite {sqlite3.sqlite_version}, {sys.platform}")


def chosen(_: Patient) -> Findings:
    """Whether what the user has set can be read."""
    permit = settings().spells.permit
    yield Finding(Status.OK, f"spells.permit is {permit} ({settings_file()})")


def stored(patient: Patient) -> Findings:
    """The store: whose it is, its schema and what keeps it; of a file its rights, and whether it is sound."""
    with patient.open_store(patient.store) as found:
        seen = found.report() if found else None
    if seen is None:
        yield Finding(Status.OK, "there is no store yet: the first run makes one")
        return
    if not seen.ours:
        yield Finding(
            Status.FAILED, f"{seen.place} is no store of Handrail", "name another with HANDRAIL_STORE"
        )
        return
    told = f"{seen.place}, schema {seen.schema}, {seen.kept}"
    if seen.schema > seen.known:
        message = f"{told}: this program knows schema {seen.known} only"
        yield Finding(Status.FAILED, message, "pip install --upgrade handrail")
    elif seen.schema < seen.known:
        yield Finding(Status.NOTE, f"{told}: brought to schema {seen.known} when it is next used")
    else:
        yield Finding(Status.OK, told)
    if seen.path is None:
        return
    if not seen.wal:
        yield Finding(Status.NOTE, f"{seen.kept}, not wal: the next server changes that")
    for flaw in seen.flaws:
        yield Finding(Status.FAILED, f"{seen.path} is not sound: {flaw}", "handrail store check")
    yield from _rights(seen.path)


def _rights(path: Path) -> Findings:
    """Nobody else may read the store, nor put another in its place."""
    for place, wrong, mode in ((path, _OWN, 0o600), (path.parent, _OTHERS, 0o700)):
        if stat.S_IMODE(place.stat().st_mode) & wrong:
            message = f"others may {'read' if place == path else 'replace'} {place}"
            repair = f"chmod {mode:o} {shlex.quote(str(place))}"
            yield Finding(Status.FAILED, message, repair, partial(place.chmod, mode))


def configured(patient: Patient) -> Findings:
    """Each client that is used here: whether it knows the server, and whether what it starts is there."""
    known: set[str] = set()
    for name, place, entry in patient.places():
        known.add(name)
        words = started_by(entry)
        told = f"{place.client.title}: {place.file().path}"
        if not words:
            yield Finding(Status.OK, f"{told} names a server at {entry.get('url') or entry.get('serverUrl')}")
        elif shutil.which(words[0]) is None:
            fix = partial(_installed, place, words)
            repair = f"handrail install {name} --scope {place.scope}"
            yield Finding(Status.FAILED, f"{told} starts {words[0]}, which is not there", repair, fix)
        else:
            yield Finding(Status.OK, f"{told} starts {shlex.join(words)}")
    for name, client in clients().items():
        if name not in known and client.signs.program and present(client, patient.project):
            message = f"{client.title} is used here and does not know the server"
            yield Finding(Status.NOTE, message, f"handrail install {name}")


def _installed(place: Place, words: Sequence[str]) -> None:
    """The entry with this program in the place of one that is gone; its other words stay."""
    rest = list(words[words.index("serve") :]) if "serve" in words else ["serve"]
    more = place.entry(Server(("",)))["args"]
    kept = rest[: -len(more)] if isinstance(more, list) and more and rest[-len(more) :] == more else rest
    done(installing(place, Server((*started().words, *kept))))


def answered(patient: Patient) -> Findings:
    """Whether each server that a client would start answers, and how fast; else whether this program does."""
    entries = [started_by(entry) for _, _, entry in patient.places()]
    own = (*started().words, "serve", "--project", str(patient.project))
    for words in dict.fromkeys(entry for entry in entries if entry) or (own,):
        if not _is_ours(words, patient.project):
            message = f"{shlex.join(words)} was not started: it is not plainly Handrail"
            yield Finding(Status.NOTE, message, "start it in a terminal, if you trust it")
        elif shutil.which(words[0]):
            met = shake(words, patient.project, patient.env)
            message = f"{shlex.join(words)} answers after {met.seconds:.1f} s with {', '.join(met.tools)}"
            yield Finding(Status.OK, message)


def _is_ours(words: Sequence[str], project: Path) -> bool:
    """True if these words start Handrail and nothing else, by a program that is none of the project's."""
    real = whole(Path(shutil.which(words[0]) or words[0]))
    inside = real.is_relative_to(project) and real != _here()
    starts = (["handrail", "serve"], ["uvx", "handrail", "serve"], ["-m", "handrail", "serve"])
    named = [Path(words[0]).name, *words[1:]]
    python = Path(words[0]).name.startswith("python")
    return not inside and (
        named[:2] == starts[0] or named[:3] == starts[1] or (python and named[1:4] == starts[2])
    )


def _here() -> Path:
    return whole(Path(started().words[0]))


def listening(patient: Patient) -> Findings:
    """Whether the hooks, the guide and the skill of each client are as this program would write them."""
    hooked = False
    for name, place, entry in patient.places():
        server = Server(started_by(entry))
        for layer in layers(name, place.scope, patient.project, program(server), served(server)):
            hooked = hooked or (layer.kind == "hooks" and layer.there)
            yield _layered(name, place.scope, layer)
    if settings().spells.permit is Need.REQUIRED and not hooked:
        message = "spells.permit is required, and no client here has the hook that leaves permits"
        able = "|".join(name for name, row in rows().items() if row.hooks)
        yield Finding(Status.FAILED, message, f"handrail install {able}")


def _layered(name: str, scope: Scope, layer: Layer) -> Finding:
    told = f"{clients()[name].title}: {layer.kind} in {layer.file.path}"
    if layer.there:
        return Finding(Status.OK, told)
    repair = f"handrail install {name} --scope {scope}"
    if layer.taken(layer.file.text() or "") == (layer.file.text() or ""):
        return Finding(Status.NOTE, f"{told}: nothing of Handrail is there", repair)
    return Finding(
        Status.FAILED, f"{told}: what is there is of another Handrail", repair, lambda: done(layer.adding())
    )


def versioned(patient: Patient) -> Findings:
    """Which version control the project has, and whether its program is there and new enough."""
    kind, root = nearest(patient.project)
    programs = Programs(scrubbed(os.environ))
    for tool in (JJ, GIT):
        if shutil.which(tool) is None:
            if tool == kind:
                yield Finding(
                    Status.FAILED, f"{root} is kept by {kind}, and it is not there", f"install {kind}"
                )
            continue
        said = programs.run((tool, "--version"), str(patient.project), _VERSION).out.decode(
            "utf-8", "replace"
        )
        words = said.split()
        number = next((word for word in words if word[:1].isdigit()), "")
        if tool == JJ and _parts(number) < OLDEST_JJ:
            yield Finding(Status.FAILED, f"{said.strip()} is too old for plans", INSTALL_JJ)
        else:
            used = f", which keeps {root}" if tool == kind else ""
            yield Finding(Status.OK, f"{tool} {number}{used}")
    if kind == NONE:
        yield Finding(Status.OK, f"{patient.project} has no version control")


def _parts(version: str) -> tuple[int, ...]:
    parts = version.partition("-")[0].split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())


def standing(patient: Patient) -> Findings:
    """The runs that are under way in the project, and those that nobody has called for long."""
    runs = find_live_runs(patient.open_store, patient.store, str(patient.project))
    for run in runs:
        told = f"run {run.id} of {run.workflow} is {run.lifecycle} in {run.state}"
        if patient.now - run.called > _QUIET and run.authority is Authority.SQL:
            repair = f"handrail runs abandon {run.id} --reason stale"
            yield Finding(Status.NOTE, f"{told}, and nobody has called it for a day", repair)
        else:
            yield Finding(Status.OK, told)
    if not runs:
        yield Finding(Status.OK, "no run is under way here")


def reached(patient: Patient) -> Findings:
    """Whether the servers that clients know by a URL of this machine answer; nobody else is asked."""
    from handrail.faces.cli.ready import lacking
    from handrail.faces.web.address import Address

    urls = {str(entry.get("url") or entry.get("serverUrl") or "") for _, _, entry in patient.places()}
    for url in sorted(urls - {""}):
        split = urlsplit(url)
        where = Address(split.hostname or "", split.port or 80)
        if split.scheme != "http" or not where.is_loopback:
            yield Finding(Status.NOTE, f"the server at {url} is on another machine, and was not asked")
        elif why := lacking(where):
            yield Finding(Status.FAILED, why.message, why.repair)
        else:
            yield Finding(Status.OK, f"the server at {url} is ready")


CHECKS: Final[dict[str, Callable[[Patient], Findings]]] = {
    "versions": versions,
    "settings": chosen,
    "store": stored,
    "clients": configured,
    "handshake": answered,
    "listening": listening,
    "vcs": versioned,
    "runs": standing,
    "port": reached,
}
"""What is looked at, in this order."""


def examined(patient: Patient, only: Collection[str] = ()) -> Iterator[tuple[str, Finding]]:
    """Everything that is found, or what these checks find; what keeps one from its end is a finding too."""
    for name, check in ((name, check) for name, check in CHECKS.items() if name in (only or CHECKS)):
        try:
            yield from ((name, finding) for finding in check(patient))
        except Fault as fault:
            yield name, Finding(Status.FAILED, fault.message, fault.repair)
