"""What an agent is told by hooks and `handrail brief`, from the texts beside this file."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from handrail.shell.live_runs import installed_text, outline_state, task_text
from handrail.shell.view import LiveRun
from handrail.workflows.outline import read_outline
from handrail.workflows.render import render

if TYPE_CHECKING:
    from handrail.engine.facts import Value

LARGEST: Final = 6_000
"""How many bytes a brief has at most: about 2,000 tokens."""

_TEXTS: Final = Path(__file__).with_name("listening.yaml")
_TASK: Final = 2_500
_LINES: Final = 8
_LINE: Final = 160
_GOAL: Final = 300


@cache
def texts() -> Mapping[str, Any]:
    """The texts, by name."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = yaml.load(_TEXTS.read_text("utf-8"), Loader=loader)  # noqa: S506 - one of the safe ones
    return dict(found)


def say(name: str, /, **values: "Value") -> str:
    """A text with its placeholders filled, without the line break it ends with."""
    return render(texts()[name], values).rstrip("\n")


def call(run: LiveRun) -> str:
    """The call by which an agent goes on with a run: the tool, and its arguments."""
    named = texts()["calls"].get(run.face)
    if named:
        return render(named, {"run": run.id, "goal": run.goal})
    return say("call_other", looks=read_outline(installed_text(run.workflow)).looks.lower())


def brief(runs: Sequence[LiveRun]) -> str:
    """Where the agent is: the run called last in full, the others in a line; at most `LARGEST` bytes."""
    if not runs:
        return say("brief_none")
    rest = [_line(run) for run in runs[1:]]
    others = "\n" + say("brief_other", lines=rest) if rest else ""
    for most in (_TASK, _TASK // 4, 0):
        text = say("brief", runs=_whole(runs[0], most) + others)
        if len(text.encode()) <= LARGEST:
            return text
    return cut(text, LARGEST)


def cut(text: str, most: int) -> str:
    """A text of at most so many bytes; one that was longer says so."""
    if len(text.encode()) <= most:
        return text
    mark = say("cut")
    return text.encode()[: max(0, most - len(mark.encode()))].decode("utf-8", "ignore") + mark


def editable(edits: tuple[str, ...]) -> str:
    """Which files may be changed, in words."""
    return say("only_files", files=list(edits)) if edits else say("no_file")


def _line(run: LiveRun) -> str:
    return say(
        "brief_other_run",
        run=run.id,
        workflow=run.workflow,
        state=run.state,
        marks=_marks(run),
        call=call(run),
    )


def _whole(run: LiveRun, most: int) -> str:
    asked, refusal, task = outline_state(run), run.refused, task_text(run)
    words = read_outline(installed_text(run.workflow)).words if run.authority != "sql" else ()
    parts = {
        "goal": say("brief_goal", goal=cut(run.goal, _GOAL)) if run.goal else "",
        "asked": say("brief_asked", task=cut(task.strip(), most)) if task else "",
        "forbidden": say("brief_forbidden", lines=_short(asked.forbidden)) if asked.forbidden else "",
        "until": say("brief_done", lines=_short(asked.done_when)) if asked.done_when else "",
        "edits": say("brief_edits", files=editable(asked.edits)) if asked.edits is not None else "",
        "refused": _refused(refusal) if refusal else "",
        "words": say("brief_words", words=list(words)) if words else "",
    }
    told: dict[str, Value] = {name: f"{text}\n" if text else "" for name, text in parts.items()}
    head = {"run": run.id, "workflow": run.workflow, "state": run.state, "marks": _marks(run)}
    return say("brief_run", **head, about=f"{asked.about}.".lstrip("."), call=call(run), **told)


def _refused(refusal: Mapping[str, Any]) -> str:
    return say("brief_refused", code=str(refusal.get("error_type", "")), rule=str(refusal.get("rule", "")))


def _marks(run: LiveRun) -> str:
    return say("paused") if run.lifecycle == "paused" else say("waiting") if run.waiting else ""


def _short(lines: Sequence[str]) -> "list[Value]":
    return [cut(line, _LINE) for line in lines[:_LINES]]


def data(run: LiveRun) -> dict[str, object]:
    """The same of one run for programs."""
    asked = outline_state(run)
    return {
        "run": run.id,
        "workflow": run.workflow,
        "face": run.face,
        "project": run.project,
        "lifecycle": run.lifecycle,
        "state": run.state,
        "waiting": run.waiting,
        "goal": run.goal,
        "about": asked.about,
        "task": task_text(run),
        "edits": None if asked.edits is None else list(asked.edits),
        "refused": dict(run.refused),
        "call": call(run),
    }
