"""The commands about the clients of agents: `install`, `init`, `hook` and `brief`.

`handrail.clients` knows the formats of their settings. No file is written before all changes are planned.
"""

import json
import re
import shlex
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import click
from click.core import ParameterSource

from handrail.app.faces import FACES
from handrail.app.live_runs import SPELLS_WORKFLOW, find_live_runs
from handrail.app.settings import Requirement, load_settings, require_permits, settings_path
from handrail.cli.options import check_root, project_option
from handrail.cli.output import Failure, json_option, print_diff_lines, print_json, print_text
from handrail.clients import hooks
from handrail.clients.formats import (
    SERVER_NAME,
    ClientSettings,
    ServerSpec,
    SettingsScope,
    find_entry,
    is_client_used,
    load_clients,
    render_entry,
)
from handrail.clients.hook_entry import HOOK_CLIENTS, HOOK_EVENTS, answer_hook
from handrail.clients.installation import FETCH_COMMAND, InstallPlan, find_start_command
from handrail.clients.integrations import load_integrations
from handrail.clients.settings_files import apply_change
from handrail.documents.text import escape_for_terminal
from handrail.engine.facts import is_valid_value
from handrail.runtime.system import resolve_path
from handrail.stores.vcs.commands import NO_VCS, find_repository

_PLACEHOLDER: Final = re.compile(r"(NAMED|NAME|ENTRY)(?:/(url|base64|shell))?")

_ENCODERS: Final[Mapping[str | None, Callable[[str], str]]] = {
    None: str,
    "url": partial(quote, safe=""),
    "base64": lambda text: quote(b64encode(text.encode()).decode(), safe=""),
    "shell": shlex.quote,
}

# The sentence to print, by what was asked, whether the file changes, and whether it is a dry run.
_RESULT_TEXTS: Final = {
    ("written", True, False): "{path} has the {what} now",
    ("written", True, True): "{path} would be changed",
    ("written", False, False): "nothing to do: {path} has the {what} already",
    ("removed", True, False): "the {what} {is_} taken out of {path}",
    ("removed", True, True): "{path} would be changed",
    ("removed", False, False): "nothing to do: {path} has no such {what}",
}

_NO_CLIENT: Final = "no sign of a client was found, neither in the project nor in your home"
# The display names of parts that are not called by their kind.
_PART_TITLES: Final = {"guide": "block for the agent"}


def _change_files(
    places: Mapping[str, ClientSettings],
    plan: InstallPlan,
    *,
    dry_run: bool = False,
    hints: bool = True,
    diffs: bool = True,
) -> list[dict[str, object]]:
    """Change each file, report it on stderr, and return a row of data for it.

    `hints` adds what is left to do for the user; `diffs` prints what is changed on stdout.
    """
    # Plan all changes once before the first write: a settings file that cannot be read must stop us here.
    for name, place in places.items():
        list(plan(name, place))
    asked, rows = "removed" if plan.uninstall else "written", list[dict[str, object]]()
    parts = ((name, place, *part) for name, place in places.items() for part in plan(name, place))
    for name, place, kind, change in parts:
        path, difference = change.file.path, change.difference()
        if diffs:
            print_diff_lines(difference.splitlines())
        backup = None if dry_run else apply_change(change)
        sentence = _RESULT_TEXTS[asked, change.needed, dry_run and change.needed].format(
            path=path, what=_PART_TITLES.get(kind, kind), is_="are" if kind.endswith("s") else "is"
        )
        lines = [f"{place.client.title}: {sentence}"]
        if backup:
            lines.append(f"  the old file is kept as {backup}")
        if hints and asked == "written" and change.needed and not dry_run:
            then = {"server": place.client.then, "hooks": load_integrations()[name].then}.get(kind, "")
            lines += [f"  next: {then}"] if then else []
        click.echo("\n".join(map(escape_for_terminal, lines)), err=True)
        rows.append(
            {
                "client": name,
                "part": kind,
                "scope": str(place.scope),
                "path": str(path),
                "status": asked if change.needed else "unchanged",
                "backup": str(backup) if backup else None,
                "diff": difference,
            }
        )
    return rows


