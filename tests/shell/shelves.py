"""What tests of definitions share: two small workflows, and how files are put, trusted and looked at."""

from pathlib import Path

from handrail.engine.model import Workflow
from handrail.shell.definitions import Pinned
from handrail.shell.hiding import Untrusted
from handrail.shell.shelf import Shelf
from handrail.shell.trust import Trusted

SMALL = """\
workflow: small
version: 1
authority: sql
steps:
  - {name: write, agent: poet, task: Write it.}
  - {name: review, agent: default, task: Read it.}
"""
OUTER = """\
workflow: outer
version: 1
authority: sql
steps:
  - {name: before, agent: poet, task: Begin.}
  - {name: within, workflow: small}
"""


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def trust_all(shelf: Shelf) -> None:
    Trusted().add(map(shelf.mark, shelf.untrusted()))


def workflow_of(shelf: Shelf, name: str) -> Workflow:
    found = shelf.pinned(name)
    assert isinstance(found, Pinned)
    assert found.workflow is not None
    return found.workflow


def names(files: tuple[Untrusted, ...]) -> list[tuple[str, str]]:
    return [(str(one.kind), one.name) for one in files]
