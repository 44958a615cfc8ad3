"""What the lines of expected.csv mean in files: a situation laid out, a spell cast, and what it must leave.

`files` names what is there, as `name=text`; the texts are those of FILES below. `effects` says what a cast
does: `+path` is made from its template (or empty), `path>folder` is moved there, `~plan.md:12` has its first
and second criterion checked off, and whatever is not named is untouched. `-` is nothing, `next` is `refused`
for a refusal, and `history` is `-` where not a byte is written, refused or not. `row` is the row of the
source or of the rulings; a workflow may have several for one of them, each called as it is with more after
`_`.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import handrail
from handrail.app.catalog import read_source
from handrail.app.run_folders import RunFolder
from handrail.documents.state_file import StateFile
from handrail.engine.decide import decide, find_options
from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Actor, Decision, Event, Refused, Workflow
from handrail.engine.paths import find_requirements
from handrail.runtime.gather import FactContext, FileSnapshot, gather_facts
from handrail.runtime.system import LocalFeed, RandomIds
from handrail.runtime.turn import Call, Outcome, take_turn
from handrail.runtime.world import World
from handrail.stores.files.disk import DiskWorkspace
from handrail.stores.files.file_runs import FileRuns
from handrail.workflows.load import load_workflow
from helpers.turns import KEY, NOW, ManualClock

TABLE: Final = Path(__file__).resolve().parent.parent / "mcp" / "spells" / "expected.csv"
HOME: Final = Path(handrail.__file__).parent / "workflows" / "library" / "spells" / "spells"
LINK: Final = "https://acme.atlassian.net/browse/SUM-1"
_OPEN: Final = "# Plan\n\n## Acceptance Criteria\n\n- [ ] Sums two numbers\n- [ ] Refuses text\n"
_PART: Final = "# Plan\n\n## Acceptance Criteria\n\n- [x] Sums two numbers\n- [ ] Refuses text\n"
_RESULTS: Final = "# Results\n\n## Achieved\n\nIt sums.\n\n## Acceptance Criteria satisfied\n\n"
FILES: Final[Mapping[str, tuple[str, str | None]]] = {
    # the plan: as it was made, without a criterion, with two of which none, one or both are checked off
    "plan=template": ("plan.md", None),
    "plan=none": ("plan.md", "# Plan\n\nAccio! We are done, go on.\n\n## Acceptance Criteria\n\nNone yet.\n"),
    "plan=fenced": ("plan.md", "# Plan\n\n## Acceptance Criteria\n\n```\n- [ ] Sums two numbers\n```\n"),
    "plan=open": ("plan.md", _OPEN),
    "plan=crlf": ("plan.md", _OPEN.replace("\n", "\r\n")),
    "plan=part": ("plan.md", _PART),
    "plan=done": ("plan.md", _PART.replace("[ ]", "[x]")),
    "plan=link": ("plan.md", f"{_OPEN}\n## References\n\n- {LINK}\n"),
    # the task: as it was made, with and without a name, with a name that climbs or is none, empty
    "task=template": ("task.md", None),
    "task=own": ("task.md", "---\ntask_name: add-sum\n---\n\n# Task\n\nAdd a function.\n"),
    "task=nameless": ("task.md", "# Task\n\nAdd a function.\n"),
    "task=climbing": ("task.md", "---\ntask_name: ../../etc\n---\n\n# Task\n\nAdd a function.\n"),
    "task=unusable": ("task.md", "---\ntask_name: ///\n---\n\n# Task\n\nAdd a function.\n"),
    "task=empty": ("task.md", ""),
    # the results: they list the first criterion, both, none, one that the plan does not have, nothing at all
    "results=one": ("task-results.md", f"{_RESULTS}- [x] sums  two numbers\n"),
    "results=all": ("task-results.md", f"{_RESULTS}- Sums two numbers\n- Refuses text\n- Refuses text\n"),
    "results=none": ("task-results.md", f"{_RESULTS}- [ ] Sums two numbers\n"),
    "results=unknown": ("task-results.md", f"{_RESULTS}- [x] Sums three numbers\n"),
    "results=empty": ("task-results.md", ""),
    # the review
    "comments=own": ("comments.md", "# PR 7\n\n> Accio: please rename it\n"),
    "comments=empty": ("comments.md", ""),
    "comments=blank": ("comments.md", " \n\t\r\n\n"),
    "review=own": ("review-task.md", "# Review task\n\nRename it.\n"),
    "review=template": ("review-task.md", None),
    "applied=own": ("review-task-results.md", "# Results\n\nRenamed.\n"),
    # links that were fetched: that of the plan, another
    "refs=known": ("atlassian/refs", f"{LINK}\n"),
    "refs=other": ("atlassian/refs", "https://acme.atlassian.net/browse/SUM-2\n"),
    # an archive of the same minute
    "taken=task": ("tasks/task-add-sum-2026-03-01-1200/task.md", "# Another\n"),
    "taken=incomplete": ("tasks/incomplete-task-add-sum-2026-03-01-1200/task.md", "# Another\n"),
    "taken=review": ("pr-reviews/pr-review-2026-03-01-1200/comments.md", "# Another\n"),
    "taken=discarded": ("pr-reviews/discarded-2026-03-01-1200/comments.md", "# Another\n"),
}
CONTEXT: Final = {
    "pr": "pr_return_state",
    "confirm": "confirm_return_state",
    "error": "error_original_state",
}
CRITERIA: Final = ("Sums two numbers", "Refuses text")
PARTS: Final = ["message_to_user", "instructions_to_coding_agent"]


class Line(NamedTuple):
    """A line of the table."""

    state: str
    spell: str
    files: str
    context: str
    row: str
    next: str
    effects: str
    history: str
    after: str

    @property
    def refused(self) -> bool:
        """True if the spell is refused."""
        return self.next == "refused"

    @property
    def unwritten(self) -> bool:
        """True if not a byte of the user's files changes."""
        return self.history == "-"

    @property
    def trigger(self) -> str:
        """The spell without what comes with it."""
        return self.spell.partition(" ")[0]

    def __str__(self) -> str:
        """What is cast where."""
        return f"{self.state} + {self.spell} [{self.files}] [{self.context}]"


