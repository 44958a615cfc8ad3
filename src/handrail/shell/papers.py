"""The files that a run is about, as artifacts of it: what the common store shows of a run kept in files."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from uuid import NAMESPACE_OID, uuid5

from handrail.documents.criteria import MOST
from handrail.engine.model import Run, Workflow
from handrail.shell.faults import Fault
from handrail.shell.ports import Workspace
from handrail.shell.records import Artifact

_READER: Final = "file.exists"


def papers(workflow: Workflow, run: Run, seen: Mapping[str, bytes | None]) -> tuple[Artifact, ...]:
    """What was seen of the files that the workflow names, each by its content: the same text, the same id.

    Its type is what facts call the file. One that is too long to be read for what it says is left out.
    """
    return tuple(_artifacts(workflow, run, seen.get)) if seen else ()


def lying(workflow: Workflow, run: Run, workspace: Workspace) -> tuple[Artifact, ...]:
    """The same of the files as they lie there now; one that cannot be read is left out."""

    def read(path: str) -> bytes | None:
        try:
            return workspace.read(path)
        except Fault:
            return None

    return tuple(_artifacts(workflow, run, read))


def _artifacts(workflow: Workflow, run: Run, read: Callable[[str], bytes | None]) -> Iterator[Artifact]:
    state = run.open[0].state if run.open else ""
    for name, fact in workflow.facts.items():
        data = read(fact.of[0]) if fact.reader == _READER else None
        if data is None or len(data) > MOST:
            continue
        kind, digest = name.partition(".")[0].replace("_", "-"), hashlib.sha256(data).hexdigest()
        named = str(uuid5(NAMESPACE_OID, f"{run.id} {fact.of[0]} {digest}"))
        text = data.decode("utf-8", "replace")
        yield Artifact(named, state, "", kind, fact.of[0], text, f"sha256 {digest}")
