"""The `human_message` of a step: who the agent is, what it shall do, what it starts from and when it is done.

What a project's file says is put between boundaries that nobody can guess, so that it cannot pass for ours.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from handrail.documents.quote import bounded, cut
from handrail.engine.facts import Value
from handrail.engine.known import Stand, known
from handrail.engine.model import Brief, Event, State, Step, Workflow
from handrail.faces.mcp.texts import Texts
from handrail.shell.records import Stored
from handrail.shell.view import StepRow
from handrail.workflows.render import render

LONGEST: Final = 32 * 1024
"""How many bytes of a file are told; then its path is."""

_SUMMARY: Final = 300
STEPS: Final = 20
"""How many steps are told of what was done before: the last ones."""


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


class Guides(Struct, frozen=True):
    """The personas and guardrails of the project that a run belongs to, and the boundary of this reply.

    `shown` is how a file is called to who reads it.
    """

    texts: Texts
    boundary: str
    persona: Callable[[str], Guide | None]
    guardrails: Callable[[str, str], Sequence[Guide]]
    shown: Callable[[str], str] = str

    def told(self, guide: Guide) -> str:
        """What a file says, marked as such unless it came with Handrail or from the person's own folder."""
        text, path = guide.text.strip(), self.shown(str(guide.path))
        if guide.origin != "project":
            return cut(text, path, LONGEST)
        return bounded(text, path, self.boundary, LONGEST, self.texts.say("standing"))


class Stay(Struct, frozen=True):
    """The step that is told of: of which run and workflow, and what was seen of the world."""

    stored: Stored
    workflow: Workflow
    step: Step
    facts: Mapping[str, Value]

    @property
    def values(self) -> Mapping[str, Value]:
        """What the task of the step can be filled with."""
        scope = self.step.state[: self.step.state.rfind("/") + 1]
        stand = Stand(self.workflow, Event(""), self.facts, self.stored.run, self.step)
        return {**self.facts, **known(stand, scope)}


def message(guides: Guides, stay: Stay, done: str = "") -> str:
    """Everything an agent is told about the step it is in; `done` is what was done before."""
    state = stay.workflow.states[stay.step.state]
    brief = state.brief
    pieces = [
        *(_persona(guides, brief) if brief else ()),
        _task(guides, stay, state),
        *_goal(guides, stay),
        *(_ends(guides, brief) if brief else ()),
        *_guardrails(guides, stay),
        done,
    ]
    return "\n\n".join(piece for piece in pieces if piece)


def _persona(guides: Guides, brief: Brief) -> Iterator[str]:
    persona = guides.persona(brief.agent)
    if persona is None:
        yield guides.texts.say("no_persona", agent=brief.agent)
    else:
        yield guides.texts.say("persona", text=guides.told(persona))


def _task(guides: Guides, stay: Stay, state: State) -> str:
    say, step = guides.texts.say, stay.step
    task = render(state.brief.task, stay.values).rstrip() if state.brief else state.about
    capped = say("attempt", number=step.attempt, cap=state.attempts) if state.attempts else ""
    return say("task", step=step.state, attempt=capped, task=task)


def _goal(guides: Guides, stay: Stay) -> Iterator[str]:
    if stay.stored.origin.goal:
        yield guides.texts.say("goal", goal=stay.stored.origin.goal)


def _ends(guides: Guides, brief: Brief) -> Iterator[str]:
    """What the step begins with, and when it is done."""
    if brief.inputs:
        yield guides.texts.say("inputs", inputs=list(brief.inputs))
    if brief.done_when:
        yield guides.texts.say("done_when", done_when=list(brief.done_when))


def _guardrails(guides: Guides, stay: Stay) -> Iterator[str]:
    for guardrail in guides.guardrails(stay.workflow.name, stay.step.state):
        yield guides.texts.say("guardrail", name=guardrail.name, text=guides.told(guardrail))


def so_far(texts: Texts, done: Sequence[StepRow], uri: str) -> str:
    """What was done in a run before, for an agent that knows nothing of it; empty if nothing was."""
    lines = [_line(texts, step) for step in done]
    return texts.say("so_far", lines=lines, uri=uri) if lines else ""


def _line(texts: Texts, step: StepRow) -> str:
    output = step.output or {}
    summary = str(output.get("summary", ""))
    given = output.get("artifacts")
    titles = [f"{a.get('type')} “{a.get('title')}”" for a in given] if isinstance(given, list) else []
    artifacts = f" ({', '.join(titles)})" if titles else ""
    short = summary if len(summary) <= _SUMMARY else summary[:_SUMMARY] + "…"
    return texts.say("so_far_step", step=step.state, summary=" ".join(short.split()), artifacts=artifacts)
