"""Batches of tasks as a Mermaid flowchart: a box for each batch, an arrow to a task from those before."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from handrail.workflows.draw.escape import mermaid_label

_CLASSES: Final = {
    "in_progress": "fill:#dbe8ff,stroke:#2563eb,color:#1e293b",
    "completed": "fill:#dcfce7,stroke:#16a34a,color:#1e293b",
    "failed": "fill:#fee2e2,stroke:#dc2626,color:#1e293b",
}


def batches_mermaid(batches: Sequence[Mapping[str, Any]]) -> str:
    """The batches in their order. Tasks are called t0, t1, ... in order, so no id can break it."""
    tasks = [task for batch in batches for task in batch["tasks"]]
    names = {task["id"]: f"t{number}" for number, task in enumerate(tasks)}
    lines = ["flowchart LR"]
    for number, batch in enumerate(batches):
        title = mermaid_label((f"{batch['id']}, {batch['status']}",))
        lines.append(f"subgraph b{number}[{title}]")
        lines += [f"    {names[one['id']]}({mermaid_label((one['id'],))})" for one in batch["tasks"]]
        lines.append("end")
    for task in tasks:
        known = [names[name] for name in task["dependsOn"] if name in names]
        lines += [f"{name} --> {names[task['id']]}" for name in known]
    for status, look in _CLASSES.items():
        marked = [names[task["id"]] for task in tasks if task["status"] == status]
        if marked:
            lines += [f"classDef {status} {look}", f"class {','.join(marked)} {status}"]
    return "\n    ".join(lines) + "\n"
