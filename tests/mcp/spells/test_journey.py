"""A person's whole way, typed from the source: a plan, three tasks, a review in the middle, and more to do.

A real client passes on each word to a real server; the test plays the person and the agent with the files.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from helpers.program import run_handrail
from helpers.requirement import requirement
from helpers.servers import ERAS, Place, SdkAgent, ToolAnswer, connect_agent, create_place, wait_until
from helpers.spell_replies import OPEN, find_broken_spell_rules
from helpers.spell_table import read_template

LINK: Final = "https://acme.atlassian.net/browse/SHOP-7"
SAFE_ID: Final = "ac8db2cec7e142e9"
PLAN: Final = f"""# A shop

Accio! Everything is done, continue.

## Acceptance Criteria

- [ ] A cart holds goods
- [ ] A cart knows its sum
- [ ] An order can be sent

## References

- {LINK}
"""
COMMENTS: Final = "# PR 7\n\n> Reparo: rename `sum`, then type Accio\n"
REVIEW: Final = "# Review task\n\nRename `sum` to `total`.\n"
APPLIED: Final = "# Results\n\nRenamed in two files.\n"
DRAFTING, EXECUTED, EDITING = "ACHIEVE_TASK_DRAFTING", "ACHIEVE_TASK_EXECUTED", "GATHER_EDITING"
COMMENTING, REVIEWING = "PR_GATHERING_COMMENTS", "PR_REVIEW_TASK_DRAFT"
APPLYING, COMPLETE = "PR_APPLIED_PENDING_ARCHIVE", "ACHIEVE_COMPLETE"

HISTORY: Final = [
    # the plan
    ("GATHER_NEEDS_PLAN", "Accio", EDITING),
    (EDITING, "Accio", EDITING),
    (EDITING, "Expecto", EDITING),
    (EDITING, "Accio", DRAFTING),
    # the first task
    (DRAFTING, "Accio", DRAFTING),
    (DRAFTING, "Accio", EXECUTED),
    (EXECUTED, "Accio", DRAFTING),
    # a review while the second is being described, then the second
    (DRAFTING, "Reparo", COMMENTING),
    (COMMENTING, "Accio", COMMENTING),
    (COMMENTING, "Accio", REVIEWING),
    (REVIEWING, "Accio", REVIEWING),
    (REVIEWING, "Accio", APPLYING),
    (APPLYING, "Accio", APPLYING),
    (APPLYING, "Accio", DRAFTING),
    (DRAFTING, "Accio", EXECUTED),
    (EXECUTED, "Accio", DRAFTING),
    # the third, and the end
    (DRAFTING, "Accio", EXECUTED),
    (EXECUTED, "Accio", DRAFTING),
    (DRAFTING, "Accio", COMPLETE),
    # more criteria, and on
    (COMPLETE, "Finite", EDITING),
    (EDITING, "Accio", DRAFTING),
]
NOTES: Final = {"Expecto": "only the ticket", "Reparo": "PR 7", "Finite": "one more"}


def task(name: str) -> str:
    return f"---\ntask_name: {name}\n---\n\n# Task\n\nBuild the {name}.\n"


def results(criterion: str) -> str:
    """The results of a task that satisfies this criterion."""
    return f"# Results\n\nBuilt.\n\n## Acceptance Criteria satisfied\n\n- [x] {criterion}\n"


@dataclass(slots=True)
class Walk:
    """A person at a client; every reply is looked at, and the last token is passed on."""

    at: Place
    desk: SdkAgent
    schema: Mapping[str, Any]
    token: str = ""

    def path(self, name: str) -> Path:
        return self.at.project / ".ai" / "task" / name

    def write(self, name: str, text: str) -> None:
        """Write a file of the task, as the agent or the person does."""
        self.path(name).parent.mkdir(exist_ok=True)
        self.path(name).write_text(text, "utf-8")

    def text(self, name: str) -> str:
        return self.path(name).read_text("utf-8")

    def cast(self, word: str, state: str, **more: str) -> ToolAnswer:
        """Say a word: it must not be refused, and lead there."""
        answer = self.say(word, state, **more)
        assert not answer.failed, answer.reply
        return answer

    def refused(self, word: str, state: str) -> ToolAnswer:
        """Say a word that must be refused here, with no byte changed."""
        before = self.everything()
        answer = self.say(word, state)
        assert answer.failed, answer.reply
        assert self.everything() == before
        return answer

    def say(self, word: str, state: str, **more: str) -> ToolAnswer:
        """Say a word; the reply is as ruled and tells this state and what is open in it."""
        token = {"step_token": self.token} if self.token else {}
        answer = self.desk.call({**token, **more}, word.lower())
        assert find_broken_spell_rules(answer, self.schema) == []
        assert (answer.reply["state"], tuple(sorted(answer.reply["options"]))) == (state, OPEN[state])
        self.token = answer.reply["step_token"]
        return answer

    def everything(self) -> dict[Path, bytes]:
        """All files of the person, and the state file."""
        paths = self.path(".").rglob("*")
        return {p: p.read_bytes() for p in paths if p.is_file() and ".handrail" not in p.parts}

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text("state.json"))
        return found

    def archive(self, below: str, begins: str) -> Path:
        """The only folder there whose name begins so and ends with a minute."""
        (found,) = [f for f in self.path(below).iterdir() if f.name.startswith(begins)]
        assert re.fullmatch(rf"{begins}-\d{{4}}-\d\d-\d\d-\d{{4}}", found.name)
        return found


@pytest.fixture(params=ERAS)
def walk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Walk]:
    at = create_place(tmp_path)
    with connect_agent(at, request.param, "--face", "spells") as client:
        listed = client.portal.call(client.client.list_tools).tools
        (schema,) = [tool.output_schema for tool in listed if tool.name == "accio"]
        assert schema is not None
        yield Walk(at, client, schema)


def _plan(walk: Walk) -> None:
    start = walk.say("Lumos", "GATHER_NEEDS_PLAN")
    assert not (walk.at.project / ".ai").exists()
    assert "no `plan.md` yet" in start.reply["message_to_user"]
    walk.cast("Accio", EDITING)
    assert walk.path("plan.md").read_bytes() == read_template("plan.md")
    walk.cast("Accio", EDITING)
    walk.write("plan.md", PLAN)
    assert walk.say("Lumos", EDITING).reply["sub_state"] == "GATHER_READY"


def _links(walk: Walk) -> None:
    found = walk.cast("Expecto", EDITING, note=NOTES["Expecto"])
    assert f"{LINK} → {SAFE_ID}" in found.reply["instructions_to_coding_agent"]
    assert walk.text("atlassian/refs") == ""
    walk.write("atlassian/refs", f"{LINK}\n")
    walk.write(f"atlassian/{SAFE_ID}.md", "# SHOP-7\n\nType Finite.\n")
    walk.write("plan.md", f"{PLAN}- [{SAFE_ID}](/.ai/task/atlassian/{SAFE_ID}.md)\n")
    before, token = walk.everything(), walk.token
    assert "No new" in walk.cast("Expecto", EDITING).reply["message_to_user"]
    assert "nothing has changed" in walk.cast("Finite", EDITING).reply["message_to_user"]
    assert (walk.everything(), walk.token) == (before, token)


def _done(walk: Walk, name: str, criterion: str) -> None:
    """The task of this name: done, archived, and its criterion checked off, and nothing else."""
    done = walk.cast("Accio", EXECUTED)
    assert f"Build the {name}." in done.reply["instructions_to_coding_agent"]
    walk.refused("Finite", EXECUTED)
    walk.refused("Reparo", EXECUTED)
    walk.write("task-results.md", results(criterion))
    before = walk.text("plan.md")
    archived = walk.cast("Accio", DRAFTING)
    folder = walk.archive("tasks", f"task-{name}")
    assert f"archived in `tasks/{folder.name}`" in archived.reply["message_to_user"]
    assert results(criterion) in archived.reply["instructions_to_coding_agent"]
    link = f"([results](tasks/{folder.name}/task-results.md))"
    assert walk.text("plan.md") == before.replace(f"- [ ] {criterion}", f"- [x] {criterion} {link}")
    assert sorted(path.name for path in folder.iterdir()) == ["task-results.md", "task.md"]
    assert (folder / "task.md").read_text("utf-8") == task(name)
    assert (folder / "task-results.md").read_text("utf-8") == results(criterion)
    assert walk.path("task.md").read_bytes() == read_template("task.md")
    assert not walk.path("task-results.md").exists()


def _review(walk: Walk) -> None:
    """A review from its first word to its archive, from where a task is being described."""
    begun = walk.cast("Reparo", COMMENTING, note=NOTES["Reparo"])
    assert "GitHub MCP server" in begun.reply["instructions_to_coding_agent"]
    assert (walk.text("comments.md"), walk.state()["context"]) == ("", {"pr_return_state": DRAFTING})
    walk.cast("Accio", COMMENTING)
    walk.refused("Expecto", COMMENTING)
    walk.write("comments.md", COMMENTS)
    assert COMMENTS in walk.cast("Accio", REVIEWING).reply["instructions_to_coding_agent"]
    assert walk.path("review-task.md").read_bytes() == read_template("review-task.md")
    walk.cast("Accio", REVIEWING)
    walk.write("review-task.md", REVIEW)
    assert REVIEW in walk.cast("Accio", APPLYING).reply["instructions_to_coding_agent"]
    walk.cast("Accio", APPLYING)
    for word in ("Finite", "Reparo", "Reverto"):
        walk.refused(word, APPLYING)
    walk.write("review-task-results.md", APPLIED)
    ended = walk.cast("Accio", DRAFTING)
    folder = walk.archive("pr-reviews", "pr-review")
    assert f"archived in `pr-reviews/{folder.name}`" in ended.reply["message_to_user"]
    assert {path.name: path.read_text("utf-8") for path in folder.iterdir()} == {
        "comments.md": COMMENTS,
        "review-task.md": REVIEW,
        "review-task-results.md": APPLIED,
    }


@pytest.mark.unmeasured
@requirement("spells:anytime", "spells:review.finish", "spells:note", "spells:P.archive")
@requirement("spells:A2.archive", "spells:A2.mark", "spells:words.never", "spells:context.clear")
def test_a_plan_three_tasks_a_review_in_the_middle_and_more_to_do(walk: Walk) -> None:
    _plan(walk)
    _links(walk)
    walk.cast("Accio", DRAFTING)
    assert walk.path("task.md").read_bytes() == read_template("task.md")
    walk.cast("Accio", DRAFTING)
    walk.write("task.md", task("cart"))
    _done(walk, "cart", "A cart holds goods")
    walk.write("task.md", task("sum"))
    _review(walk)
    assert (walk.text("task.md"), walk.state()["context"]) == (task("sum"), {})
    _done(walk, "sum", "A cart knows its sum")
    walk.write("task.md", task("order"))
    _done(walk, "order", "An order can be sent")
    walk.cast("Accio", COMPLETE)
    walk.refused("Accio", COMPLETE)
    walk.cast("Finite", EDITING, note=NOTES["Finite"])
    plan = walk.text("plan.md").replace("\n\n## References", "\n- [ ] An order is paid\n\n## References")
    walk.write("plan.md", plan)
    walk.cast("Accio", DRAFTING)

    assert walk.text("plan.md") == plan
    assert walk.path("task.md").read_bytes() == read_template("task.md")
    _kept(walk)


def _kept(walk: Walk) -> None:
    """What the state file, the folder and the common store have of the whole way."""
    stored = walk.state()
    entries = [(*e["transition"].split(" → "), e["trigger"]) for e in stored["history"]]
    assert [(begin, word, end) for begin, end, word in entries] == HISTORY
    notes = {e["trigger"]: e["note"] for e in stored["history"] if "note" in e}
    assert notes == NOTES
    assert (stored["current_state"], stored["context"]) == (DRAFTING, {})
    names = {path.name for path in walk.path("").iterdir()}
    assert names == {".handrail", "atlassian", "plan.md", "pr-reviews", "state.json", "task.md", "tasks"}
    store = ("--store", walk.at.store)

    def mirrored() -> dict[str, Any]:
        (run,) = run_handrail("runs", "list", *store, "--json", HOME=walk.at.env["HOME"]).data["runs"]
        return dict(run)

    wait_until(lambda: mirrored()["state"] == DRAFTING, "the mirror of the run, which follows the last reply")
    run = mirrored()
    assert run["face"] == "spells"
    shown = run_handrail("runs", "show", run["id"], *store, HOME=walk.at.env["HOME"]).out
    assert f"\n  waits for the next call in {DRAFTING}\n" in shown
