"""From an outcome to the reply of the face `steps`, in both forms: data, and Markdown that says as much."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, assert_never

from msgspec import Struct

from handrail.engine.facts import Value, writable
from handrail.engine.lifecycle import CONTROLS, NEEDS_REASON, terminal
from handrail.engine.model import (
    Accepted,
    Contract,
    Lifecycle,
    Option,
    Refused,
    Run,
    Seen,
    Step,
    Waiting,
    Who,
)
from handrail.engine.options import outside
from handrail.faces.mcp.message import STEPS, Guides, Stay, message, so_far
from handrail.faces.mcp.texts import Texts
from handrail.shell.comments import TOLD
from handrail.shell.records import Stored, Written, rfc3339
from handrail.shell.starting import DIFF
from handrail.shell.turn import Outcome, Reply
from handrail.shell.view import StepRow

FORK: Final = "fork"
REASON: Final = "reason"
_SEEN: Final = 400
"""How many characters of a value are repeated in a refusal."""


class Teller(Struct, frozen=True):
    """Puts outcomes into words, for one call.

    `done` gives so many of the last completed steps of a run, where that is to be told; `elsewhere` what may
    be called where a call was about no run at all.
    """

    tool: str
    texts: Texts
    guides: Callable[[Stored], Guides]
    uri: Callable[[str], str]
    elsewhere: Callable[[Refused], Iterable[Mapping[str, Value]]]
    done: Callable[[str, int], Sequence[StepRow]] | None = None

    def reply(self, outcome: Outcome) -> Reply:
        """The reply, as data."""
        match outcome.decision:
            case Refused() as refused:
                return self.refused(outcome, refused)
            case Waiting(waits_for=facts):
                said = self.texts.say("waiting", facts=list(facts))
                return {**self._head("waiting", outcome), "human_message": said}
            case Accepted():
                return self._accepted(outcome)
            case _:
                assert_never(outcome.decision)

    def refused(self, outcome: Outcome, refused: Refused) -> Reply:
        """What was refused, by which rule, and what may be called instead."""
        head = self._head("error", outcome)
        texts = [part for text in outcome.texts for part in text.values()]
        reply: dict[str, Value] = {
            **head,
            "error": " ".join(texts) or self.texts.error(refused.code, refused.rule),
            "code": refused.code,
            "why": reasons(refused),
        }
        reply["next"] = list(self._next(outcome, refused))
        return reply

    def _accepted(self, outcome: Outcome) -> Reply:
        stored, workflow = outcome.stored, outcome.workflow
        if stored is None or workflow is None:
            raise ValueError("an accepted call is about a run")
        run, rows = stored.run, [part for text in outcome.texts for part in text.values()]
        if outcome.synthesis is not None:
            closed = self.texts.say("closed", workflow=workflow.name, steps=run.steps)
            return {
                **self._head("task_closed", outcome),
                "synthesis": outcome.synthesis,
                "human_message": "\n\n".join([*rows, closed]),
            }
        if run.lifecycle is not Lifecycle.RUNNING:
            return {**self._head("ok", outcome), "human_message": self.standing(run)}
        step = run.open[0] if run.open else Step(0, "", 0)
        done = so_far(self.texts, self.done(run.id, STEPS), self.uri(run.id)) if self.done else ""
        told = message(self.guides(stored), Stay(stored, workflow, step, outcome.facts or {}), done)
        held = [self.texts.say("held", step=step.state)] if step.held else []
        return {
            **self._head("waiting" if held else "ok", outcome),
            "next_step_contract": contract(self.texts, outcome, step),
            "human_message": "\n\n".join([*held, *rows, told]),
        }

    def why(self, outcome: Outcome, refusals: Sequence[Written]) -> Reply:
        """Where the run stands and what keeps it: the answer to a question, whatever it tells."""
        stored = outcome.stored
        if isinstance(outcome.decision, Refused) or stored is None:
            return self.reply(outcome)
        reply, run = dict(self.reply(outcome)), stored.run
        if run.lifecycle is Lifecycle.RUNNING and run.open:
            step = run.open[0]
            stands = "why_held" if step.held else "why_running"
            pieces = [self.texts.say(stands, step=step.state, attempt=step.attempt)]
        else:
            pieces = [self.standing(run)]
        told = [self._refusal(one) for one in refusals]
        pieces.append(self.texts.say("why_refused", refusals=told) if told else self.texts.say("why_nothing"))
        if run.lifecycle is Lifecycle.RUNNING:
            pieces.append(str(reply["human_message"]))
        reply["human_message"] = "\n\n".join(pieces)
        reply["next"] = list(self._next(outcome, Refused("", "", next=outside(run))))
        return reply

    def _refusal(self, written: Written) -> str:
        data = written.entry.data
        code, rule = str(data.get("error_type", "")), str(data.get("rule", ""))
        return self.texts.say("why_refusal", code=code, rule=rule, at=rfc3339(written.at))

    def standing(self, run: Run) -> str:
        """Where a run stands that nobody works on."""
        reason = f" ({run.reason})" if run.reason else ""
        if run.lifecycle is Lifecycle.PAUSED:
            return self.texts.say("paused", reason=reason)
        return self.texts.say("ended", lifecycle=str(run.lifecycle), reason=reason)

    def _head(self, status: str, outcome: Outcome) -> dict[str, Value]:
        """What every reply has: its status, the run, and the token to go on with."""
        head: dict[str, Value] = {"status": status}
        if outcome.stored and outcome.stored.revision:
            head["execution_id"] = outcome.stored.run.id
        token = next(iter((outcome.tokens or {}).values()), "")
        if token:
            head["new_step_token"] = token
        return head

    def _next(self, outcome: Outcome, refused: Refused) -> Iterator[Mapping[str, Value]]:
        """What may be called instead, ready to be sent."""
        stored = outcome.stored if outcome.stored and outcome.stored.revision else None
        if stored is None:
            yield from self.elsewhere(refused)
            return
        token = next(iter((outcome.tokens or {}).values()), "")
        if refused.code == REASON:
            yield self.call(Who.AGENT, execution_id=stored.run.id, action=refused.rule, reason="")
        if terminal(stored.run.lifecycle):
            yield self.call(Who.AGENT, execution_id=stored.run.id, action=FORK)
        elif stored.run.lifecycle is Lifecycle.RUNNING and not token:
            yield self.call(Who.AGENT, execution_id=stored.run.id)
        else:
            yield from self._options(stored, refused.next, token)

    def _options(
        self, stored: Stored, options: Sequence[Option], token: str
    ) -> Iterator[Mapping[str, Value]]:
        if token:
            yield self.call(Who.AGENT, step_token=token, model_output_so_far={})
        for option in options:
            if option.trigger in CONTROLS:
                reason = {"reason": ""} if option.trigger in NEEDS_REASON else {}
                yield self.call(option.who, execution_id=stored.run.id, action=option.trigger, **reason)

    def call(self, who: Who, **arguments: Value) -> Mapping[str, Value]:
        """One entry of `next`."""
        return following(self.tool, who, arguments)


def reasons(refused: Refused) -> Mapping[str, Value]:
    """The `why` of a refusal: which rule, what was seen, what is needed."""
    seen = [f"{seen.fact} = {_shown(seen)}" for seen in refused.seen]
    return {"rule": refused.rule, "seen": seen, "needed": list(refused.needed)}


def following(tool: str, who: Who, arguments: Mapping[str, Value]) -> Mapping[str, Value]:
    """One entry of `next`: what may be called, with what, and by whom."""
    return {"tool": tool, "arguments": arguments, "who": str(who)}


def contract(texts: Texts, outcome: Outcome, step: Step) -> Mapping[str, Value]:
    """The `next_step_contract` of an open step."""
    state = outcome.workflow.states.get(step.state) if outcome.workflow else None
    brief = state.brief if state else None
    asked = brief.contract if brief else Contract()
    found: dict[str, Value] = {
        "step_name": step.state,
        "allowed_actions": list(brief.allowed_actions) if brief else [],
        "forbidden_actions": list(brief.forbidden_actions) if brief else [],
        "required_output_format": _format(texts, asked),
    }
    if asked.schema:
        found["output_schema"] = dict(asked.schema)
    return found


def _format(texts: Texts, asked: Contract) -> str:
    types = ", ".join(f"`{kind}`" for kind in asked.artifacts)
    return texts.say(
        "format",
        artifacts=texts.say("format_artifacts", types=types) if types else "",
        confidence=texts.say("format_confidence", least=asked.min_confidence) if asked.min_confidence else "",
        blockers=texts.say("format_blockers") if asked.no_blockers else "",
        schema=texts.say("format_schema") if asked.schema else "",
    )


def _shown(seen: Seen) -> str:
    """What was seen; of a difference every line, of anything else the beginning."""
    return f"\n{seen.value}" if seen.fact == DIFF else _short(seen.value)


def _short(value: Value) -> str:
    text = json.dumps(writable(value), ensure_ascii=False)
    return text if len(text) <= _SEEN else text[:_SEEN] + "…"


def markdown(reply: Mapping[str, Any]) -> str:
    """The same reply as text: nothing that the data says is missing from it."""
    return "\n\n".join(_sections(reply))


def _sections(reply: Mapping[str, Any]) -> Iterator[str]:
    run = f" · execution_id `{reply['execution_id']}`" if "execution_id" in reply else ""
    yield f"status **{reply['status']}**{run}"
    if "error" in reply:
        yield f"{reply['error']} (code `{reply['code']}`)"
    if "why" in reply:
        yield told_why(reply["why"])
    if "human_message" in reply:
        yield str(reply["human_message"])
    yield from told_comments(reply)
    if "next_step_contract" in reply:
        yield _contract(reply["next_step_contract"])
    if "synthesis" in reply:
        yield f"## Synthesis\n\n{_json(reply['synthesis'])}"
    if "new_step_token" in reply:
        yield f"new_step_token: `{reply['new_step_token']}`"
    if reply.get("next"):
        yield told_next(reply["next"])


def told_why(why: Mapping[str, Any]) -> str:
    """Why something was refused, as text."""
    seen = [f"- seen: {line}" for line in why["seen"]]
    return "\n".join([f"- rule: {why['rule']}", *seen, *(f"- needed: {line}" for line in why["needed"])])


def told_comments(reply: Mapping[str, Any]) -> Iterator[str]:
    """What people wrote to the run since its agent was last told, as text; nothing if that is nothing."""
    if TOLD in reply:
        yield "\n".join(["Comments by people:", *(f"- {line}" for line in reply[TOLD])])


def told_next(calls: Sequence[Mapping[str, Any]]) -> str:
    """What may be called, as text."""
    lines = [f"- {one['who']}: {one['tool']} `{_json(one['arguments'])}`" for one in calls]
    return "Next:\n" + "\n".join(lines)


def _contract(asked: Mapping[str, Any]) -> str:
    lines = [f"## Contract of {asked['step_name']}"]
    for heading, key in (("Allowed", "allowed_actions"), ("Forbidden", "forbidden_actions")):
        lines += [f"{heading}:", *(f"- {action}" for action in asked[key])] if asked[key] else []
    lines.append(f"Output: {asked['required_output_format']}")
    if "output_schema" in asked:
        lines.append(f"output_schema: `{_json(asked['output_schema'])}`")
    return "\n".join(lines)


_json: Final[Callable[[Value], str]] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
