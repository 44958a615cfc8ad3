"""A run whose state file is gone and its other files are not: they say where it was, a person whether.

The states of a workflow name the file that is their sign, and the word that takes it for true. A state that
names a word and no sign is where that word leads whatever the files say.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.engine.model import Accepted, Move, Option, Run, Step, Workflow
from handrail.shell.facts import Sight
from handrail.shell.records import ORPHANED, Stored, Trouble
from handrail.telemetry.entries import Entry, EntryKind

ADOPTED: Final = "adopted"
"""What stands where else the row does, if a run was taken as its files say."""

_SIGN: Final = "sign"
_WORD: Final = "adopted_by"


class Proposal(Struct, frozen=True):
    """The state that the files speak for, and where each word would lead that ends the doubt."""

    state: str
    ways: Mapping[str, str]

    def options(self, workflow: Workflow) -> tuple[Option, ...]:
        """These words, and whose they are."""
        return tuple(Option(word, workflow.tools[word].who) for word in self.ways)

    def standing(self, run: Run) -> Run:
        """The run that has just begun, in that state instead of its first."""
        (step,) = run.open
        return replace(run, open=(Step(step.number, self.state, 1),), attempts={self.state: 1})

    def entry(self, stored: Stored) -> Entry:
        """What is entered when the doubt ends."""
        return Entry(EntryKind.STATE_ADOPTED, self.state, data={"why": ORPHANED, "revision": stored.revision})

    def taken(self, run: Run, word: str) -> Accepted:
        """What this word makes of the run that stands in that state: nothing, or it leads elsewhere."""
        target, number = self.ways[word], run.steps + 1
        if target != self.state:
            attempts = {**run.attempts, target: 1}
            run = replace(run, open=(Step(number, target, 1),), steps=number, attempts=attempts)
        return Accepted(run, (Move(ADOPTED, self.state, target),))


def adoptable(workflow: Workflow, stored: Stored, sight: Sight) -> tuple[Stored, Proposal | None]:
    """The run, and what is proposed for it if its state file is gone; then its trouble says the ways out.

    Without a file that is a sign of anything there is nothing to be in doubt about: the run may begin.
    """
    if stored.trouble is None or stored.trouble.code != ORPHANED:
        return stored, None
    signs = {name: str(state.extra[_SIGN]) for name, state in workflow.states.items() if _SIGN in state.extra}
    if not signs:
        return stored, None
    found = [name for name, sign in signs.items() if sight.read(sign) is not None]
    if not found:
        return replace(stored, trouble=None), None
    words = {name: str(state.extra[_WORD]) for name, state in workflow.states.items() if _WORD in state.extra}
    ways = {word: name for name, word in words.items() if name not in signs or name == found[-1]}
    proposal = Proposal(found[-1], ways)
    return replace(stored, trouble=_told(stored.trouble, proposal)), proposal


def _told(trouble: Trouble, proposal: Proposal) -> Trouble:
    ways = ", ".join(f"{word} goes on in {state}" for word, state in proposal.ways.items())
    return replace(trouble, repair=f"{ways}; nothing else is done then. Or {trouble.repair}")
