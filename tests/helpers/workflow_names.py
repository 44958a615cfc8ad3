"""The names that belong to workflows and so to no Python file, typed from the source documents."""

from typing import Final

SPELLS: Final = ("accio", "expecto", "reparo", "reverto", "finite", "lumos")

SPELL_STATES: Final = (
    "GATHER_NEEDS_PLAN",
    "GATHER_EDITING",
    "GATHER_READY",
    "ACHIEVE_TASK_DRAFTING",
    "ACHIEVE_TASK_EXECUTED",
    "ACHIEVE_COMPLETE",
    "PR_GATHERING_COMMENTS",
    "PR_REVIEW_TASK_DRAFT",
    "PR_APPLIED_PENDING_ARCHIVE",
    "PR_CONFIRM_RESTART_COMMENTS",
    "PR_CONFIRM_RESTART_TASK",
    "ERROR_TASK_MISSING",
    "ERROR_TASK_RESULTS_MISSING",
    "ERROR_PLAN_MISSING",
    "ERROR_COMMENTS_MISSING",
    "ERROR_REVIEW_TASK_MISSING",
)

SKILL_STATES: Final = (
    "collab-start",
    "gather-goals",
    "clear-pre-item",
    "work-item-router",
    "brainstorm-exploring",
    "clear-bs1",
    "brainstorm-clarifying",
    "clear-bs2",
    "brainstorm-designing",
    "clear-bs3",
    "brainstorm-validating",
    "item-type-router",
    "clear-pre-rough",
    "rough-draft-interface",
    "clear-rd1",
    "rough-draft-pseudocode",
    "clear-rd2",
    "rough-draft-skeleton",
    "clear-rd3",
    "build-task-graph",
    "clear-rd4",
    "rough-draft-handoff",
    "task-planning",
    "systematic-debugging",
    "clear-post-item",
    "ready-to-implement",
    "clear-pre-execute",
    "batch-router",
    "execute-batch",
    "log-batch-complete",
    "clear-post-batch",
    "workflow-complete",
    "cleanup",
    "done",
)

SKILLS: Final = (
    "collab-start",
    "gather-session-goals",
    "collab-clear",
    "brainstorming-exploring",
    "brainstorming-clarifying",
    "brainstorming-designing",
    "brainstorming-validating",
    "rough-draft-interface",
    "rough-draft-pseudocode",
    "rough-draft-skeleton",
    "build-task-graph",
    "rough-draft-handoff",
    "task-planning",
    "systematic-debugging",
    "ready-to-implement",
    "executing-plans",
    "finishing-a-development-branch",
    "collab-cleanup",
)

NAMES: Final = frozenset(SPELLS + SPELL_STATES + SKILL_STATES + SKILLS)
