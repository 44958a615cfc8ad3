"""Render replies: the texts of a face, the message for a step, and the reply as data and as Markdown.

Start reading at `ReplyRenderer`, which renders the outcomes of the face `steps`. The other faces use
`load_face_texts`, `next_call`, `refusal_reasons` and the `format_…` functions.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, assert_never

import msgspec.yaml
from msgspec import Struct

from handrail.app.definitions import DIFF_KEY, Guides
from handrail.app.faces import RunStatus, StepsStatus
from handrail.app.projects import Projects
from handrail.engine import lifecycle
from handrail.engine.decide import find_lifecycle_options
from handrail.engine.facts import Value, to_printable
from handrail.engine.fork import FORK
from handrail.engine.lifecycle import CONTROL_TRIGGERS, TRIGGERS_NEEDING_REASON, is_terminal
from handrail.engine.model import (
    Accepted,
    Actor,
    Contract,
    Event,
    FactReading,
    Lifecycle,
    Option,
    Refused,
    Run,
    Step,
    Waiting,
    Workflow,
)
from handrail.engine.refusals import RefusalCode
from handrail.engine.rows import DecisionContext, read_known_facts
from handrail.runtime.comments import COMMENTS_KEY
from handrail.runtime.ports.queries import StepRow
from handrail.runtime.ports.turn import IdSource
from handrail.runtime.records import JournalEntry, StoredRun, format_rfc3339
from handrail.runtime.turn import Outcome, Reply
from handrail.workflows.templates import Texts, render_template

_MAX_SUMMARY_CHARACTERS: Final = 300

MAX_SUMMARIZED_STEPS: Final = 20
"""How many of the last completed steps a summary lists."""


class StepsAction(StrEnum):
    """The `action` of a call to the face `steps`."""

    PAUSE = lifecycle.PAUSE
    RESUME = lifecycle.RESUME
    DIVERGE = lifecycle.DIVERGE
    ABANDON = lifecycle.ABANDON
    FAIL = lifecycle.FAIL
    COMPLETE_STEP = "complete_step"
    FORK = FORK
    WHY = "why"


_MAX_SEEN_CHARACTERS: Final = 400
"""How many characters of a value a refusal repeats."""


@cache
def load_face_texts(face: str) -> Texts:
    """Load the texts of a face from its YAML file in this folder."""
    path = Path(__file__).with_name(f"{face}.yaml")
    texts = msgspec.yaml.decode(path.read_bytes(), type=dict[str, Any])
    errors, needed = texts.pop("errors"), texts.pop("needed")
    return Texts(
        msgspec.convert(texts, dict[str, str]),
        msgspec.convert(errors, dict[str, str]),
        msgspec.convert(needed, dict[str, tuple[str, ...]]),
    )


class ReplyRenderer(Struct, frozen=True):
    """Renders the outcomes of one call.

    `ids` makes the boundaries that mark quoted texts. `done`, if set, returns the last completed steps of a
    run, at most as many as asked for. `elsewhere` yields the calls to suggest if a call was about no run.
    """

    tool: str
    texts: Texts
    projects: Projects
    ids: IdSource
    uri: Callable[[str], str]
    elsewhere: Callable[[Refused], Iterable[Mapping[str, Value]]]
    done: Callable[[str, int], Sequence[StepRow]] | None = None

    def reply(self, outcome: Outcome) -> Reply:
        """Return the reply as data."""
        match outcome.decision:
            case Refused() as refused:
                return self.refused(outcome, refused)
            case Waiting(waits_for=facts):
                text = self.texts.say("waiting", facts=list(facts))
                return {**self._head(StepsStatus.WAITING, outcome), "human_message": text}
            case Accepted():
                return self._render_accepted(outcome)
            case _:
                assert_never(outcome.decision)

    def refused(self, outcome: Outcome, refused: Refused) -> Reply:
        """Return the reply to a refused call: which rule refused it, and what to call instead."""
        head = self._head(StepsStatus.ERROR, outcome)
        texts = [part for text in outcome.texts for part in text.values()]
        reply: dict[str, Value] = {
            **head,
            "error": " ".join(texts) or self.texts.error(refused.code, refused.rule),
            "code": refused.code,
            "why": refusal_reasons(refused),
        }
        reply["next"] = list(self._next_calls(outcome, refused))
        return reply

    def _render_accepted(self, outcome: Outcome) -> Reply:
        stored, workflow = outcome.stored, outcome.workflow
        if stored is None or workflow is None:
            raise ValueError("an accepted call is about a run")
        run, rows = stored.run, [part for text in outcome.texts for part in text.values()]
        if outcome.synthesis is not None:
            closed = self.texts.say("closed", workflow=workflow.name, steps=run.steps)
            return {
                **self._head(StepsStatus.TASK_CLOSED, outcome),
                "synthesis": outcome.synthesis,
                "human_message": "\n\n".join([*rows, closed]),
            }
        if run.lifecycle is not Lifecycle.RUNNING:
            return {**self._head(StepsStatus.OK, outcome), "human_message": self.describe_position(run)}
        step = run.open[0] if run.open else Step(0, "", 0)
        held_notes = [self.texts.say("held", step=step.state)] if step.held else []
        head = self._head(StepsStatus.WAITING if held_notes else StepsStatus.OK, outcome)
        definitions = self.projects.definitions(stored.origin.project)
        guides = Guides(definitions, self.texts, self.ids, self.projects.hide)
        message = compose_message(guides, StepContext(stored, workflow, step, outcome.facts or {}))
        if self.done:
            steps = self.done(run.id, MAX_SUMMARIZED_STEPS)
            message += summarize_done_steps(self.texts, steps, self.uri(run.id))
        return {
            **head,
            "next_step_contract": describe_contract(self.texts, workflow, step),
            "human_message": "\n\n".join([*held_notes, *rows, message]),
        }

    def explain(self, outcome: Outcome, refusals: Sequence[JournalEntry]) -> Reply:
        """Return the reply to `why`: where the run is, what holds it, and its recent refusals."""
        stored = outcome.stored
        if isinstance(outcome.decision, Refused) or stored is None:
            return self.reply(outcome)
        reply, run = dict(self.reply(outcome)), stored.run
        if run.lifecycle is Lifecycle.RUNNING and run.open:
            step = run.open[0]
            text_name = "why_held" if step.held else "why_running"
            pieces = [self.texts.say(text_name, step=step.state, attempt=step.attempt)]
        else:
            pieces = [self.describe_position(run)]
        lines = [self._describe_refusal(entry) for entry in refusals]
        pieces.append(
            self.texts.say("why_refused", refusals=lines) if lines else self.texts.say("why_nothing")
        )
        if run.lifecycle is Lifecycle.RUNNING:
            pieces.append(str(reply["human_message"]))
        reply["human_message"] = "\n\n".join(pieces)
        reply["next"] = list(self._run_calls(outcome, stored, find_lifecycle_options(run)))
        return reply

    def _describe_refusal(self, entry: JournalEntry) -> str:
        data = entry.entry.data
        code, rule = str(data.get("error_type", "")), str(data.get("rule", ""))
        return self.texts.say("why_refusal", code=code, rule=rule, at=format_rfc3339(entry.at))

    def describe_position(self, run: Run) -> str:
        """Return the text for a run that is paused or has ended."""
        reason = f" ({run.reason})" if run.reason else ""
        if run.lifecycle is Lifecycle.PAUSED:
            return self.texts.say("paused", reason=reason)
        return self.texts.say("ended", lifecycle=str(run.lifecycle), reason=reason)

    def _head(self, status: StepsStatus, outcome: Outcome) -> dict[str, Value]:
        """Return what every reply has: its status, the run id, and the token for the next call."""
        head: dict[str, Value] = {"status": status}
        if outcome.stored and outcome.stored.revision:
            head["execution_id"] = outcome.stored.run.id
        token = next(iter((outcome.tokens or {}).values()), "")
        if token:
            head["new_step_token"] = token
        return head

    def _next_calls(self, outcome: Outcome, refused: Refused) -> Iterator[Mapping[str, Value]]:
        """Yield the calls to make instead, ready to be sent."""
        stored = outcome.stored if outcome.stored and outcome.stored.revision else None
        if stored is None:
            yield from self.elsewhere(refused)
            return
        if refused.code is RefusalCode.REASON:
            yield self.call(Actor.AGENT, execution_id=stored.run.id, action=refused.rule, reason="")
        yield from self._run_calls(outcome, stored, refused.next)

    def _run_calls(
        self, outcome: Outcome, stored: StoredRun, options: Sequence[Option]
    ) -> Iterator[Mapping[str, Value]]:
        """Yield the calls that this run takes now; `options` are the triggers that are open."""
        token = next(iter((outcome.tokens or {}).values()), "")
        if is_terminal(stored.run.lifecycle):
            yield self.call(Actor.AGENT, execution_id=stored.run.id, action=StepsAction.FORK)
        elif stored.run.lifecycle is Lifecycle.RUNNING and not token:
            yield self.call(Actor.AGENT, execution_id=stored.run.id)
        else:
            yield from self._option_calls(stored, options, token)

    def _option_calls(
        self, stored: StoredRun, options: Sequence[Option], token: str
    ) -> Iterator[Mapping[str, Value]]:
        if token:
            yield self.call(Actor.AGENT, step_token=token, model_output_so_far={})
        for option in options:
            if option.trigger in CONTROL_TRIGGERS:
                reason = {"reason": ""} if option.trigger in TRIGGERS_NEEDING_REASON else {}
                yield self.call(option.who, execution_id=stored.run.id, action=option.trigger, **reason)

    def call(self, who: Actor, **arguments: Value) -> Mapping[str, Value]:
        """Return one entry of `next`."""
        return next_call(self.tool, who, arguments)


def build_run_status(outcome: Outcome, shown: str = "", far: tuple[int, int] = (0, 0)) -> RunStatus | None:
    """Return the current position of a run for its picture; None if there is no run to show.

    `shown` is its id in the shared store if that differs; `far` is how many tasks are done, of how many.
    """
    stored, workflow = outcome.stored, outcome.workflow
    if isinstance(outcome.decision, Refused) or stored is None or workflow is None:
        return None
    return RunStatus(shown or stored.run.id, workflow, stored.run, outcome.facts or {}, *far)


def refusal_reasons(refused: Refused) -> Mapping[str, Value]:
    """Return the `why` of a refusal: the rule, the facts that were read, and what is needed."""
    seen = [f"{seen.fact} = {_format_seen(seen)}" for seen in refused.seen]
    return {"rule": refused.rule, "seen": seen, "needed": list(refused.needed)}


def _format_seen(seen: FactReading) -> str:
    """Return the value of a fact as text: a diff in full, anything else shortened."""
    return f"\n{seen.value}" if seen.fact == DIFF_KEY else _shorten_value(seen.value)


def _shorten_value(value: Value) -> str:
    text = json.dumps(to_printable(value), ensure_ascii=False)
    return text if len(text) <= _MAX_SEEN_CHARACTERS else text[:_MAX_SEEN_CHARACTERS] + "…"


def next_call(tool: str, who: Actor, arguments: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return one entry of `next`: the tool, its arguments, and who may call it."""
    return {"tool": tool, "arguments": arguments, "who": str(who)}


