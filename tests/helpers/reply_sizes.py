"""What a face costs an agent in bytes: the list of its tools, and all replies of a run; and what they may."""

import json
from collections.abc import Iterator
from typing import Final

from handrail.app.faces import StepsStatus
from helpers.library_outputs import GIVEN, HONEST
from helpers.servers import ToolAnswer, ToolClient, build_note_output

LISTED: Final = {"commits": 30_000, "planner": 9_000, "skills": 4_800, "spells": 8_000, "steps": 2_200}
"""How many bytes `tools/list` of each face may have, with output schemas and all that the era adds."""

DELIVERED: Final = 30_000
"""How many bytes a run of six steps may deliver."""


def format_compact_json(value: object) -> str:
    """As JSON, without a blank that could be left out."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def count_bytes(value: object) -> int:
    """How many bytes that has."""
    return len(format_compact_json(value).encode())


def count_delivered_bytes(answer: ToolAnswer) -> int:
    """What an agent is given by a reply: the larger of its two forms."""
    return max(count_bytes(answer.reply), len(answer.text.encode()))


def walk_workflow(client: ToolClient, workflow: str) -> Iterator[ToolAnswer]:
    """Every reply of a run that an honest agent takes to its end."""
    answer = client.start(workflow, goal="Something worth doing.", inputs=GIVEN.get(workflow, {}))
    yield answer
    while answer.reply["status"] != StepsStatus.TASK_CLOSED:
        step = answer.reply["next_step_contract"]["step_name"]
        kind, more = HONEST[workflow][step] if workflow in HONEST else ("note", {})
        artifact = {"type": kind, "title": "What was found", "content": "As it was found."}
        answer = client.continue_run(
            answer.token, **build_note_output(artifacts=[artifact], confidence=0.9, **more)
        )
        assert not answer.failed, answer.text
        yield answer
