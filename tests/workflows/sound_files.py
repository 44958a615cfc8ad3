"""The sound workflows of this folder, read and loaded."""

from pathlib import Path

from handrail.engine.model import Workflow
from handrail.workflows.load import LoadResult, WorkflowSource, load_workflow
from workflows.broken_cases import loaded

SOUND = Path(__file__).parent / "sound"


def text(name: str) -> str:
    """The text of a sound file, with its line ends as they are."""
    return (SOUND / name).read_bytes().decode()


def workflow(name: str) -> Workflow:
    """The workflow of a sound file."""
    return one(loaded(SOUND / name))


def one(found: LoadResult) -> Workflow:
    """The workflow, which must be there."""
    assert found.problems == ()
    assert found.workflow is not None
    return found.workflow


def of(written: str, **others: str) -> Workflow:
    """The workflow of a text; others are found by name."""
    return one(read(written, **others))


def read(written: str, **others: str) -> LoadResult:
    """What the loader makes of a text; others are found by name."""

    def find(name: str) -> WorkflowSource | None:
        return WorkflowSource(f"{name}.yaml", others[name], {}, name) if name in others else None

    return load_workflow(WorkflowSource("f.yaml", written), find)


def said(written: str, **others: str) -> list[tuple[str, int, int]]:
    """The problems of a text: code, line and column."""
    return [(p.code, p.place.line, p.place.column) for p in read(written, **others).problems]