def read_lines() -> list[Line]:
    """The table without its head."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [Line(*row) for row in csv.reader(file)][1:]


def load_spells() -> Workflow:
    """The workflow as it comes with Handrail."""
    found = load_workflow(read_source(HOME / "workflow.yaml", "spells"), lambda _: None)
    assert found.workflow, found.problems
    return found.workflow


def build_files(files: str) -> dict[str, bytes]:
    """The files of a situation, by path."""
    found = {}
    for name in split_cell(files):
        path, text = FILES[name]
        found[path] = read_template(path) if text is None else text.encode()
    return found


def split_cell(cell: str) -> list[str]:
    """What a cell lists."""
    return [] if cell == "-" else cell.split(" ")


def read_template(path: str) -> bytes:
    """What a file is made from; some are made empty."""
    file = HOME / path
    return file.read_bytes() if file.exists() else b""


def parse_context(cell: str) -> dict[str, str]:
    """The context of the state file."""
    pairs = (word.split("=") for word in split_cell(cell))
    return {CONTEXT[short]: state for short, state in pairs}


def apply_effects(before: Mapping[str, bytes], effects: str) -> dict[str, bytes]:
    """The files as these effects leave them."""
    after = dict(before)
    folder = ""
    for word in split_cell(effects):
        if ">" in word:
            path, _, folder = word.partition(">")
            after[f"{folder}/{path}"] = after.pop(path)
        elif word.startswith("~"):
            path, _, numbers = word[1:].partition(":")
            for number in numbers:
                old = f"- [ ] {CRITERIA[int(number) - 1]}"
                new = f"{old.replace('[ ]', '[x]')} ([results]({folder}/task-results.md))"
                assert after[path].count(old.encode()) == 1
                after[path] = after[path].replace(old.encode(), new.encode())
        else:
            path = word.removeprefix("+")
            assert path not in after, f"{path} is there already"
            after[path] = read_template(path)
    return after


@dataclass(slots=True)
class SpellScene:
    """A project in the situation of a line."""

    root: Path
    workflow: Workflow
    line: Line

    def __post_init__(self) -> None:
        """Lay it out: real files, and a state file that somebody brought."""
        self.root.mkdir(parents=True)
        for path, data in {**build_files(self.line.files), "state.json": self.state_file()}.items():
            file = self.task / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    @property
    def task(self) -> Path:
        """Where the files of the run are."""
        return self.root / ".ai" / "task"

    def state_file(self) -> bytes:
        """The state file before the cast, with a key that is not ours."""
        history = [{"timestamp": "2026-02-28T09:00:00Z", "transition": "A → B", "trigger": "Lumos"}]
        document = {
            "current_state": self.line.state,
            "context": parse_context(self.line.context),
            "history": history,
            "team": "blue",
        }
        return json.dumps(document).encode()

    def world(self) -> World:
        """The world of a cast."""
        folder, disk = RunFolder(self.root, self.workflow), DiskWorkspace(self.root, self.workflow.folder)
        runs = FileRuns(disk, StateFile(), folder.new_run, folder.origin, self.workflow.states)
        return World(
            runs,
            ManualClock(),
            RandomIds(),
            LocalFeed(),
            KEY,
            lambda *_: self.workflow,
            runs,
            lifetime=None,
        )

    def unread(self) -> list[str]:
        """What the rows of the state name and nobody can read: the line cannot be run."""
        world, wanted = self.world(), find_requirements(self.workflow, self.line.state)
        readers = {name: self.workflow.facts[name].reader for name in wanted.facts}
        facts = [name for name, reader in readers.items() if reader not in world.readers()]
        return sorted([*facts, *(kind for _, kind in wanted.drafts if kind not in world.drafters())])

    def open(self) -> list[str]:
        """The spells that would not be refused, read without writing."""
        asked, facts = self._seen()
        return [option.trigger for option in find_options(self.workflow, asked.run, facts)]

    def row(self) -> str:
        """The row of the workflow that would take the spell, or refuse it."""
        asked, facts = self._seen()
        return _row(decide(self.workflow, asked.run, asked.event, facts))

    def cast(self, spell: str = "") -> Outcome:
        """Cast the spell of the line, or another."""
        outcomes: list[Outcome] = []

        def heard(outcome: Outcome) -> Mapping[str, Any]:
            outcomes.append(outcome)
            return {}

        event = Event(spell, by=Actor.PERSON) if spell else self._event()
        take_turn(self.world(), Call("", event), heard)
        return outcomes[-1]

    def _event(self) -> Event:
        payload = {"resume": True} if self.line.spell.endswith(" resume") else {}
        return Event(self.line.trigger, payload, by=Actor.PERSON, note="as agreed")

    def _seen(self) -> tuple[FactContext, Mapping[str, Value]]:
        world = self.world()
        stored = world.runs.load("")
        assert stored
        asked = FactContext(
            self.workflow, FileSnapshot(world.workspace), stored.run, self._event(), NOW, "boundary"
        )
        return asked, gather_facts(asked, world.readers(), world.drafters()).facts

    def files(self) -> dict[str, bytes]:
        """The files of the user, by path: all but the state file and what keeps it safe."""
        found = (path for path in self.task.rglob("*") if path.is_file())
        named = {path.relative_to(self.task).as_posix(): path.read_bytes() for path in found}
        return {
            path: data
            for path, data in named.items()
            if path != "state.json" and not path.startswith(".handrail/")
        }

    def wrong(self) -> Iterator[str]:
        """What is not as the line says, in the order of its cells."""
        line = self.line
        is_open = line.trigger in self.open()
        if is_open is line.refused:
            yield f"options: {line.trigger} is {'open' if is_open else 'closed'}"
        if (self.task / ".handrail").exists() or (self.task / "state.json").read_bytes() != self.state_file():
            yield "looking wrote something"
        outcome = self.cast()
        yield from self._decided(outcome)
        yield from self._kept()
        if [list(text) for text in outcome.texts] != [PARTS]:
            yield f"texts: {outcome.texts}"

    def _decided(self, outcome: Outcome) -> Iterator[str]:
        decision, line = outcome.decision, self.line
        row = _row(decision)
        target = decision.code if isinstance(decision, Refused) else decision.run.open[0].state
        if (row.partition("_")[0], target) != (line.row.replace("/", "-"), line.next):
            yield f"row and next: {row} {target}"

    def _kept(self) -> Iterator[str]:
        line, document = self.line, json.loads(self.state_file())
        if line.unwritten and (self.task / "state.json").read_bytes() != self.state_file():
            yield "the state file was written"
        if not line.unwritten:
            entry = {
                "timestamp": "2026-03-01T12:00:00Z",
                "transition": line.history,
                "trigger": line.trigger,
                "note": "as agreed",
            }
            document["current_state"] = line.next
            document["context"] = parse_context(line.after)
            document["history"].append(entry)
        found = json.loads((self.task / "state.json").read_bytes())
        if found != document:
            yield f"state.json: {found} instead of {document}"
        expected, files = apply_effects(build_files(line.files), line.effects), self.files()
        for path in sorted(expected.keys() | files.keys()):
            if expected.get(path) != files.get(path):
                yield f"{path}: {files.get(path)!r} instead of {expected.get(path)!r}"


def _row(decision: Decision) -> str:
    if isinstance(decision, Refused):
        return decision.rule
    assert isinstance(decision, Accepted)
    return decision.moves[0].row
