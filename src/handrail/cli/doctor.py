"""`handrail doctor` and `handrail ready`: check the setup, and whether an HTTP server can serve.

The doctor runs the functions in CHECKS. Each yields findings; a finding may have a fix that is safe to apply.
"""

import os
import platform
import shlex
import shutil
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import click

import handrail
from handrail.app.asgi import ListenAddress, parse_listen_address
from handrail.app.live_runs import find_live_runs
from handrail.app.settings import Requirement, load_settings, settings_path
from handrail.cli.options import project_option
from handrail.cli.output import Failure, json_option, print_json
from handrail.clients.formats import (
    ClientSettings,
    ServerSpec,
    find_entry,
    is_client_used,
    load_clients,
    plan_install,
)
from handrail.clients.installation import (
    find_handrail_command,
    find_server_face,
    find_start_command,
    get_entry_command,
)
from handrail.clients.integrations import list_integrations, load_integrations
from handrail.clients.probes import probe_stdio_server
from handrail.clients.settings_files import FileChange, apply_change
from handrail.documents.text import escape_for_terminal
from handrail.engine.model import Authority
from handrail.runtime.errors import Fault
from handrail.runtime.ports.turn import GIT, JJ
from handrail.runtime.system import SubprocessRunner, SystemClock, resolve_path
from handrail.stores.sql.reader import open_read_only
from handrail.stores.vcs.commands import (
    INSTALL_JJ,
    MIN_JJ_VERSION,
    NO_VCS,
    find_repository,
    scrub_environment,
)

# How many seconds a server has for its answer.
_ANSWER_SECONDS: Final = 3.0
# How many seconds pass between two attempts within `--within`.
_POLL_SECONDS: Final = 0.1
_MAX_ANSWER_BYTES: Final = 200


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
    where, last = parse_listen_address(server), time.monotonic() + within
    while why := _probe_server(where):
        if time.monotonic() >= last:
            raise why
        time.sleep(_POLL_SECONDS)


