"""Why a run cannot be acted on, before anything is decided."""

from typing import Final

from handrail.engine.facts import writable
from handrail.engine.model import Refused, Seen
from handrail.shell.records import Stored, Trouble

CODES: Final = {
    "unknown_run": "there is no such run in this store",
    "moved_on": "the run is no longer as it was when somebody decided to act on it",
}
"""Every code of a refusal that is about the run, before anything is decided."""


def unknown(run: str) -> Refused:
    """There is no such run."""
    return Refused("unknown_run", "run", (Seen("run", writable(run)),), ("the id of a run of this store",))


def moved_on(stored: Stored) -> Refused:
    """It is not as it was when somebody decided to act on it."""
    needed = ("the run as it was when the call was made",)
    return Refused("moved_on", "only_if", (Seen("run.revision", stored.revision),), needed)


def troubled(trouble: Trouble) -> Refused:
    """A person must look at the run first."""
    return Refused(trouble.code, "store", (Seen("found", trouble.message),), (trouble.repair,))
