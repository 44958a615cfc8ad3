"""What a person does to a run, whichever way in they come by; the commands and the pages call these.

The same turns as an agent's: what the lifecycle or a contract refuses is refused here too.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from typing import Final

from handrail.engine.facts import Value
from handrail.engine.fork import FORK
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import Authority, Event, Refused, Who
from handrail.faces.cli.acted import rendered
from handrail.faces.cli.output import Failure
from handrail.faces.cli.told import MEANINGS
from handrail.shell.comments import write
from handrail.shell.faults import Unreadable
from handrail.shell.folders import Folder, folders
from handrail.shell.fork import Fork
from handrail.shell.fork import fork as fork_run
from handrail.shell.kept import folder_of, in_folder, installed
from handrail.shell.opening import FolderRuns
from handrail.shell.ports import Mirror, Runs
from handrail.shell.records import Caller, Origin
from handrail.shell.shelf import Shelf
from handrail.shell.starting import startable
from handrail.shell.trust import Trusted
from handrail.shell.turn import Call, New, Outcome, Reply, take_turn
from handrail.shell.view import RunRow
from handrail.shell.world import World

COMMENT: Final = "comment"


def controlled(world: World, row: RunRow, trigger: str, reason: str, caller: Caller) -> Reply:
    """Send a trigger that acts on the run as a whole."""
    call = Call(row.id, Event(trigger, by=Who.PERSON, note=reason), caller)
    return take_turn(world, call, lambda outcome: rendered(trigger, outcome, ""))


def completed(world: World, row: RunRow, payload: Mapping[str, Value], caller: Caller) -> Reply:
    """Hand in the output of the step that a person did; it is entered as external."""
    call = Call(row.id, Event(CONTINUE, payload, Who.PERSON), caller, external=True)
    done = f"{row.state} was completed by hand; "
    return take_turn(world, call, lambda outcome: rendered("complete-step", outcome, done))


def forked(world: World, asked: Fork, overrides: str) -> Reply:
    """Go on from a run that has ended; `overrides` is the code of why no agent could have had it made."""
    more = {"parent": asked.run, "overrides": overrides or None}
    happened = f"run {asked.run} was forked; "
    return fork_run(world, asked, lambda outcome: rendered(FORK, outcome, happened, more))


def commented(world: World, row: RunRow, text: str, caller: Caller) -> Reply:
    """Write a comment to a run, whatever its lifecycle; the next answer tells its agent."""
    refused = write(world, row.id, text, caller)
    if refused:
        return rendered(COMMENT, Outcome(refused, None), "")
    return {
        "run": row.id,
        "workflow": row.workflow,
        "lifecycle": str(row.lifecycle),
        "state": row.state,
        "revision": row.revision,
        "told": f"the comment was written to run {row.id}",
        "then": f"the next answer tells its agent; how it stands: handrail runs show {row.id}",
    }


def where(
    world: World, row: RunRow, opened: Callable[[Folder], FolderRuns], mirror: Callable[[Runs], Mirror]
) -> World:
    """The world in which a comment to a run is entered: that of its journal.

    The journal of a run in files lies beside them, that of one in a commit in this store. Raises `Unreadable`
    if the files are not on this machine, or another run is there by now.
    """
    if row.authority is not Authority.FILES:
        return world
    folder = folder_of(row, installed(row))
    runs, there = in_folder(world, folder, opened, mirror) if folder else (None, world)
    if runs is None or runs.load(row.id) is None:
        message = f"the files of run {row.id} are not on this machine, and its journal lies with them"
        raise Unreadable(message, f"comment where {row.project} is")
    return there


def past(step: str, code: str) -> str:
    """What is said before a person goes where no agent could."""
    begin = f"begin with `{step}`" if step else "begin where it stood"
    return f"no agent could {begin} ({MEANINGS[code]}): it will be entered as your override"


def current(row: RunRow) -> New:
    """The workflow of a run as its project has it now."""
    found = startable(Shelf(Path(row.project), Trusted()), row.workflow)
    if isinstance(found, Refused):
        message = f"`{row.workflow}` as it is now cannot be taken: {MEANINGS[found.code]}"
        raise Failure(found.code, message, "; ".join(found.needed))
    return New(found.workflow, Origin(row.face, row.authority), found.definition)


def check_here(row: RunRow) -> None:
    """Fail if the store only mirrors this run: then it cannot be turned from here."""
    if row.authority is Authority.SQL:
        return
    project = Path(row.project)
    found = [folder for folder in folders(project) if folder.new.id == row.id]
    where = found[0].path if found else project
    message = f"run {row.id} is kept in {where}, and is moved by its agent only"
    repair = f"have its agent call it there; how it stands: {looked(row)}"
    raise Failure("elsewhere", message, repair)


def looked(row: RunRow) -> str:
    """The command that shows how a run that is kept elsewhere stands there, and what can be mended."""
    if row.authority is Authority.DESCRIPTION:
        return f"handrail plan show --project {quote(row.project)}"
    title = f" {row.face}/{row.goal}" if row.goal else ""
    return f"handrail repair{title} --project {quote(row.project)}"