def describe_contract(texts: Texts, workflow: Workflow, step: Step) -> Mapping[str, Value]:
    """Return the `next_step_contract` of an open step."""
    state = workflow.states.get(step.state)
    brief = state.brief if state else None
    contract = brief.contract if brief else Contract()
    types = ", ".join([f"`{kind}`" for kind in contract.artifacts])
    least = contract.min_confidence
    data: dict[str, Value] = {
        "step_name": step.state,
        "allowed_actions": list(brief.allowed_actions) if brief else [],
        "forbidden_actions": list(brief.forbidden_actions) if brief else [],
        "required_output_format": texts.say(
            "format",
            artifacts=texts.say("format_artifacts", types=types) if types else "",
            confidence=texts.say("format_confidence", least=least) if least else "",
            blockers=texts.say("format_blockers") if contract.no_blockers else "",
            schema=texts.say("format_schema") if contract.schema else "",
        ),
    }
    if contract.schema:
        data["output_schema"] = dict(contract.schema)
    return data


class StepContext(Struct, frozen=True):
    """A step with its run and workflow, and the facts that were read."""

    stored: StoredRun
    workflow: Workflow
    step: Step
    facts: Mapping[str, Value]


def compose_message(guides: Guides, context: StepContext) -> str:
    """Compose the message for the agent about its current step."""
    stored, workflow, step, say = context.stored, context.workflow, context.step, guides.texts.say
    state = workflow.states[step.state]
    brief = state.brief
    quoted = guides.quote_for(brief.agent if brief else "", workflow.name, step.state)
    values = dict(context.facts)
    if brief and brief.names:
        scope = step.state[: step.state.rfind("/") + 1]
        values |= read_known_facts(
            DecisionContext(workflow, Event(""), context.facts, stored.run, step), scope
        )
    task = render_template(brief.task, values).rstrip() if brief else state.about
    attempt = say("attempt", number=step.attempt, cap=state.attempts) if state.attempts else ""
    pieces = []
    if quoted.persona is not None:
        pieces.append(say("persona", text=quoted.persona))
    elif brief:
        pieces.append(say("no_persona", agent=brief.agent))
    pieces.append(say("task", step=step.state, attempt=attempt, task=task))
    if stored.origin.goal:
        pieces.append(say("goal", goal=stored.origin.goal))
    if brief and brief.inputs:
        pieces.append(say("inputs", inputs=list(brief.inputs)))
    if brief and brief.done_when:
        pieces.append(say("done_when", done_when=list(brief.done_when)))
    pieces += [say("guardrail", name=name, text=text) for name, text in quoted.guardrails]
    return "\n\n".join([piece for piece in pieces if piece])


