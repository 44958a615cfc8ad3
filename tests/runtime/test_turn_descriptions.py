"""A workflow whose state is derived from a text: the description is replaced by a draft's."""

from typing import Any

from msgspec.structs import replace

from handrail.engine.model import Authority, Event
from handrail.runtime.gather import DraftResult, FactContext
from helpers.faulty_stores import Recording
from helpers.turns import ORIGIN, Desk, pinned

FLOW = """
workflow: plan
version: 1
authority: description
derive: plan.stage
states: {empty: {}, tasks: {}}
transitions:
  - {id: add, from: empty, trigger: add, draft: {next: plan.with_tasks}, accept: next.ok, to: "@derived",
     do: [{describe: next.text}]}
"""


def test_the_description_becomes_what_the_draft_made_and_the_state_is_read_from_it() -> None:
    text = [""]

    def drafted(_: FactContext) -> DraftResult:
        return DraftResult({"ok": True, "problems": [], "stage": "tasks"}, {"text": "1. tea"})

    more: dict[str, Any] = {
        "readers": lambda: {"plan.stage": lambda _, __: "tasks" if text[-1] else "empty"},
        "drafters": lambda: {"plan.with_tasks": drafted},
        "lifetime": None,
    }
    runs = Recording()
    desk = Desk(runs, more=more)
    run = desk.start(pinned(FLOW), replace(ORIGIN, authority=Authority.DESCRIPTION))["run"]
    told = desk.send(run, Event("add"))

    assert told["status"] == "ok"
    assert runs.turns[-1].describes == "1. tea"
    assert desk.outcomes[-1].facts == {
        "plan.stage": "empty",
        "next.ok": True,
        "next.problems": [],
        "next.stage": "tasks",
    }
    text.append("1. tea")
    assert desk.send(run, Event("add"))["code"] == "no_row"