def _print_entries(places: Mapping[str, ClientSettings], server: ServerSpec, *, as_json: bool) -> None:
    """Print each client's entry, and the links and commands that add it."""
    to_json = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
    rows: list[dict[str, object]] = []
    for name, place in places.items():
        entry, title, path = place.entry(server), place.client.title, str(place.file().path)
        named = {"name": SERVER_NAME, **entry}
        values = {"NAME": SERVER_NAME, "ENTRY": to_json(entry), "NAMED": to_json(named)}
        text, fill = render_entry(place.client, entry), partial(_fill_placeholder, values)
        links = [_PLACEHOLDER.sub(fill, link) for link in place.client.links]
        rows.append({"client": name, "title": title, "path": path, "text": text, "links": links})
        if not as_json:
            click.echo(escape_for_terminal(f"{title}: {path}"), err=True)
            print_text("".join([text, *(f"{link}\n" for link in links)]))
    if as_json:
        print_json({"entries": rows})


def _fill_placeholder(values: Mapping[str, str], placeholder: re.Match[str]) -> str:
    return _ENCODERS[placeholder[2]](values[placeholder[1]])


@click.command()
@click.argument("names", type=click.Choice(sorted(load_clients())), nargs=-1)
@click.option("--all", "every", is_flag=True, help="All clients that are used in the project or by you.")
@click.option(
    "--scope",
    type=click.Choice([str(scope) for scope in SettingsScope]),
    help="Whose settings: the project's, which is the default where a client has such, or yours.",
)
@click.option("--face", type=click.Choice(FACES), help="Which way in is served; steps by default.")
@click.option(
    "--http", metavar="URL", help="Name a server that runs already instead of one that the client starts."
)
@click.option("--from-index", is_flag=True, help="Have the client fetch the program: `uvx handrail serve`.")
@click.option("--uninstall", is_flag=True, help="Take the entry out again, and leave all else as it is.")
@click.option(
    "--listen/--no-listen",
    default=True,
    help="Also what makes its agent listen: hooks, a block in the guide it reads, a skill; the default.",
)
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--print", "printing", is_flag=True, help="Print the entry, to be put in by hand.")
@project_option("The project")
@json_option
@click.pass_context
def install(  # noqa: PLR0913 - an argument for each option
    context: click.Context,
    names: tuple[str, ...],
    *,
    project: Path,
    scope: str | None,
    face: str | None,
    http: str | None,
    every: bool,
    from_index: bool,
    uninstall: bool,
    listen: bool,
    dry_run: bool,
    printing: bool,
    as_json: bool,
) -> None:
    """Make the server known to clients, in their settings of the project or in yours.

    What stands there stays as it is, and the old file is kept beside the new one. Said twice, it does nothing
    the second time.
    """
    if bool(names) == every:
        raise click.UsageError("name clients, or say --all")
    for exclusive in (
        {"--uninstall": uninstall, "--http": http, "--from-index": from_index},
        {"--uninstall": uninstall, "--face": face},
        {"--uninstall": uninstall, "--print": printing},
        {"--dry-run": dry_run, "--print": printing},
    ):
        given = [name for name, value in exclusive.items() if value]
        if len(given) > 1:
            raise click.UsageError(f"{given[0]} and {given[1]} do not go together")
    if not project.is_dir():
        raise Failure("no_project", f"there is no folder {project}", "make it, or name the one that is meant")
    pinned = context.get_parameter_source("project") is not ParameterSource.DEFAULT
    place = partial(ClientSettings, project=resolve_path(project), pinned=pinned)
    places = _choose_places(names, scope, place, uninstall=uninstall)
    server = ServerSpec() if uninstall else _build_server(face or "", http or "", from_index=from_index)
    if printing:
        _print_entries(places, server, as_json=as_json)
        return
    plan = InstallPlan(server=server, face=face or "", uninstall=uninstall, listen=listen)
    rows = _change_files(places, plan, dry_run=dry_run, diffs=not as_json)
    if as_json:
        print_json({"dry_run": dry_run, "clients": rows})
    elif not rows:
        click.echo("nothing to do: no client has the server", err=True)


