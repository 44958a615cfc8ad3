"""Skill graphs: workflows with a tool that is told a skill; each of their states names the one to be done."""

from collections.abc import Iterator
from typing import Final

from handrail.engine.explore import leaving, targets
from handrail.engine.model import Workflow
from handrail.engine.problems import Problem, error, warning

SKILL: Final = "skill"
"""What a state of such a graph names, and what a tool of it is told."""


def skill_of(workflow: Workflow, state: str) -> str:
    """The skill of a state, or empty."""
    return str(workflow.states[state].extra.get(SKILL) or "") if state in workflow.states else ""


def skill_problems(workflow: Workflow) -> Iterator[Problem]:
    """What is wrong with a skill graph; nothing with any other workflow."""
    if not any(SKILL in tool.params for tool in workflow.tools.values()):
        return
    skilled = [name for name in workflow.states if skill_of(workflow, name)]
    for name, state in workflow.states.items():
        if not (state.router or state.terminal or skill_of(workflow, name)):
            message = f"state `{name}` names no skill, so nobody is told what to do in it"
            repair = f"add `face: {{{SKILL}: …}}`, or make it a router"
            yield error("missing-skill", state.place, message, repair)
    for name in skilled:
        for other in _next_stays(workflow, name):
            if skill_of(workflow, other) == skill_of(workflow, name):
                message = (
                    f"`{name}` can lead to `{other}`, and both have the skill `{skill_of(workflow, name)}`: "
                    "without a token, a repeated call is taken for the next one"
                )
                repair = "give one of them another skill, or a state with another between them"
                yield warning("ambiguous-skill", workflow.states[name].place, message, repair)


def _next_stays(workflow: Workflow, state: str) -> list[str]:
    """The states in which a run can stand after one turn in this one, through routers."""
    rows = leaving(workflow)
    seen: dict[str, None] = {}
    todo = [state]
    while todo:
        onward = [target for row in rows[todo.pop()] for target in targets(workflow, row)]
        fresh = [target for target in dict.fromkeys(onward) if target not in seen]
        seen |= dict.fromkeys(fresh)
        todo += [target for target in fresh if workflow.states[target].router]
    return [name for name in seen if not workflow.states[name].router]
