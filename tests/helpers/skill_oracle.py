"""What a session of skills must answer, written by hand from the ruled table; it reads nothing of ours."""

from dataclasses import dataclass, field
from typing import Any, Final

TABLE: Final = """
collab-start           collab-start                   gather-goals
gather-goals           gather-session-goals           clear-pre-item
clear-pre-item         collab-clear                   work-item-router
work-item-router       -                              ?
brainstorm-exploring   brainstorming-exploring        clear-bs1
clear-bs1              collab-clear                   brainstorm-clarifying
brainstorm-clarifying  brainstorming-clarifying       clear-bs2
clear-bs2              collab-clear                   brainstorm-designing
brainstorm-designing   brainstorming-designing        clear-bs3
clear-bs3              collab-clear                   brainstorm-validating
brainstorm-validating  brainstorming-validating       item-type-router
item-type-router       -                              ?
clear-pre-rough        collab-clear                   rough-draft-interface
rough-draft-interface  rough-draft-interface          clear-rd1
clear-rd1              collab-clear                   rough-draft-pseudocode
rough-draft-pseudocode rough-draft-pseudocode         clear-rd2
clear-rd2              collab-clear                   rough-draft-skeleton
rough-draft-skeleton   rough-draft-skeleton           clear-rd3
clear-rd3              collab-clear                   build-task-graph
build-task-graph       build-task-graph               clear-rd4
clear-rd4              collab-clear                   rough-draft-handoff
rough-draft-handoff    rough-draft-handoff            clear-post-item
task-planning          task-planning                  clear-post-item
systematic-debugging   systematic-debugging           clear-post-item
clear-post-item        collab-clear                   work-item-router
ready-to-implement     ready-to-implement             clear-pre-execute
clear-pre-execute      collab-clear                   batch-router
batch-router           -                              ?
execute-batch          executing-plans                log-batch-complete
log-batch-complete     -                              clear-post-batch
clear-post-batch       collab-clear                   batch-router
workflow-complete      finishing-a-development-branch cleanup
cleanup                collab-cleanup                 done
done                   -                              -
"""
ROWS: Final = {state: (skill, after) for state, skill, after in map(str.split, TABLE.strip().splitlines())}
SKILLS: Final = {state: None if skill == "-" else skill for state, (skill, _) in ROWS.items()}
ROUTERS: Final = ("work-item-router", "item-type-router", "batch-router", "log-batch-complete")
DOCUMENTING: Final = ("rough-draft-handoff", "task-planning", "systematic-debugging")
PHASES: Final = {
    "clear-pre-rough": "rough-draft/interface",
    "rough-draft-interface": "rough-draft/interface",
    "clear-rd1": "rough-draft/pseudocode",
    "rough-draft-pseudocode": "rough-draft/pseudocode",
    "clear-rd2": "rough-draft/skeleton",
    "rough-draft-skeleton": "rough-draft/skeleton",
    "clear-rd3": "rough-draft/build-task-graph",
    "build-task-graph": "rough-draft/build-task-graph",
    "clear-rd4": "rough-draft/handoff",
    "rough-draft-handoff": "rough-draft/handoff",
    "ready-to-implement": "implementation",
    "clear-pre-execute": "implementation",
    "execute-batch": "implementation",
    "clear-post-batch": "implementation",
    "workflow-complete": "complete",
    "cleanup": "complete",
    "done": "complete",
}
"""Every other state is `brainstorming`."""


@dataclass(slots=True)
class Oracle:
    """A session with items of these types, and batches of these tasks; `left` are the items still pending."""

    types: tuple[str, ...]
    batches: tuple[tuple[str, ...], ...]
    state: str = "collab-start"
    item: int | None = None
    batch: int | None = None
    executed: int = 0
    done: list[int] = field(default_factory=list)

    @property
    def skill(self) -> str | None:
        return SKILLS[self.state]

    @property
    def left(self) -> list[int]:
        """The items that are pending, by their numbers."""
        return [number for number in range(1, len(self.types) + 1) if number not in self.done]

    def complete(self) -> dict[str, Any]:
        """The reply to the skill that is expected, without its token."""
        if self.state in DOCUMENTING:
            assert self.item is not None
            self.done.append(self.item)
            self.item = None
        if self.state == "execute-batch":
            self.executed, self.batch = self.executed + 1, None
        self.state = ROWS[self.state][1]
        while self.state in ROUTERS:
            self.state = self._routed()
        return self.reply()

    def _routed(self) -> str:
        if self.state == "work-item-router":
            if not self.left:
                return "ready-to-implement"
            self.item = self.left[0]
            bug = self.types[self.item - 1] == "bugfix"
            return "systematic-debugging" if bug else "brainstorm-exploring"
        if self.state == "item-type-router":
            assert self.item is not None
            return "clear-pre-rough" if self.types[self.item - 1] == "code" else "task-planning"
        if self.state == "batch-router":
            if self.executed == len(self.batches):
                return "workflow-complete"
            self.batch = self.executed
            return "execute-batch"
        return "clear-post-batch"

    def reply(self) -> dict[str, Any]:
        params = {"item_number": self.item, "batch_index": self.batch}
        return {
            "next_skill": self.skill,
            "params": {name: value for name, value in params.items() if value is not None},
            "action": "clear" if self.state.startswith("clear-") else "none",
            "state": self.state,
        }
