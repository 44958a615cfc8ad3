"""What the face `spells` answers in every state to every word: both forms hold, and what is open is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from handrail.app.app import App
from handrail.app.projects import Projects
from handrail.app.stores import open_store
from handrail.app.trust import TrustStore
from handrail.engine.refusals import RefusalCode
from handrail.mcp.faces.spells import SpellsFace
from handrail.runtime.ports.open_store import Store
from handrail.runtime.records import Caller
from helpers.requirement import requirement
from helpers.servers import ToolAnswer
from helpers.spell_replies import OPEN, find_broken_spell_rules
from helpers.spell_table import FILES, Line, SpellScene, load_spells, read_lines

FLOW: Final = load_spells()
WORDS: Final = ("Accio", "Expecto", "Reparo", "Reverto", "Finite")
SCENES: Final = 113
QUOTING: Final = 11
"""How many situations there are, and how many of them quote a file."""

OURS: Final = {"References", "Acceptance Criteria", "Acceptance Criteria satisfied"}
"""Headings, which our texts name too."""

LATER: Final = {
    "GATHER_NEEDS_PLAN": ("`task", "task-results", "review-task", "comments.md"),
    "GATHER_EDITING": ("task-results", "review-task", "comments.md"),
    "ACHIEVE_TASK_DRAFTING": ("task-results.md`", "review-task", "comments.md"),
    "ACHIEVE_TASK_EXECUTED": ("`tasks/", "review-task", "comments.md", "next task"),
    "ACHIEVE_COMPLETE": ("task.md", "review-task", "comments.md"),
    "PR_GATHERING_COMMENTS": ("review-task", "pr-reviews/"),
    "PR_REVIEW_TASK_DRAFT": ("review-task-results", "pr-reviews/"),
    "PR_APPLIED_PENDING_ARCHIVE": ("pr-reviews/", "`task.md", "next task"),
    "PR_CONFIRM_RESTART_COMMENTS": ("review-task", "pr-reviews/"),
    "PR_CONFIRM_RESTART_TASK": ("review-task-results", "pr-reviews/"),
    "ERROR_TASK_MISSING": ("task-results", "review-task", "comments.md"),
    "ERROR_TASK_RESULTS_MISSING": ("`tasks/", "review-task", "comments.md"),
    "ERROR_PLAN_MISSING": ("task.md", "task-results", "review-task", "comments.md"),
    "ERROR_COMMENTS_MISSING": ("review-task-results", "pr-reviews/"),
    "ERROR_REVIEW_TASK_MISSING": ("review-task-results", "pr-reviews/"),
}
"""What belongs to steps that come after the next one."""

ONE_GO: Final = {"expecto.block", "R1", "C1", "C3", "E5", "P2"}
"""The rows whose answer has steps in it, for they are done in one go: the one-shot blocks of the source."""

STOPS: Final = (
    "Then wait: only a spell that the user types moves the workflow.",
    "emain in *Gather Acceptance Criteria*",
    "Touch no file",
    "Do not write",
)
"""How an agent is told that there is nothing to do beyond this."""

QUOTED: Final = re.compile(r"\[([0-9a-f]{12,}) begins: [^\n]*untrusted[^\n]*\]\n.*?\[\1 ends\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who says words in a project; each answer is as ruled."""

    scene: SpellScene
    face: SpellsFace

    def says(self, word: str, **arguments: object) -> ToolAnswer:
        (tool,) = [tool for tool in self.face.tools if tool.names == (word.lower(),)]
        answer = self.face.call(tool, arguments, Caller(client="bench 1"))
        reply = ToolAnswer(dict(answer.reply), answer.text, answer.failed)
        assert find_broken_spell_rules(reply, tool.listed["outputSchema"]) == [], str(self.scene.line)
        return reply

    def everything(self) -> dict[str, bytes]:
        found = (path for path in self.scene.root.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("store") / "handrail.db") as opened:
        yield opened


def person(served: Store, root: Path, line: Line) -> Person:
    scene = SpellScene(root, FLOW, line)
    return Person(scene, SpellsFace(App(served, Projects([root], TrustStore())), FLOW, lambda: None))


def situations() -> list[Line]:
    """One line for each row that is taken or refuses in a state, without what comes with the word."""
    found = {(line.state, line.row): line for line in read_lines() if " " not in line.spell}
    return list(found.values())


