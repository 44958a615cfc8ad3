"""How the runs of a project stand, at a glance: for programs that are started at every word of a person.

Nothing here imports what takes time, and nothing is written.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import handrail
from handrail.shell.homes import settings_folder
from handrail.shell.reading import whole

if TYPE_CHECKING:
    from handrail.engine.facts import Value
    from handrail.workflows.glance import Stay

MOST: Final = 5
"""How many runs are told at most."""

WORDS: Final = "spells"
"""The workflow, and the face, whose words a person types."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A run that is under way in a project. `active` is when it was last called, in seconds since 1970.

    `record` is the run, and `definition` the texts it began with, both as the store keeps them; a run in
    files or a commit has no definition. `refused` is what was refused last in the state it is in.
    """

    id: str
    workflow: str
    lifecycle: str
    state: str
    face: str
    authority: str
    project: str
    goal: str
    active: float
    waiting: bool
    record: str
    definition: str = ""
    refused: str = ""

    @property
    def values(self) -> "dict[str, Value]":
        """What the placeholders of a task can name."""
        run = json.loads(self.record)
        parts = {"inputs": run["inputs"], "vars": run["vars"]}
        return {f"run.{part}.{name}": value for part, given in parts.items() for name, value in given.items()}

    @property
    def asked(self) -> "Stay":
        """What its state asks for. Raises `ValueError` for texts that cannot be read."""
        from handrail.workflows.glance import stay  # noqa: PLC0415 - YAML takes its time, and is rarely asked

        kept = json.loads(self.definition) if self.definition else {}
        others = kept.get("others", {})

        def find(name: str) -> str:
            return str(others.get(name, {}).get("text", ""))

        return stay(self.text, self.state, find)

    @property
    def text(self) -> str:
        """The text of its workflow: the one it began with, or the one that is installed."""
        kept = json.loads(self.definition) if self.definition else {}
        return str(kept["source"]["text"]) if kept else installed(self.workflow)

    @property
    def visited(self) -> tuple[str, ...]:
        """The states that it has been in, in any order; the one it is in is among them."""
        return tuple(json.loads(self.record)["attempts"])

    @property
    def task(self) -> str:
        """What an agent shall do now."""
        from handrail.workflows.glance import filled  # noqa: PLC0415 - the same

        return filled(self.asked.task, self.values)

    @property
    def refusal(self) -> dict[str, Any]:
        """What was refused last, as the journal has it; empty if nothing was."""
        return dict(json.loads(self.refused)) if self.refused else {}


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is to be said of a store, by its address: its schema and the one `known` here, and what keeps it.

    `ours` is False of a file that another program made; `path` is that of a file, `wal` whether that is its
    journal, and `flaws` are what SQLite finds wrong with it, at a quick look.
    """

    place: str
    schema: int
    known: int
    kept: str
    ours: bool = True
    path: Path | None = None
    wal: bool = True
    flaws: tuple[str, ...] = ()


Glances: TypeAlias = Callable[[str, Sequence[str]], tuple[Standing, ...]]
"""The runs under way in the nearest of these folders that has any, the one called last first.

The first argument is the address of the store. There are none if there is no store. Raises a `Fault`.
"""


def above(folder: str) -> tuple[str, ...]:
    """A folder and those above it, the nearest first; not those that are no UTF-8, which have no runs."""
    here = whole(Path(folder))
    return tuple(one for one in map(str, (here, *here.parents)) if _is_utf8(one))


def _is_utf8(path: str) -> bool:
    """False of a path with bytes that Python shows as lone surrogates."""
    return not any("\ud800" <= sign <= "\udfff" for sign in path)


def installed(workflow: str) -> str:
    """The text of a workflow that no project can replace: the user's own, or the one that is built in.

    Empty if there is none.
    """
    own = settings_folder() / "workflows"
    ours = Path(handrail.__file__).parent / "workflows" / "library"
    places = [own / f"{workflow}.yaml", own / workflow / "workflow.yaml"]
    places += [*ours.glob(f"*/{workflow}.yaml"), *ours.glob(f"*/{workflow}/workflow.yaml")]
    return next((place.read_text("utf-8") for place in places if place.is_file()), "")