def _probe_server(where: ListenAddress) -> Failure | None:
    """Ask the server at this address. Return why it cannot serve, or None if it can."""
    connection = HTTPConnection(where.host, where.port, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", "/readyz", headers={"Host": str(where)})
        answer = connection.getresponse()
        text = answer.read(_MAX_ANSWER_BYTES).decode("utf-8", "replace").strip()
    except (OSError, HTTPException) as error:
        message = f"no server answers at {where}: {error}"
        return Failure("not_ready", message, f"start it: handrail serve --http {where}")
    finally:
        connection.close()
    if answer.status == 200:
        return None
    message = f"the server at {where} answers {answer.status}: {text}"
    return Failure("not_ready", message, "ask again later; if it cannot read its store: handrail store check")


_QUIET_AFTER: Final = timedelta(days=1)
# The permissions of group and others, none of which a store may have.
_SHARED_BITS: Final = 0o077
# The permissions of group and others to write, which the store's folder may not have.
_SHARED_WRITE_BITS: Final = 0o022
_VERSION_SECONDS: Final = 5.0


class CheckStatus(StrEnum):
    """The result of a check: fine, worth a look, in need of a repair, or repaired by this command."""

    OK = "ok"
    NOTE = "note"
    FAILED = "failed"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. `repair` is the command that fixes it; `fix` applies it, where that is safe."""

    status: CheckStatus
    message: str
    repair: str = ""
    fix: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What the doctor checks: a project, and the store that the user named (empty for the default one)."""

    project: Path
    store: str
    now: datetime
    env: "os._Environ[str]" = field(default_factory=lambda: os.environ)

    def find_entries(self) -> Iterator[tuple[str, ClientSettings, dict[str, Any]]]:
        """Yield each entry of ours in a client's settings, with the client's name. Raises a `Fault`."""
        seen: set[Path] = set()
        for name, client in load_clients().items():
            for scope in client.scopes:
                place = ClientSettings(client, scope, self.project)
                entry = find_entry(place) if place.file().path not in seen else None
                if entry is not None:
                    seen.add(place.file().path)
                    yield name, place, entry


Findings: TypeAlias = Iterator[Finding]
_ok: Final = partial(Finding, CheckStatus.OK)
_note: Final = partial(Finding, CheckStatus.NOTE)
_failed: Final = partial(Finding, CheckStatus.FAILED)


def check_versions(_: CheckContext) -> Findings:
    """Report the versions of Handrail, Python and SQLite."""
    versions = f"handrail {handrail.__version__}, Python {platform.python_version()}"
    yield _ok(f"{versions}, SQLite {sqlite3.sqlite_version}, {sys.platform}")


def check_settings(_: CheckContext) -> Findings:
    """Check that the user's settings can be read."""
    yield _ok(f"spells.permit is {load_settings().spells.permit} ({settings_path()})")


def check_store(context: CheckContext) -> Findings:
    """Check that the store is ours, and its schema; for a file also its permissions and its integrity."""
    with open_read_only(context.store) as store:
        report = store.report() if store else None
    if report is None:
        yield _ok("there is no store yet: the first run makes one")
        return
    if not report.ours:
        yield _failed(f"{report.place} is no store of Handrail", "name another with HANDRAIL_STORE")
        return
    summary = f"{report.place}, schema {report.schema}, {report.kept}"
    if report.schema > report.known:
        message = f"{summary}: this program knows schema {report.known} only"
        yield _failed(message, "pip install --upgrade handrail")
    elif report.schema < report.known:
        yield _note(f"{summary}: brought to schema {report.known} when it is next used")
    else:
        yield _ok(summary)
    if report.path is None:
        return
    if not report.wal:
        yield _note(f"{report.kept}, not wal: the next server changes that")
    for flaw in report.flaws:
        yield _failed(f"{report.path} is not sound: {flaw}", "handrail store check")
    # No other user may read the file, or put another one in its place.
    for verb, place, wrong, mode in (
        ("read", report.path, _SHARED_BITS, 0o600),
        ("replace", report.path.parent, _SHARED_WRITE_BITS, 0o700),
    ):
        if stat.S_IMODE(place.stat().st_mode) & wrong:
            repair = f"chmod {mode:o} {shlex.quote(str(place))}"
            yield _failed(f"others may {verb} {place}", repair, partial(place.chmod, mode))


def check_clients(context: CheckContext) -> Findings:
    """Check each client in use: whether it knows the server, and whether the program it starts exists."""
    known: set[str] = set()
    for name, place, entry in context.find_entries():
        known.add(name)
        words = get_entry_command(entry)
        where = f"{place.client.title}: {place.file().path}"
        if not words:
            yield _ok(f"{where} names a server at {entry.get('url') or entry.get('serverUrl')}")
        elif shutil.which(words[0]) is None:
            # The fix starts this program instead, and keeps the other arguments of the entry.
            rest = words[words.index("serve") :] if "serve" in words else ("serve",)
            added = place.entry(ServerSpec(("",)))["args"]
            if isinstance(added, list) and added and list(rest[-len(added) :]) == added:
                rest = rest[: -len(added)]
            server = ServerSpec((*find_start_command().words, *rest))
            repair = f"handrail install {name} --scope {place.scope}"
            yield _failed(
                f"{where} starts {words[0]}, which is not there",
                repair,
                partial(_apply_plan, partial(plan_install, place, server)),
            )
        else:
            yield _ok(f"{where} starts {shlex.join(words)}")
    for name, client in load_clients().items():
        if name not in known and client.signs.program and is_client_used(client, context.project):
            message = f"{client.title} is used here and does not know the server"
            yield _note(message, f"handrail install {name}")


def _apply_plan(plan: Callable[[], FileChange]) -> None:
    apply_change(plan())


def check_handshake(context: CheckContext) -> Findings:
    """Check that each server a client would start answers, and how fast; without clients, this program."""
    entries = [get_entry_command(entry) for _, _, entry in context.find_entries()]
    own = (*find_start_command().words, "serve", "--project", str(context.project))
    for words in dict.fromkeys(entry for entry in entries if entry) or (own,):
        if not _is_handrail_command(words, context.project):
            message = f"{shlex.join(words)} was not started: it is not plainly Handrail"
            yield _note(message, "start it in a terminal, if you trust it")
        elif shutil.which(words[0]):
            probe = probe_stdio_server(words, context.project, context.env)
            tools = ", ".join(probe.tools)
            yield _ok(f"{shlex.join(words)} answers after {probe.seconds:.1f} s with {tools}")


def _is_handrail_command(words: Sequence[str], project: Path) -> bool:
    """True if this command starts Handrail and nothing else.

    A program inside the project does not count, unless it is the running one: the project may be untrusted.
    """
    real = resolve_path(Path(shutil.which(words[0]) or words[0]))
    if real.is_relative_to(project) and real != resolve_path(Path(find_start_command().words[0])):
        return False
    name, arguments = Path(words[0]).name, list(words[1:4])
    return (
        (name == "handrail" and arguments[:1] == ["serve"])
        or (name == "uvx" and arguments[:2] == ["handrail", "serve"])
        or (name.startswith("python") and arguments == ["-m", "handrail", "serve"])
    )


def check_integrations(context: CheckContext) -> Findings:
    """Check that each client's hooks, guide and skill are as this program would write them."""
    hooked = False
    for name, place, entry in context.find_entries():
        server = ServerSpec(get_entry_command(entry))
        for layer in list_integrations(
            name, place.scope, context.project, find_handrail_command(server), find_server_face(server)
        ):
            hooked = hooked or (layer.kind == "hooks" and layer.is_installed)
            where = f"{place.client.title}: {layer.kind} in {layer.file.path}"
            repair, text = f"handrail install {name} --scope {place.scope}", layer.file.text() or ""
            if layer.is_installed:
                yield _ok(where)
            elif layer.undo(text) == text:
                yield _note(f"{where}: nothing of Handrail is there", repair)
            else:
                message = f"{where}: what is there is of another Handrail"
                yield _failed(message, repair, partial(_apply_plan, layer.plan_addition))
    if load_settings().spells.permit is Requirement.REQUIRED and not hooked:
        message = "spells.permit is required, and no client here has the hook that leaves permits"
        able = "|".join(name for name, row in load_integrations().items() if row.hooks)
        yield _failed(message, f"handrail install {able}")


def check_vcs(context: CheckContext) -> Findings:
    """Check which version control the project has, and that its program is installed and new enough."""
    kind, root = find_repository(context.project)
    programs = SubprocessRunner(scrub_environment(os.environ))
    for tool in (JJ, GIT):
        if shutil.which(tool) is None:
            if tool == kind:
                yield _failed(f"{root} is kept by {kind}, and it is not there", f"install {kind}")
            continue
        result = programs.run((tool, "--version"), str(context.project), _VERSION_SECONDS)
        answer = result.out.decode("utf-8", "replace")
        number = next((word for word in answer.split() if word[:1].isdigit()), "")
        parts = number.partition("-")[0].split(".")[:2]
        if tool == JJ and tuple(int(part) for part in parts if part.isdigit()) < MIN_JJ_VERSION:
            yield _failed(f"{answer.strip()} is too old for plans", INSTALL_JJ)
        else:
            yield _ok(f"{tool} {number}{f', which keeps {root}' if tool == kind else ''}")
    if kind == NO_VCS:
        yield _ok(f"{context.project} has no version control")


def check_runs(context: CheckContext) -> Findings:
    """List the project's active runs, and note those that no agent has called for a day."""
    runs = find_live_runs(context.store, str(context.project))
    for run in runs:
        summary = f"run {run.id} of {run.workflow} is {run.lifecycle} in {run.state}"
        if context.now - run.called > _QUIET_AFTER and run.authority is Authority.SQL:
            repair = f"handrail runs abandon {run.id} --reason stale"
            yield _note(f"{summary}, and nobody has called it for a day", repair)
        else:
            yield _ok(summary)
    if not runs:
        yield _ok("no run is under way here")


def check_port(context: CheckContext) -> Findings:
    """Check that servers which clients know by a URL of this machine answer. Contact no other machine."""
    urls = {str(entry.get("url") or entry.get("serverUrl") or "") for _, _, entry in context.find_entries()}
    for url in sorted(urls - {""}):
        split = urlsplit(url)
        where = ListenAddress(split.hostname or "", split.port or 80)
        if split.scheme != "http" or not where.is_loopback:
            yield _note(f"the server at {url} is on another machine, and was not asked")
        elif why := _probe_server(where):
            yield _failed(why.message, why.repair)
        else:
            yield _ok(f"the server at {url} is ready")


# The checks by name, in the order in which they run.
CHECKS: Final[dict[str, Callable[[CheckContext], Findings]]] = {
    "versions": check_versions,
    "settings": check_settings,
    "store": check_store,
    "clients": check_clients,
    "handshake": check_handshake,
    "listening": check_integrations,
    "vcs": check_vcs,
    "runs": check_runs,
    "port": check_port,
}

_STATUS_MARKS: Final = {
    CheckStatus.OK: "✔ ok    ",
    CheckStatus.NOTE: "! note  ",
    CheckStatus.FAILED: "✘ failed",
    CheckStatus.FIXED: "✔ fixed ",
}


def _run_checks(context: CheckContext, names: Collection[str]) -> Iterator[tuple[str, Finding]]:
    """Run the named checks and yield their findings. A fault becomes a failed finding."""
    for name, check in CHECKS.items():
        try:
            yield from ((name, finding) for finding in (check(context) if name in names else ()))
        except Fault as fault:
            yield name, _failed(fault.message, fault.repair)


@click.command()
@click.option("--fix", is_flag=True, help="Make the repairs that cannot harm: rights, and entries of ours.")
@click.option(
    "--only",
    type=click.Choice(list(CHECKS)),
    multiple=True,
    help="Make this check only; may be given several times.",
)
@project_option("The project")
@click.option("--store", metavar="FILE", default="", envvar="HANDRAIL_STORE", help="The store of the server.")
@json_option
def doctor(only: tuple[str, ...], project: Path, store: str, *, fix: bool, as_json: bool) -> None:
    """Look whether everything is as it must be: store, clients, hooks, a real handshake, version control.

    Exits with 1 if something failed. Every failure ends with the command that repairs it.
    """
    context = CheckContext(resolve_path(project), store, SystemClock().now())
    results: list[dict[str, object]] = []
    for check, finding in _run_checks(context, only or CHECKS):
        fixed = bool(fix and finding.fix and finding.status is CheckStatus.FAILED)
        if fixed and finding.fix:
            finding.fix()
        status = CheckStatus.FIXED if fixed else finding.status
        results.append(
            {"check": check, "status": status, "message": finding.message, "repair": finding.repair}
        )
        if not as_json:
            click.echo(f"{_STATUS_MARKS[status]} {check}: {escape_for_terminal(finding.message)}")
            if finding.repair and not fixed:
                click.echo(f"           {escape_for_terminal(finding.repair)}")
    failed = sum(result["status"] is CheckStatus.FAILED for result in results)
    if as_json:
        print_json({"ok": not failed, "checks": results})
    if failed:
        click.echo(f"{failed} failed: type what stands below each, then handrail doctor again", err=True)
        raise SystemExit(Failure.exit_code)
