"""What stands in a resource: rows of the store by the names the source gives their columns."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from handrail.engine.model import Variable, Workflow
from handrail.engine.problems import Problem
from handrail.shell.comments import comments as written
from handrail.shell.records import Written, project_id, rfc3339
from handrail.shell.vcs import Vcs
from handrail.shell.view import Excerpt, RunRow, StepRow
from handrail.workflows.characters import safe

ROOM: Final = 1024 * 1024
"""How many bytes of texts one resource has at most; what would go beyond is left out."""

_PROBLEMS: Final = 5


def execution(row: RunRow) -> dict[str, object]:
    """A run, by the columns of `workflow_executions`."""
    return {
        "execution_id": row.id,
        "workflow_name": row.workflow,
        "state": str(row.lifecycle),
        "current_step": row.state or None,
        "started_at": rfc3339(row.started),
        "updated_at": rfc3339(row.updated),
        "completed_at": _time(row.ended),
        "duration_ms": row.duration_ms,
        "metadata": dict(row.metadata),
        "revision": row.revision,
        "active_at": rfc3339(row.active),
        "waiting": row.waiting,
        "face": row.face,
        "authority": str(row.authority),
        "project_id": project_id(row.project) if row.project else None,
        "goal": row.goal,
        "principal": row.principal,
        "parent_execution_id": row.parent or None,
    }


def current(run: RunRow, steps: Iterable[StepRow]) -> list[dict[str, object]]:
    """Where a run stands, by the columns of the printed query: once for each open step, or once without."""
    where: dict[str, object] = {
        "execution_id": run.id,
        "state": str(run.lifecycle),
        "current_step": run.state or None,
    }
    nowhere: dict[str, object] = {"step_name": None, "agent_name": None, "status": None, "started_at": None}
    told: list[dict[str, object]] = [
        {
            "step_name": row.state,
            "agent_name": row.agent,
            "status": str(row.status),
            "started_at": _time(row.opened),
        }
        for row in steps
    ]
    return [{**where, **one} for one in told or [nowhere]]


def active(row: RunRow, steps: Iterable[StepRow]) -> dict[str, object]:
    """The run that is under way in a project, and where it stands."""
    names = ("execution_id", "state", "current_step", "step_name")
    first = current(row, steps)[0]
    return {"workflow_name": row.workflow, **{name: first[name] for name in names}}


def step(run: str, row: StepRow) -> dict[str, object]:
    """A step of a run, by the columns of `workflow_steps`, without its token, and by its number."""
    return {
        "execution_id": run,
        "number": row.number,
        "step_name": row.state,
        "agent_name": row.agent,
        "status": str(row.status),
        "started_at": _time(row.opened),
        "completed_at": _time(row.closed),
        "duration_ms": row.duration_ms,
        "output": None if row.output is None else dict(row.output),
    }


def artifacts(excerpts: Iterable[Excerpt]) -> list[dict[str, object]]:
    """Artifacts, by the columns of `workflow_artifacts`; one that is cut says so, and how to see it whole."""
    told: list[dict[str, object]] = []
    room = ROOM
    for one in excerpts:
        row, text = one.artifact, one.text if len(one.text.encode()) <= room else ""
        given = len(text.encode())
        room -= given
        told.append(
            {
                **artifact(one),
                "step_name": row.step,
                "agent_name": row.agent,
                "description": row.description or None,
                "is_final": row.final,
                "number": row.number,
                "content": text,
            }
        )
        if given < row.size:
            whole = f"handrail runs artifacts {one.run} {row.number}"
            told[-1] |= {"cut": True, "size": row.size, "whole": whole}
    return told


def artifact(one: Excerpt) -> dict[str, object]:
    """Which artifact it is, without its text."""
    row = one.artifact
    return {
        "artifact_id": row.id,
        "execution_id": one.run,
        "artifact_type": row.type,
        "title": row.title,
        "created_at": rfc3339(row.at),
    }


def comments(remarks: Iterable[Written]) -> list[dict[str, object]]:
    """What people wrote to a run, in full, and when its agent was told."""
    return [
        {
            "comment_id": one.id,
            "principal": one.principal,
            "text": one.text,
            "created_at": rfc3339(one.at),
            "told_at": _time(one.told),
        }
        for one in written(remarks)
    ]


def offered(workflow: Workflow) -> dict[str, object]:
    """What a workflow is for and what it is started with: nothing of its steps."""
    return {
        "about": workflow.about,
        "version": workflow.version,
        "inputs": [_input(variable) for variable in workflow.inputs.values()],
    }


def problems(found: Iterable[Problem]) -> list[str]:
    """The first problems of a file, each in a line."""
    lines = [safe(f"{one.place.file}:{one.place.line}:{one.place.column}: {one.message}") for one in found]
    more = len(lines) - _PROBLEMS
    return [*lines[:_PROBLEMS], *([f"and {more} more: handrail workflows check"] if more > 0 else [])]


def vcs(of: Vcs) -> dict[str, object]:
    """Where a project stands in its version control."""
    told: dict[str, object] = {"kind": of.kind, "head": of.head, "branch": of.branch}
    return {**told, "problem": of.problem} if of.problem else told


def _input(variable: Variable) -> dict[str, object]:
    return {
        "name": variable.name,
        "type": str(variable.type),
        "required": variable.required,
        "default": variable.default,
        "choices": list(variable.choices),
        "about": variable.about,
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at)