def plain(state: str) -> Line:
    """A line with a plan and a task in this state, whatever is said."""
    return next(line for line in read_lines() if line.state == state)


@pytest.mark.unmeasured
@requirement("spells:options.computed", "spells:reply.dual")
def test_a_word_is_listed_if_and_only_if_it_would_not_be_refused(
    served: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = situations()
    for number, line in enumerate(found):
        shown = person(served, tmp_path / f"{number}", line).says("Lumos").reply["options"]
        for word in WORDS:
            somebody = person(served, tmp_path / f"{number}-{word}", line)
            answer = somebody.says(word)
            assert answer.failed is (word not in shown), f"{line}: {word}, open are {shown}"
            after = shown if answer.failed else somebody.says("Lumos").reply["options"]
            assert answer.reply["options"] == after, f"{line}: {word}"
        assert "Lumos" in shown

    with capsys.disabled():
        print(f" [{len(found)} situations]", end="")  # noqa: T201 - the count
    assert len(found) == SCENES


@requirement("spells:lumos.map", "spells:lumos.readonly")
@pytest.mark.parametrize("state", OPEN)
def test_lumos_explains_a_state_and_its_next_action_and_writes_nothing(
    served: Store, tmp_path: Path, state: str
) -> None:
    files = "plan=none task=own" if state == "GATHER_EDITING" else "-"
    somebody = person(served, tmp_path / "p", plain(state)._replace(files=files, context="-"))
    before = somebody.everything()

    answer = somebody.says("Lumos")

    assert somebody.everything() == before
    assert (answer.reply["state"], tuple(sorted(answer.reply["options"]))) == (state, OPEN[state])
    assert "sub_state" not in answer.reply
    assert _named(answer)
    assert set(_named(answer)) <= set(OPEN[state])


@requirement("spells:lumos.map")
def test_a_plan_with_a_criterion_is_ready(served: Store, tmp_path: Path) -> None:
    none, ready = (
        person(served, tmp_path / files, plain("GATHER_EDITING")._replace(files=files)).says("Lumos").reply
        for files in ("plan=none", "plan=open")
    )

    assert (ready["state"], ready["sub_state"]) == ("GATHER_EDITING", "GATHER_READY")
    assert ready["message_to_user"] != none["message_to_user"]


CLOSED: Final = [
    # typed from the guards of the source: Expecto in GATHER only, Reparo and Reverto not while results wait
    *[("Expecto", state) for state in list(OPEN)[2:]],
    ("Reparo", "ACHIEVE_TASK_EXECUTED"),
    ("Reparo", "PR_APPLIED_PENDING_ARCHIVE"),
    ("Reparo", "ERROR_PLAN_MISSING"),
    ("Reparo", "ERROR_REVIEW_TASK_MISSING"),
    *[("Reverto", state) for state in list(OPEN)[:5]],
    ("Reverto", "PR_APPLIED_PENDING_ARCHIVE"),
    *[("Reverto", state) for state in list(OPEN)[10:]],
    ("Finite", "GATHER_NEEDS_PLAN"),
    ("Finite", "ACHIEVE_TASK_EXECUTED"),
    ("Finite", "PR_APPLIED_PENDING_ARCHIVE"),
    ("Finite", "ERROR_PLAN_MISSING"),
    ("Finite", "ERROR_REVIEW_TASK_MISSING"),
    ("Accio", "ACHIEVE_COMPLETE"),
]
WHOLE: Final = "plan=open task=own results=one comments=own review=own applied=own"


@requirement("spells:guard.expecto", "spells:guard.reparo", "spells:guard.reverto", "spells:F1", "spells:A6")
@pytest.mark.parametrize(("word", "state"), CLOSED)
def test_a_refusal_names_what_is_open_and_why_and_changes_no_file_of_the_person(
    served: Store, tmp_path: Path, word: str, state: str
) -> None:
    for number, files in enumerate((WHOLE, "plan=open")):
        somebody = person(served, tmp_path / f"{number}", plain(state)._replace(files=files, context="-"))
        before = somebody.everything()

        answer = [somebody.says(word), somebody.says(word, note="I mean it")]
        answer += [somebody.says(word, resume=True)] if word == "Reparo" else []

        after = {path: data for path, data in somebody.everything().items() if "/.handrail/" not in path}
        assert after == before
        for one in answer:
            assert (one.failed, one.reply["code"], one.reply["state"]) == (True, RefusalCode.REFUSED, state)
            assert tuple(sorted(one.reply["options"])) == OPEN[state]
            assert one.reply["why"]["rule"]
            assert word == "Reverto" or set(_named(one)) & set(OPEN[state])


def test_a_word_is_closed_in_those_states_and_in_no_others() -> None:
    closed = {(word, state) for state, open_ in OPEN.items() for word in WORDS if word not in open_}

    assert set(CLOSED) == closed


@requirement("spells:persist.authority")
@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize("files", [WHOLE, "-", "plan=done", "comments=own", "applied=own"])
def test_the_state_file_decides_the_state_with_any_files(
    served: Store, tmp_path: Path, state: str, files: str
) -> None:
    somebody = person(served, tmp_path / "p", plain(state)._replace(files=files, context="-"))

    assert somebody.says("Lumos").reply["state"] == state


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"colour": "red"}, RefusalCode.ARGUMENTS),
        ({"step_token": "A" * 72}, RefusalCode.FORGED),
        ({}, RefusalCode.SUPERSEDED),
    ],
)
def test_a_refusal_for_an_argument_or_a_token_says_what_is_open_and_has_the_token_for_it(
    served: Store, tmp_path: Path, arguments: dict[str, str], code: str
) -> None:
    somebody = person(served, tmp_path / "p", plain("GATHER_EDITING")._replace(files="plan=none"))
    old = somebody.says("Accio").reply["step_token"]
    somebody.says("Accio")

    answer = somebody.says("Accio", **(arguments or {"step_token": old}))

    assert (answer.reply["code"], tuple(sorted(answer.reply["options"]))) == (code, OPEN["GATHER_EDITING"])
    assert "Open are: Accio" in answer.reply["message_to_user"]
    assert not somebody.says("Accio", step_token=answer.reply["step_token"]).failed


