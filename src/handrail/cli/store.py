"""`handrail store` and `handrail repair`: look after the store, and repair a run that is kept in files."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path

import click
from msgspec.structs import asdict

from handrail.app.app import App, open_app
from handrail.app.run_folders import RunFolder, find_run_folders, rebuild_mirrors, switch_workflow
from handrail.app.stores import ProjectRuns, copy_store, store_exists
from handrail.cli.options import MomentParam, TextParam, store_option, workflows_project_option
from handrail.cli.output import Failure, NotFound, confirm_action, json_option, print_json, print_table
from handrail.documents.text import escape_for_terminal
from handrail.runtime.errors import Fault
from handrail.runtime.ports.open_store import ProgressCountCallback
from handrail.runtime.store_address import locate_store
from handrail.runtime.system import SystemClock, data_folder
from handrail.stores.files.redo_log import PRIVATE_FOLDER


def open_cli_app(store: str | None, *, create: bool = False) -> AbstractContextManager[App]:
    """Open the named store, or the default one. Fail if it does not exist, unless `create` is True."""
    where = locate_store(store or "")
    if not (create or store_exists(where)):
        repair = "name another with --store or HANDRAIL_STORE; the first run makes one"
        raise NotFound("store", str(where), repair)
    return open_app(where)


@click.group()
def store() -> None:
    """Look after the place where runs are kept."""


@store.command()
@store_option
@json_option
def path(store: str | None, *, as_json: bool) -> None:
    """Print which file or database the store is, whether it is there or not."""
    where = locate_store(store or "")
    if not as_json:
        click.echo(escape_for_terminal(str(where)))
        return
    try:
        exists = store_exists(where)
    except Fault:  # it cannot be reached
        exists = False
    print_json({"path": str(where), "exists": exists})


@store.command()
@store_option
@json_option
def check(store: str | None, *, as_json: bool) -> None:
    """Check the file and every run in it, and report all damage.

    Exits with 1 if there is any. Others may go on working meanwhile.
    """
    with open_cli_app(store) as app:
        damage = list(app.store.maintenance.check())
        size = app.store.maintenance.size()
    if as_json:
        rows = [asdict(one) for one in damage]
        print_json({"path": str(app.store.location), "bytes": size, "damage": rows})
    else:
        print_table([(one.code, one.run, one.message) for one in damage], ("code", "run", "damage"))
    if damage:
        repair = "stop what uses it and restore a backup; `handrail runs export RUN` saves what can be read"
        click.echo(
            f"{len(damage)} found in {escape_for_terminal(str(app.store.location))}\n  {repair}", err=True
        )
        raise SystemExit(Failure.exit_code)
    if not as_json:
        click.echo("no damage", err=True)


@store.command()
@store_option
@json_option
def vacuum(store: str | None, *, as_json: bool) -> None:
    """Give space that is not used any more back to the disk. Others wait meanwhile."""
    with open_cli_app(store) as app:
        before, after = app.store.maintenance.vacuum()
    if as_json:
        print_json({"path": str(app.store.location), "before": before, "after": after})
    else:
        click.echo(f"{before} bytes before, {after} bytes now", err=True)


@store.command()
@click.option(
    "--older-than", type=MomentParam(), required=True, help="Runs that ended this long ago: 30d, 12h, 2w."
)
@click.option(
    "--archive",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to move them to; by default one named by the day, in `archive` beside the store.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option
@json_option
def prune(older_than: datetime, archive: Path | None, store: str | None, *, yes: bool, as_json: bool) -> None:
    """Move runs that ended long ago out of the store, into an archive.

    They are deleted once the archive was read back. It never takes the place of a file: a number is put
    behind its name. The newest run stays, and so does the run of the newest event: no number is given twice.
    """
    with open_cli_app(store) as app:
        home = app.store.location.parent if isinstance(app.store.location, Path) else data_folder()
        wanted = archive or home / "archive" / f"runs-{SystemClock().now():%Y-%m-%d}.jsonl.gz"
        count = app.store.maintenance.count_old_runs(older_than)
        if count and not yes:
            confirm_action(f"{count} runs would be moved to {wanted}")
        pruned = None
        if count:
            pruned = app.store.maintenance.prune(
                older_than, wanted, lambda text: click.echo(escape_for_terminal(text), err=True)
            )
    if as_json:
        counts = {"archived": asdict(pruned.archived), "kept": pruned.kept} if pruned else {}
        print_json({"archive": str(pruned.archive) if pruned else None, **counts})
    elif pruned is None:
        click.echo("nothing is that old", err=True)
    else:
        click.echo(escape_for_terminal(str(pruned.archive)))
        click.echo(
            f"{pruned.archived.runs - pruned.kept} runs moved; `handrail store vacuum` gives room", err=True
        )


@store.command()
@click.argument("source", metavar="FROM", type=TextParam())
@click.argument("target", metavar="TO", type=TextParam())
@json_option
def copy(source: str, target: str, *, as_json: bool) -> None:
    """Make TO a store with everything that FROM has: a file, or postgresql://user@host/name, either way.

    TO must be new: a file that is not there, or an empty database. It becomes a store when all of it was
    read back; until then nothing opens it. Stopped half-way, say the same again: what is there already is
    compared, and the copy goes on behind it. Stop what serves FROM: a copy that is behind it is refused.
    """
    there, wanted = locate_store(source), locate_store(target)
    if not store_exists(there):
        raise NotFound("store", str(there), "name the store to copy first, and the new one behind it")
    with _show_progress() as progress:
        copied = copy_store(there, wanted, progress)
    if as_json:
        places: dict[str, object] = {"from": str(there), "to": str(wanted)}
        print_json({**places, "continued": copied.continued, "tables": copied.tables})
    else:
        print_table([(name, str(rows)) for name, rows in copied.tables.items()], ("table", "rows"))


@store.command()
@click.option(
    "--project",
    "projects",
    multiple=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Look here too, besides the projects that the store knows. Can be given several times.",
)
@store_option
@json_option
def rebuild(projects: tuple[Path, ...], store: str | None, *, as_json: bool) -> None:
    """Show runs that are kept in files as their files have them.

    Such a run lives in its project; the store only mirrors it. What is missing here is brought over, and a
    mirror that is not what the run's own journal says is made anew. A store that was lost is made.
    """
    with open_cli_app(store, create=True) as app:
        rebuilt = list(rebuild_mirrors(app.store.mirrors, app.project_runs.open_folder, projects))
    if as_json:
        print_json({"path": str(app.store.location), "runs": [asdict(one) for one in rebuilt]})
    else:
        rows = [(one.run, str(one.entries), one.folder) for one in rebuilt]
        print_table(rows, ("run", "entries", "folder"))


@contextmanager
def _show_progress() -> Iterator[ProgressCountCallback]:
    """Yield a callback that shows progress on stderr: a bar on a terminal, else a line for each tenth."""
    if not sys.stderr.isatty():
        last = ("", 0)

        def print_tenth(what: str, done: int, of: int) -> None:
            nonlocal last
            if (tenth := (what, done * 10 // of)) != last:
                last = tenth
                click.echo(f"{what}: {done} of {of} rows", err=True)

        yield print_tenth
        return
    from rich import console, progress  # slow to import, and only a terminal needs it

    with progress.Progress(console=console.Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda what, done, of: bars.update(task, description=what, completed=done, total=of)


@click.command()
@click.argument("workflow", default="")
@click.option("--adopt", default="", metavar="STATE", help="Take the files as they are, in this state.")
@click.option(
    "--restore", type=int, default=0, metavar="TURN", help="Go back to where this turn left the run."
)
@workflows_project_option
@json_option
def repair(workflow: str, adopt: str, restore: int, project: Path, *, as_json: bool) -> None:
    """Say how the run in a project's files stands; put it right with --adopt or --restore.

    WORKFLOW is needed only if the project has runs of several; one of several is named WORKFLOW/NAME. A
    turn that a crash left undone is finished first. What is replaced is kept in quarantine, and the repair is
    entered in the journal. Exits with 1 while the run cannot go on.
    """
    if adopt and restore:
        raise Failure("arguments", "--adopt and --restore are two ways out", "choose one of them")
    chosen = _choose_folder(project, workflow)
    name = (
        ProjectRuns().open_folder(chosen).load_current().run.workflow if chosen.name else chosen.workflow.name
    )
    folder = switch_workflow(chosen, name)
    if folder is None:
        message = f"the run in {chosen.path} follows the workflow `{name}`, which is not there"
        raise Failure("unknown_workflow", message, "put the file of the workflow back")
    runs = ProjectRuns().open_folder(folder)
    if adopt or restore:
        stored = runs.repair(SystemClock().now(), adopt=adopt, restore=restore)
    elif (folder.path / PRIVATE_FOLDER).is_dir():
        with runs.hold_lock("", 0):  # taking the lock finishes a turn that a crash interrupted
            stored = runs.load_current()
    else:
        stored = runs.load_current()
    state, trouble = ", ".join(step.state for step in stored.run.open), stored.trouble
    if as_json:
        print_json(
            {
                "workflow": folder.workflow.name,
                "folder": str(folder.path),
                "run": stored.run.id,
                "revision": stored.revision,
                "state": state,
                "trouble": asdict(trouble) if trouble else None,
            }
        )
    else:
        problem = (f"{trouble.code}: {trouble.message}", trouble.repair) if trouble else ("nothing is wrong",)
        status = f"{state or 'not begun'}, after {stored.revision} turns"
        lines = (f"{folder.title} in {folder.path}", status, *problem)
        click.echo("\n".join(map(escape_for_terminal, lines)))
    if trouble:
        raise SystemExit(Failure.exit_code)


def _choose_folder(project: Path, workflow: str) -> RunFolder:
    """Return the run folder that is meant; fail if there is none, or more than one."""
    folders = [one for one in find_run_folders(project) if workflow in {"", one.workflow.name, one.title}]
    used = folders if workflow else [folder for folder in folders if folder.path.is_dir()]
    if len(used) == 1:
        return used[0]
    if not used:
        raise NotFound("run in files", workflow or str(project), "name a project with --project")
    names = ", ".join(folder.title for folder in used)
    raise Failure("ambiguous", f"there are runs of {names}", "name one of them")