def summarize_done_steps(texts: Texts, done: Sequence[StepRow], uri: str) -> str:
    """Summarize completed steps for an agent that does not know them, after a blank line."""
    lines = [_summarize_step(texts, step) for step in done]
    return "\n\n" + texts.say("so_far", lines=lines, uri=uri) if lines else ""


def _summarize_step(texts: Texts, step: StepRow) -> str:
    output = step.output or {}
    summary = str(output.get("summary", ""))
    given = output.get("artifacts")
    titles = [f"{a.get('type')} “{a.get('title')}”" for a in given] if isinstance(given, list) else []
    artifacts = f" ({', '.join(titles)})" if titles else ""
    short = summary if len(summary) <= _MAX_SUMMARY_CHARACTERS else summary[:_MAX_SUMMARY_CHARACTERS] + "…"
    return texts.say("so_far_step", step=step.state, summary=" ".join(short.split()), artifacts=artifacts)


def render_reply_markdown(reply: Mapping[str, Any]) -> str:
    """Return the reply as Markdown, with everything that the data has."""
    return "\n\n".join(_markdown_sections(reply))


def _markdown_sections(reply: Mapping[str, Any]) -> Iterator[str]:
    run = f" · execution_id `{reply['execution_id']}`" if "execution_id" in reply else ""
    yield f"status **{reply['status']}**{run}"
    if "error" in reply:
        yield f"{reply['error']} (code `{reply['code']}`)"
    if "why" in reply:
        yield format_why(reply["why"])
    if "human_message" in reply:
        yield str(reply["human_message"])
    if COMMENTS_KEY in reply:
        yield format_comments(reply[COMMENTS_KEY])
    if "next_step_contract" in reply:
        yield _format_contract(reply["next_step_contract"])
    if "synthesis" in reply:
        yield f"## Synthesis\n\n{_encode_json(reply['synthesis'])}"
    if "new_step_token" in reply:
        yield f"new_step_token: `{reply['new_step_token']}`"
    if reply.get("next"):
        yield format_next_calls(reply["next"])


