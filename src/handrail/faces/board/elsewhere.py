"""A run that is kept elsewhere: the words that move it now, and the command that shows how it stands."""

from dataclasses import dataclass

from msgspec.structs import replace

from handrail.engine.model import Authority, Option, Who, Workflow
from handrail.faces.board.boards import Board
from handrail.faces.cli.byhand import looked
from handrail.shell.faults import Fault
from handrail.shell.kept import folder_of, in_folder, installed
from handrail.shell.standing import look
from handrail.shell.view import RunRow


@dataclass(frozen=True, slots=True)
class Word:
    """A word that a person says to the agent, and what it does."""

    word: str
    about: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """How such a run is moved: by these words, as it stands now; `command` shows how it stands there."""

    words: tuple[Word, ...]
    command: str


def elsewhere(board: Board, row: RunRow) -> Elsewhere | None:
    """How a run that the store only mirrors is moved; None of a run of this store.

    Where it cannot be seen from here, no words are known.
    """
    if row.authority is Authority.SQL:
        return None
    hidden = replace(row, project=board.naming.hide(row.project))
    try:
        words = _words(board, row, installed(row)) if row.authority is Authority.FILES else ()
    except Fault:
        words = ()
    return Elsewhere(words, looked(hidden))


def _words(board: Board, row: RunRow, workflow: Workflow) -> tuple[Word, ...]:
    """The words of the workflow that are a person's, and would not be refused now."""
    folder = folder_of(row, workflow)
    if folder is None:
        return ()
    serving = board.serving
    runs, world = in_folder(serving.world, folder, board.openings.folder, serving.mirror)
    with runs.take_snapshot():
        stored = runs.load(row.id)
        options: tuple[Option, ...] = look(world, stored).options if stored and stored.revision else ()
    tools = (workflow.tools[one.trigger] for one in options if one.trigger in workflow.tools)
    return tuple(Word(tool.name, tool.about.partition(". ")[0]) for tool in tools if tool.who is Who.PERSON)