def test_a_look_before_the_start_returns_a_token_for_the_first_word(served: Store, tmp_path: Path) -> None:
    somebody = person(served, tmp_path / "p", plain("GATHER_NEEDS_PLAN")._replace(files="-", context="-"))
    (somebody.scene.task / "state.json").unlink()
    token = somebody.says("Lumos").reply["step_token"]

    first, again = (somebody.says("Accio", step_token=token).reply for _ in range(2))

    assert first["state"] == "GATHER_EDITING"
    assert again == first


@requirement("spells:reply.one")
def test_a_reply_quotes_files_between_boundaries_and_names_only_the_next_action(
    served: Store, tmp_path: Path
) -> None:
    quoted = 0
    for number, line in enumerate(situations()):
        answer = person(served, tmp_path / f"{number}", line).says(line.trigger)
        said = answer.reply["instructions_to_coding_agent"]
        pieces = QUOTED.split(said)
        ours = "\n".join([answer.reply["message_to_user"], *pieces[::2]])
        texts = [FILES[name][1] or "" for name in line.files.split(" ") if name in FILES]
        theirs = [_bare(one) for text in texts for one in text.splitlines()]
        later = () if answer.failed else LATER[answer.reply["state"]]
        assert [one for one in theirs if len(one) > len("# Results") and one in ours] == [], line
        assert [one for one in later if one in ours] == [], line
        assert [stop for stop in STOPS if stop in ours], line
        in_one_go = line.row in ONE_GO and not line.refused
        assert bool(re.search(r"^\d+\. ", ours, re.MULTILINE)) is in_one_go, line
        assert answer.failed or set(_named(answer)) <= set(answer.reply["options"]), line
        quoted += len(pieces) > 1

    assert quoted == QUOTING


def _named(answer: ToolAnswer) -> list[str]:
    """The words that the person is told to type."""
    return re.findall(r"\*\*(\w+)(?:: resume)?\*\*", answer.reply["message_to_user"])


def _bare(line: str) -> str:
    """A line without the marks of a list, a heading or a quote; empty if it may stand in our texts."""
    bare = line.strip().lstrip("#->[x] ").strip()
    return "" if bare in OURS else bare


def test_the_guide_lists_the_words_that_are_open_in_each_state() -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "spells.md").read_text("utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.*) \|$", page.replace(" (with a `plan.md`)", ""), re.MULTILINE)

    assert {state: tuple(words.split(", ")) for state, words in rows} == OPEN
