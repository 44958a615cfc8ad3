"""The broken and the sound workflow files of tests/workflows: which there are, and what is said of each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from handrail.engine.model import Workflow
from handrail.engine.problems import Problem
from handrail.engine.soundness import check_soundness
from handrail.workflows.load import LoadResult, WorkflowSource, load_workflow
from handrail.workflows.problem_report import format_problems

_TESTS = Path(__file__).resolve().parent.parent
FOLDER = _TESTS / "workflows" / "broken"
_MAIN = ("main.yaml", "workflow.yaml")


@dataclass(frozen=True, slots=True)
class Case:
    """A broken workflow, and the file that says what is printed about it."""

    name: str
    file: Path
    expected: Path

    @property
    def code(self) -> str:
        """The code that the name of the case promises."""
        return re.sub(r"-\d+$", "", self.name)


def list_cases(folder: Path = FOLDER) -> list[Case]:
    """Every case: a file, or a folder with a file called `main` or `workflow` and what belongs to it."""
    return sorted(_cases(folder), key=lambda case: case.name)


def _cases(folder: Path) -> Iterator[Case]:
    for path in folder.iterdir():
        if path.suffix == ".yaml":
            yield Case(path.stem, path, path.with_suffix(".txt"))
        for main in _MAIN:
            if (path / main).is_file():
                yield Case(path.name, path / main, path.with_suffix(".txt"))


def read_source(path: Path, name: str = "") -> WorkflowSource:
    """A workflow file as the loader takes it, with its line ends as they are, shown by its base name."""
    beside = {}
    if path.name == "workflow.yaml":
        beside = {text.stem: (text.name, text.read_text("utf-8")) for text in path.parent.glob("*.md")}
    return WorkflowSource(path.name, path.read_bytes().decode(), beside, name)


def load_file(path: Path) -> LoadResult:
    """The workflow of a file; others are found beside it, and one called `main` was looked up by its name."""

    def find(name: str) -> WorkflowSource | None:
        other = path.parent / f"{name}.yaml"
        return read_source(other, name) if other.is_file() else None

    return load_workflow(read_source(path, "main" if path.name == "main.yaml" else ""), find)


def find_problems(path: Path) -> tuple[Problem, ...]:
    """What the loader says of a file, or what `check` says if it loads."""
    found = load_file(path)
    return found.problems if found.workflow is None else check_soundness(found.workflow)


def format_case_output(case: Case) -> str:
    """What is printed about a case."""
    texts = {path.name: path.read_bytes().decode() for path in case.file.parent.iterdir() if path.is_file()}
    return format_problems(find_problems(case.file), texts)


# --- the sound files ----------------------------------------------------------------------------------------


SOUND = _TESTS / "workflows" / "sound"


def read_sound_text(name: str) -> str:
    """The text of a sound file, with its line ends as they are."""
    return (SOUND / name).read_bytes().decode()


def load_sound_workflow(name: str) -> Workflow:
    """The workflow of a sound file."""
    return require_workflow(load_file(SOUND / name))


def require_workflow(found: LoadResult) -> Workflow:
    """The workflow, which must be there."""
    assert found.problems == ()
    assert found.workflow is not None
    return found.workflow


def load_text(written: str, **others: str) -> Workflow:
    """The workflow of a text; others are found by name."""
    return require_workflow(read_text(written, **others))


def read_text(written: str, **others: str) -> LoadResult:
    """What the loader makes of a text; others are found by name."""

    def find(name: str) -> WorkflowSource | None:
        return WorkflowSource(f"{name}.yaml", others[name], {}, name) if name in others else None

    return load_workflow(WorkflowSource("f.yaml", written), find)


def list_problems(written: str, **others: str) -> list[tuple[str, int, int]]:
    """The problems of a text: code, line and column."""
    return [(p.code, p.place.line, p.place.column) for p in read_text(written, **others).problems]
