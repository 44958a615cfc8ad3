"""What tests of definitions share: two small workflows, and how files are put, trusted and looked at."""

from pathlib import Path

from handrail.app.definitions import Definitions
from handrail.app.trust import TrustStore, UntrustedFile
from handrail.engine.model import Workflow
from handrail.runtime.world import PinnedWorkflow

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


def write_definition(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def trust_all(shelf: Definitions) -> None:
    TrustStore().add(map(shelf.trust_mark, shelf.list_untrusted()))


def load_workflow(shelf: Definitions, name: str) -> Workflow:
    found = shelf.find_pinned(name)
    assert isinstance(found, PinnedWorkflow)
    assert found.workflow is not None
    return found.workflow


def list_names(files: tuple[UntrustedFile, ...]) -> list[tuple[str, str]]:
    return [(str(one.kind), one.name) for one in files]