def format_why(why: Mapping[str, Any]) -> str:
    """Format the `why` of a refusal as text."""
    seen = [f"- seen: {line}" for line in why["seen"]]
    return "\n".join([f"- rule: {why['rule']}", *seen, *(f"- needed: {line}" for line in why["needed"])])


def format_comments(comments: Sequence[str]) -> str:
    """Format the comments that the agent has not seen yet as text."""
    return "\n".join(["Comments by people:", *(f"- {line}" for line in comments)])


def format_next_calls(calls: Sequence[Mapping[str, Any]]) -> str:
    """Format the entries of `next` as text."""
    lines = [f"- {call['who']}: {call['tool']} `{_encode_json(call['arguments'])}`" for call in calls]
    return "Next:\n" + "\n".join(lines)


def _format_contract(contract: Mapping[str, Any]) -> str:
    lines = [f"## Contract of {contract['step_name']}"]
    for heading, key in (("Allowed", "allowed_actions"), ("Forbidden", "forbidden_actions")):
        lines += [f"{heading}:", *(f"- {action}" for action in contract[key])] if contract[key] else []
    lines.append(f"Output: {contract['required_output_format']}")
    if "output_schema" in contract:
        lines.append(f"output_schema: `{_encode_json(contract['output_schema'])}`")
    return "\n".join(lines)


_encode_json: Final[Callable[[Value], str]] = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":")
).encode
