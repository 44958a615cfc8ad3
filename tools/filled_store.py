"""A store as a team has it after three weeks: runs played by a clock, then real calls through every face."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from handrail.engine.lifecycle import ABANDON, CONTINUE, DIVERGE, FAIL, PAUSE
from helpers import face_runs
from helpers.program import run_command
from helpers.repositories import create_repository
from helpers.servers import Pipe, Place, create_place
from tools.sample_store import OUTPUTS, Played

RUNS: Final = 60
DAYS: Final = 21
GOALS: Final = (
    "Saving a file twice loses the second change",
    "The window forgets its size",
    "Search finds nothing behind an umlaut",
    "Undo skips a step after paste",
    "The icon is too small on a dense screen",
    "Opening a folder of ten thousand files hangs",
    "A tab that was moved is drawn twice",
    "Printing cuts the last line",
)
RULE: Final = """---
about: Secrets stay secret
workflows: [bug-fix, feature]
---
# Secrets

Never print a secret, and never commit one.

| Instead of | write |
|:--|:--|
| the password | the name of the variable |
| a token | its first four letters |
"""
WRONG: Final = """\
workflow: nightly
version: 1
authority: sql
about: What runs every night
states:
  collect: {agent: implementer, task: Collect what changed.}
  report: {agent: writer, task: Write it down.}
  lost: {agent: writer, task: Nobody comes here.}
  done: {terminal: true}
transitions:
  - {id: N1, from: collect, trigger: continue, to: report}
  - {id: N2, from: report, trigger: continue, to: done}
  - {id: N3, from: lost, trigger: continue, to: done}
"""


@dataclass(frozen=True, slots=True)
class House(Place):
    """A place whose project is called like its folder."""

    @property
    def project(self) -> Path:
        """The project."""
        return self.folder / self.folder.name


def _house(folder: Path) -> House:
    create_place(folder).project.rename(folder / folder.name)
    return House(folder)


@dataclass(frozen=True, slots=True)
class Filled:
    """The store, where it lies, and a run of each face."""

    at: Place
    runs: dict[str, str]


def filled(folder: Path) -> Filled:
    """Make one below this folder."""
    at = _house(folder / "editor")
    (at.project / ".handrail" / "workflows" / "nightly.yaml").write_text(WRONG, "utf-8")
    rules = at.project / ".handrail" / "guardrails"
    rules.mkdir()
    (rules / "secrets.md").write_text(RULE, "utf-8")
    create_repository("git", at.project, at.folder / "home")
    at.store.parent.mkdir(mode=0o700)
    _past(at)
    _steps(at)
    for play in (face_runs.play_spells, face_runs.play_skills, face_runs.play_planner):
        play(at)
    other = _house(folder / "kettle")
    create_repository("git", other.project, other.folder / "home")
    face_runs.play_commits(other, at)
    hides = at.project / ".handrail" / "agents"
    hides.mkdir()
    (hides / "tester.md").write_text("---\nabout: Breaks things\n---\nTry to break it.\n", "utf-8")
    return Filled(at, _runs(at))


def _past(at: Place) -> None:
    """What was done in three weeks: the same each time, but for the day on which it ends."""
    chance = random.Random(7)  # noqa: S311 - it shall be the same each time
    begins = datetime.now(UTC) - timedelta(days=DAYS)
    with Played(at.store) as play:
        for number in range(RUNS):
            spread = timedelta(minutes=number * DAYS * 24 * 60 // RUNS + chance.randrange(180))
            play.clock.at = begins + spread
            run = play.start(chance.choice(GOALS), project=str(at.project))
            _played(play, run, chance)


def _played(play: Played, run: str, chance: random.Random) -> None:
    how = chance.random()
    steps = len(OUTPUTS) if how < 0.62 else chance.randrange(len(OUTPUTS))
    for brought in OUTPUTS[:steps]:
        play.clock.at += timedelta(minutes=chance.expovariate(1 / 18))
        if chance.random() < 0.3:
            play.send(run, CONTINUE, {**brought, "artifacts": []})
        play.send(run, CONTINUE, brought)
    if steps < len(OUTPUTS):
        play.clock.at += timedelta(minutes=chance.expovariate(1 / 90))
        trigger, why = chance.choice(
            [(ABANDON, "obsolete")] * 4 + [(FAIL, "no way to reproduce it"), (DIVERGE, "mended by hand")]
        )
        play.send(run, trigger, note=why)


def _steps(at: Place) -> None:
    with Pipe(at, "--face", "steps") as agent:
        paused = agent.start("walk", goal="Move the settings into one file")
        answer = agent.continue_run(paused.token)
        agent.continue_run(answer.token)
        agent.control(paused.run, PAUSE, reason="waiting for the release")
        under_way = agent.start("bug-fix", goal="The editor forgets the cursor", inputs={"report": GOALS[0]})
        agent.call({"step_token": under_way.token, "model_output_so_far": {**OUTPUTS[0], "artifacts": []}})
        _commented(at, under_way.run, "The cursor is lost only when two windows show the same file.")
        agent.call({"step_token": under_way.token, "model_output_so_far": OUTPUTS[0]})
        _commented(at, under_way.run, "Please keep the old name of the setting.\n\nWe ship on *Thursday*.")


def _commented(at: Place, run: str, text: str) -> None:
    said = run_command("runs", "comment", run, text, "--store", at.store, cwd=at.folder)
    if said.status:
        raise SystemExit(said.err)


def _runs(at: Place) -> dict[str, str]:
    listed = run_command("runs", "list", "--store", at.store, "--json", cwd=at.folder).data["runs"]
    found: dict[str, str] = {}
    for run in listed:
        found.setdefault(run["face"] if run["face"] != "steps" else run["lifecycle"], run["id"])
    return found
