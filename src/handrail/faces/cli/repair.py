"""`handrail repair`: how the run in a project's files stands, and the way out when it cannot go on."""

from pathlib import Path

import click

from handrail.engine.model import Run
from handrail.faces.cli.output import Failure, NotFound, as_json, one_line, print_json
from handrail.faces.cli.placed import in_project
from handrail.faces.cli.stored import openings
from handrail.shell.folders import HOME, Folder, folders, followed
from handrail.shell.opening import FolderRuns
from handrail.shell.records import Stored
from handrail.shell.system import SystemClock


@click.command()
@click.argument("workflow", default="")
@click.option("--adopt", default="", metavar="STATE", help="Take the files as they are, in this state.")
@click.option(
    "--restore", type=int, default=0, metavar="TURN", help="Go back to where this turn left the run."
)
@in_project
@as_json
def repair(workflow: str, adopt: str, restore: int, project: Path, *, as_json: bool) -> None:
    """Say how the run in a project's files stands; put it right with --adopt or --restore.

    WORKFLOW is needed only if the project has runs of several; one of several is named WORKFLOW/NAME. A
    turn that a crash left undone is finished first. What is replaced is kept in quarantine, and the repair is
    entered in the journal. Exits with 1 while the run cannot go on.
    """
    if adopt and restore:
        raise Failure("arguments", "--adopt and --restore are two ways out", "choose one of them")
    folder = _followed(_folder(project, workflow))
    runs = openings().folder(folder)
    if adopt or restore:
        stored = runs.repair(SystemClock().now(), adopt=adopt, restore=restore)
    else:
        stored = _looked(folder, runs)
    if as_json:
        print_json(_as_data(folder, stored))
    else:
        click.echo("\n".join(map(one_line, _lines(folder, stored))))
    if stored.trouble:
        raise SystemExit(Failure.exit_code)


def _folder(project: Path, workflow: str) -> Folder:
    """The one folder that is meant."""
    found = [one for one in folders(project) if workflow in {"", one.workflow.name, one.title}]
    used = found if workflow else [folder for folder in found if folder.path.is_dir()]
    if len(used) == 1:
        return used[0]
    if not used:
        raise NotFound("run in files", workflow or str(project), "name a project with --project")
    names = ", ".join(folder.title for folder in used)
    raise Failure("ambiguous", f"there are runs of {names}", "name one of them")


def _followed(folder: Folder) -> Folder:
    """The folder, with the workflow that its run began with."""
    name = openings().folder(folder).standing().run.workflow if folder.name else folder.workflow.name
    found = followed(folder, name)
    if found is None:
        message = f"the run in {folder.path} follows the workflow `{name}`, which is not there"
        raise Failure("unknown_workflow", message, "put the file of the workflow back")
    return found


def _looked(folder: Folder, runs: FolderRuns) -> Stored:
    """The run, once whatever a crash left undone is finished; where none was, nothing is made."""
    if not (folder.path / HOME).is_dir():
        return runs.standing()
    with runs.held("", 0):
        return runs.standing()


def _state(run: Run) -> str:
    return ", ".join(step.state for step in run.open)


def _as_data(folder: Folder, stored: Stored) -> dict[str, object]:
    trouble = stored.trouble
    told = {"code": trouble.code, "message": trouble.message, "repair": trouble.repair} if trouble else None
    return {
        "workflow": folder.workflow.name,
        "folder": str(folder.path),
        "run": stored.run.id,
        "revision": stored.revision,
        "state": _state(stored.run),
        "trouble": told,
    }


def _lines(folder: Folder, stored: Stored) -> list[str]:
    where = f"{folder.title} in {folder.path}"
    stands = f"{_state(stored.run) or 'not begun'}, after {stored.revision} turns"
    if stored.trouble:
        return [where, stands, f"{stored.trouble.code}: {stored.trouble.message}", stored.trouble.repair]
    return [where, stands, "nothing is wrong"]
