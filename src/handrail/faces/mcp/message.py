"""The `human_message` of a step: who the agent is, what it shall do, what it starts from and when it is done.

What a project's file says is put between boundaries that nobody can guess, so that it cannot pass for ours.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from handrail.engine.facts import Value
from handrail.engine.known import known
from handrail.engine.model import Brief, Event, Step, Workflow
from handrail.faces.mcp.texts import Texts
from handrail.shell.records import StepStatus, Stored
from handrail.shell.view import StepRow
from handrail.workflows.render import render

LONGEST: Final = 32 * 1024
"""How many bytes of a file are told; then its path is."""

_SUMMARY: Final = 300
_STEPS: Final = 20


class Guide(Protocol):
    """A text from a file that guides an agent: a persona, or a guardrail."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def text(self) -> str:
        """What it says."""
        ...

    @property
    def origin(self) -> str:
        """Whose it is."""
        ...

    @property
    def path(self) -> Path:
        """Where it stands."""
        ...


@dataclass(frozen=True, slots=True)
class Guides:
    """The personas and guardrails of the project that a run belongs to, and the boundary of this reply."""

    texts: Texts
    boundary: str
    persona: Callable[[str], Guide | None]
    guardrails: Callable[[str, str], Sequence[Guide]]

    def told(self, guide: Guide) -> str:
        """What a file says, marked as such unless it came with Handrail or from the person's own folder."""
        text = self._cut(guide)
        if guide.origin != "project":
            return text
        return self.texts.say("bounded", boundary=self.boundary, path=str(guide.path), text=text)

    def _cut(self, guide: Guide) -> str:
        data = guide.text.strip().encode()
        if len(data) <= LONGEST:
            return data.decode()
        whole = data[:LONGEST].decode("utf-8", "ignore")
        return f"{whole}\n{self.texts.say('cut', path=str(guide.path))}"


def message(
    guides: Guides,
    stored: Stored,
    workflow: Workflow,
    step: Step,
    facts: Mapping[str, Value],
    done: str = "",
) -> str:
    """Everything an agent is told about the step it is in; `done` is what was done before."""
    brief = workflow.states[step.state].brief
    pieces = [*_pieces(guides, stored, workflow, step, facts, brief), done]
    return "\n\n".join(piece for piece in pieces if piece)


def _pieces(
    guides: Guides,
    stored: Stored,
    workflow: Workflow,
    step: Step,
    facts: Mapping[str, Value],
    brief: Brief | None,
) -> Iterator[str]:
    say, state = guides.texts.say, workflow.states[step.state]
    if brief is not None:
        persona = guides.persona(brief.agent)
        if persona is None:
            yield say("no_persona", agent=brief.agent)
        else:
            yield say("persona", agent=brief.agent, text=guides.told(persona))
    scope = step.state[: step.state.rfind("/") + 1]
    values = {**facts, **known(workflow, stored.run, step, Event(""), scope)}
    task = render(brief.task, values).rstrip() if brief else state.about
    capped = say("attempt", number=step.attempt, cap=state.attempts) if state.attempts else ""
    yield say("task", step=step.state, attempt=capped, task=task)
    if stored.origin.goal:
        yield say("goal", goal=stored.origin.goal)
    if brief and brief.inputs:
        yield say("inputs", inputs=list(brief.inputs))
    if brief and brief.done_when:
        yield say("done_when", done_when=list(brief.done_when))
    for guardrail in guides.guardrails(workflow.name, step.state):
        yield say("guardrail", name=guardrail.name, text=guides.told(guardrail))


def so_far(texts: Texts, steps: Sequence[StepRow], uri: str) -> str:
    """What was done in a run before, for an agent that knows nothing of it; empty if nothing was."""
    done = [step for step in steps if step.status is StepStatus.COMPLETED]
    lines = [_line(texts, step) for step in done[-_STEPS:]]
    return texts.say("so_far", lines=lines, uri=uri) if lines else ""


def _line(texts: Texts, step: StepRow) -> str:
    output = step.output or {}
    summary = str(output.get("summary", ""))
    given = output.get("artifacts")
    titles = [f"{a.get('type')} “{a.get('title')}”" for a in given] if isinstance(given, list) else []
    artifacts = f" ({', '.join(titles)})" if titles else ""
    short = summary if len(summary) <= _SUMMARY else summary[:_SUMMARY] + "…"
    return texts.say("so_far_step", step=step.state, summary=" ".join(short.split()), artifacts=artifacts)
