"""The public Python API for plans: parse, validate, edit, convert and format the plan in a commit message.

These names and this import path are stable; the code is in `handrail.documents.plan`.
"""

from handrail.documents.plan.convert import convert_plan as convert
from handrail.documents.plan.edit import finish_plan as finished
from handrail.documents.plan.edit import mark_task
from handrail.documents.plan.edit import reopen_plan as unfinished
from handrail.documents.plan.edit import set_constraints as with_constraints
from handrail.documents.plan.edit import set_description as with_description
from handrail.documents.plan.edit import set_goal as with_goal
from handrail.documents.plan.edit import set_tasks as with_tasks
from handrail.documents.plan.format import format_plan
from handrail.documents.plan.grammar import (
    COMMIT_MESSAGE,
    COMMITS,
    MARKDOWN_TASKS,
    PRESETS,
    STRICT,
    YAML_LIKE,
    Dialect,
    PlanConfig,
)
from handrail.documents.plan.model import Plan
from handrail.documents.plan.parse import parse_any
from handrail.documents.plan.parse import parse_plan as parse
from handrail.documents.plan.stages import decide_type, detect_stage
from handrail.documents.plan.stages import measure_progress as progress
from handrail.documents.plan.validate import create_config, is_validated, validate_config
from handrail.documents.plan.validate import validate_plan as validate

__all__ = [
    "COMMITS",
    "COMMIT_MESSAGE",
    "MARKDOWN_TASKS",
    "PRESETS",
    "STRICT",
    "YAML_LIKE",
    "Dialect",
    "Plan",
    "PlanConfig",
    "convert",
    "create_config",
    "decide_type",
    "detect_stage",
    "finished",
    "format_plan",
    "is_validated",
    "mark_task",
    "parse",
    "parse_any",
    "progress",
    "unfinished",
    "validate",
    "validate_config",
    "with_constraints",
    "with_description",
    "with_goal",
    "with_tasks",
]