def _choose_places(
    names: tuple[str, ...], scope: str | None, place: "partial[ClientSettings]", *, uninstall: bool
) -> dict[str, ClientSettings]:
    """Return the settings of the named clients.

    Without names, return those that have our entry, to uninstall it, or those of the clients in use.
    """
    chosen: dict[str, ClientSettings] = {}
    for name in dict.fromkeys(names or sorted(load_clients())):
        client = load_clients()[name]
        wanted = SettingsScope(scope) if scope else client.scopes[0]
        if wanted in client.scopes:
            chosen[name] = place(client=client, scope=wanted)
        elif names:
            message = f"{client.title} has no settings of the {wanted}"
            raise Failure("no_scope", message, f"say --scope {client.scopes[0]}, or leave --scope out")
    for one in chosen.values():
        if one.scope is SettingsScope.PROJECT or one.pinned:
            check_root(
                one.project, "go to the folder of a project, name it with --project, or say --scope user"
            )
    if names:
        return chosen
    if uninstall:
        return {name: one for name, one in chosen.items() if find_entry(one) is not None}
    used = {name: one for name, one in chosen.items() if is_client_used(one.client, one.project)}
    if not used:
        raise Failure(
            "no_client", _NO_CLIENT, f"name one: handrail install {'|'.join(sorted(load_clients()))}"
        )
    return used


def _build_server(face: str, http: str, *, from_index: bool) -> ServerSpec:
    if http:
        return ServerSpec(url=_face_url(http, face))
    own = find_start_command()
    words = FETCH_COMMAND if from_index or own.is_temporary else own.words
    if own.is_temporary and not from_index:
        message = (
            f"{escape_for_terminal(own.words[0])} may soon be gone: the client is told to fetch it again"
        )
        click.echo(f"{message} ({' '.join(FETCH_COMMAND)})", err=True)
    if not is_valid_value("".join(words)):
        message = f"the path {escape_for_terminal(words[0])} is not UTF-8"
        raise Failure("unfit_path", message, "install Handrail in another folder, or say --from-index")
    return ServerSpec((*words, "serve", *(("--face", face) if face else ())))


def _face_url(http: str, face: str) -> str:
    """Return the URL of a face: the given one, or `/mcp/FACE` at a server that is given without a path."""
    try:
        split = urlsplit(http)
        port = split.port
    except ValueError:
        split, port = urlsplit(""), None
    if split.scheme not in {"http", "https"} or not split.hostname or port == 0 or not http.isprintable():
        message = f"`{escape_for_terminal(http)}` is no URL of a server"
        raise Failure("bad_url", message, "write one like http://127.0.0.1:8765")
    if split.path.strip("/"):
        if face:
            message = f"{escape_for_terminal(http)} names a way in already"
            raise Failure("bad_url", message, "leave --face out, or give the URL without a path")
        return http
    return f"{split.scheme}://{split.netloc}/mcp/{face or FACES[-1]}"


@click.command()
@click.option(
    "--client",
    "names",
    type=click.Choice(sorted(load_clients())),
    multiple=True,
    help="Do not ask which clients.",
)
@click.option("--face", type=click.Choice(FACES), help="Do not ask which way in is served.")
@click.option("--permit/--no-permit", default=None, help="Do not ask whether words need a permit.")
@click.option("--yes", is_flag=True, help="Ask nothing: the clients that are used here, and the usual.")
@project_option("The project")
@json_option
def init(  # noqa: PLR0913 - an argument for each option
    *, names: tuple[str, ...], face: str | None, permit: bool | None, yes: bool, project: Path, as_json: bool
) -> None:
    """Set up a project: make the server known to your clients, and have their agents listen.

    Asks at most three questions. Said twice, it does nothing the second time.
    """
    root = resolve_path(project)
    check_root(root, "go to the folder of a project, or name it with --project")
    asks = not yes and sys.stdin.isatty()
    if not (asks or yes or names):
        repair = "say --yes, or --client NAME"
        raise Failure("unconfirmed", "nobody can be asked which clients are meant", repair)
    chosen = names or _ask_clients(root, asks=asks)
    way = face or FACES[-1]
    if asks and not face:
        way = str(click.prompt("Which way in?", type=click.Choice(FACES), default=FACES[-1], err=True))
    needs = permit if permit is not None else _ask_permit(chosen, way, asks=asks)
    own, clients = find_start_command(), {name: load_clients()[name] for name in chosen}
    server = ServerSpec((*(FETCH_COMMAND if own.is_temporary else own.words), "serve", "--face", way))
    places = {
        name: ClientSettings(client, client.scopes[0], root, pinned=True) for name, client in clients.items()
    }
    plan = InstallPlan(server=server, face=way, uninstall=False, listen=True)
    rows = _change_files(places, plan, hints=False, diffs=False)
    if needs:
        require_permits()
    kind, above = find_repository(root)
    then = load_clients()[chosen[0]].then
    if as_json:
        vcs = {"kind": kind, "root": None if kind == NO_VCS else str(above)}
        setting = {"vcs": vcs, "face": way, "permit": bool(needs)}
        print_json({"project": str(root), **setting, "clients": rows, "next": then})
        return
    click.echo(
        f"{escape_for_terminal(str(root))} is set up: {', '.join(chosen)}, face {way}, version control {kind}"
    )
    click.echo(f"next: {then}")


