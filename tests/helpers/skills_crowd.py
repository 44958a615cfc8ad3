"""Many processes at one session. Run as a program: `python -m helpers.skills_crowd <folder> <how many>`.

It forks while it has one thread and nothing open; all children begin at once, and each tells one JSON value.
"""

import json
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from handrail.runtime.errors import Busy
from helpers.skill_sessions import open_skill_agent, write_design
from helpers.sqlite_crowd import ProcessReport, run_together

LAST: Final = "ready-to-implement"


def complete_skills(folder: Path, number: int) -> ProcessReport:  # noqa: ARG001 - each does the same
    """One of many that report whatever skill is expected as they look, until there is nothing to document.

    Who hears that others were there for too long sends the same call again, as they are told.
    """
    won, lost = list[tuple[str, str]](), list[str]()
    skill = "collab-start"
    with open_skill_agent(folder) as agent:
        while True:
            with suppress(Busy):
                answer = agent.completes(skill)
                if answer.failed:
                    lost.append(answer.reply["code"])
                else:
                    won.append((answer.reply["state"], answer.reply["step_token"]))
                shown = agent.looks().reply
                if shown["state"] == LAST:
                    return {"won": won, "lost": lost}
                skill = shown["next_skill"]


def main(folder: Path, count: int) -> None:
    documents = folder / "project" / ".collab" / "sessions" / "demo" / "documents"
    documents.mkdir(parents=True)
    (documents / "design.md").write_text(write_design(["bugfix"] * 3), "utf-8")
    sys.stdout.write(json.dumps(run_together(count, partial(complete_skills, folder))))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
