"""What a face costs an agent in bytes: the list of its tools, and all replies of a run; and what they may."""

import json
from collections.abc import Iterator
from typing import Final

from handrail.app.faces import StepsStatus
from helpers.library_outputs import GIVEN, HONEST
from helpers.servers import Desk, Told, note

LISTED: Final = {"commits": 30_000, "planner": 9_000, "skills": 4_800, "spells": 8_000, "steps": 2_200}
"""How many bytes `tools/list` of each face may have, with output schemas and all that the era adds."""

DELIVERED: Final = 30_000
"""How many bytes a run of six steps may deliver."""


def compact(value: object) -> str:
    """As JSON, without a blank that could be left out."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def size(value: object) -> int:
    """How many bytes that has."""
    return len(compact(value).encode())


def delivered(told: Told) -> int:
    """What an agent is given by a reply: the larger of its two forms."""
    return max(size(told.reply), len(told.text.encode()))


def walked(desk: Desk, workflow: str) -> Iterator[Told]:
    """Every reply of a run that an honest agent takes to its end."""
    told = desk.start(workflow, goal="Something worth doing.", inputs=GIVEN.get(workflow, {}))
    yield told
    while told.reply["status"] != StepsStatus.TASK_CLOSED:
        step = told.reply["next_step_contract"]["step_name"]
        kind, more = HONEST[workflow][step] if workflow in HONEST else ("note", {})
        artifact = {"type": kind, "title": "What was found", "content": "As it was found."}
        told = desk.go_on(told.token, **note(artifacts=[artifact], confidence=0.9, **more))
        assert not told.failed, told.text
        yield told