def _ask_clients(root: Path, *, asks: bool) -> Sequence[str]:
    """Return the clients that are used here, or those that the person names instead."""
    hint = f"handrail init --client claude, or another of: {', '.join(load_clients())}"
    used = [
        name
        for name, client in load_clients().items()
        if client.signs.program and is_client_used(client, root)
    ]
    if asks:
        shown = ",".join(used) or "claude"
        answer = click.prompt(f"Which clients? ({', '.join(load_clients())})", default=shown, err=True)
        used = [word.strip() for word in answer.split(",") if word.strip()]
        if unknown := [word for word in used if word not in load_clients()]:
            raise Failure("no_client", f"no client is called `{unknown[0]}`", hint)
    if not used:
        raise Failure("no_client", _NO_CLIENT, hint)
    return used


def _ask_permit(chosen: Sequence[str], face: str, *, asks: bool) -> bool:
    """Ask whether each word needs a permit.

    Return False without asking if permits are required already, the face has no words, no client can leave
    permits, or there is no terminal.
    """
    able = [name for name in chosen if load_integrations()[name].hooks]
    if (
        not asks
        or not able
        or face != SPELLS_WORKFLOW
        or load_settings().spells.permit is Requirement.REQUIRED
    ):
        return False
    about = f"Shall a word count only if you typed it yourself? It is set in {settings_path()}"
    return click.confirm(escape_for_terminal(about), default=False, err=True)


class HookCommand(click.Command):
    """A command that leaves its arguments to `answer_hook`: a wrong argument must not stop a client."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments as they are, unless they ask for help."""
        if {"-h", "--help"} & set(args):
            return super().parse_args(ctx, args)
        ctx.args = list(args)
        return []

    def invoke(self, ctx: click.Context) -> None:
        """Answer the hook."""
        answer_hook(ctx.args)


@click.command(cls=HookCommand)
@click.argument("event", type=click.Choice(HOOK_EVENTS))
@click.option(
    "--client", type=click.Choice(HOOK_CLIENTS), required=True, help="Who asks, and is to be answered."
)
@click.option("--face", help="The face that the client is served; without it, any.")
@click.option("--store", metavar="FILE", envvar="HANDRAIL_STORE", help="The store of the server.")
def hook(**_: str) -> None:
    """Answer a hook of a client: its JSON comes on stdin, and goes back on stdout.

    `prompt` sees what a person typed, `session` tells where the run is, `edit` keeps files from being changed
    where the run says so, `stop` reminds of a step that is not handed in. Nothing on stdout means: go on.
    Whatever goes wrong is one line on stderr, and the status is 0 all the same.
    """


@click.command()
@click.option(
    "--project",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HANDRAIL_PROJECT",
    default=".",
    help="The project; the current folder, or the nearest above it that has a run, by default.",
)
@click.option("--store", metavar="FILE", default="", envvar="HANDRAIL_STORE", help="The store of the server.")
@json_option
def brief(project: Path, store: str, *, as_json: bool) -> None:
    """Tell where an agent is: its run and step, what is asked, what was refused last, what to call next.

    At most 6,000 bytes. The run that was called last is told in full, others under way in a line each.
    """
    runs = find_live_runs(store, str(project))
    if as_json:
        print_json({"runs": [hooks.brief_data(run) for run in runs]})
    else:
        print_text(hooks.compose_brief(runs) + "\n")
