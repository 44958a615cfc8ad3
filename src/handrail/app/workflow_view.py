"""Show a workflow: as text for a terminal (`format_workflow`) and as JSON data (`workflow_data`)."""

from collections.abc import Iterator

import msgspec

from handrail.documents.text import escape_for_terminal
from handrail.engine.model import (
    State,
    Stay,
    ToDerived,
    ToState,
    ToVariable,
    Transition,
    Variable,
    Workflow,
)


def format_workflow(workflow: Workflow, origin: str) -> str:
    """Format a workflow in a few lines per state, with control characters escaped."""
    return "\n".join(map(escape_for_terminal, _workflow_lines(workflow, origin)))


def _workflow_lines(workflow: Workflow, origin: str) -> Iterator[str]:
    yield f"{workflow.name} {workflow.version}" + (f": {workflow.about}" if workflow.about else "")
    yield f"  from {origin}"
    yield f"  authority {workflow.authority}, digest {workflow.digest[:12]}"
    for name, variable in workflow.inputs.items():
        needed = "needed" if variable.required else "optional"
        yield f"  input {name}: {variable.type}, {needed}. {variable.about}".rstrip()
    for name, state in workflow.states.items():
        yield ""
        yield f"{name}{_describe_kind(state)}"
        if state.about:
            yield f"  {state.about}"
        for row in workflow.rows:
            if name in row.sources:
                yield f"  {format_row(row)}"


def _describe_kind(state: State) -> str:
    kinds = [word for word, is_so in (("router", state.router), ("end", state.terminal)) if is_so]
    kinds += [f"at most {state.attempts} times"] if state.attempts else []
    kinds += [f"by {state.brief.agent}"] if state.brief else []
    return f" ({', '.join(kinds)})" if kinds else ""


def format_row(row: Transition) -> str:
    """Format a row in one line: its id, trigger, guards and target."""
    guards = " and ".join(guard.text for guard in (*row.when, *row.accept))
    parts = [row.id, f"on {row.trigger}" if row.trigger else "", f"if {guards}" if guards else ""]
    return f"{' '.join(part for part in parts if part)} → {_describe_target(row)}"


def _describe_target(row: Transition) -> str:
    match row.to:
        case _ if row.refuse:
            return "refused"
        case ToState(name):
            return name
        case ToVariable(name):
            return f"where `{name}` says"
        case ToDerived(fact):
            return f"where {fact} says"
        case Stay():
            return "stays"


def workflow_data(workflow: Workflow) -> dict[str, object]:
    """Return a workflow as JSON data, without source positions."""
    return {
        "name": workflow.name,
        "version": workflow.version,
        "about": workflow.about,
        "authority": str(workflow.authority),
        "digest": workflow.digest,
        "derive": workflow.derive or None,
        "initial": workflow.initial,
        "inputs": {name: _variable_data(variable) for name, variable in workflow.inputs.items()},
        "vars": {name: _variable_data(variable) for name, variable in workflow.vars.items()},
        "tools": {
            name: {
                "about": tool.about,
                "who": str(tool.who),
                "reads": tool.reads,
                "params": {param: _variable_data(variable) for param, variable in tool.params.items()},
            }
            for name, tool in workflow.tools.items()
        },
        "prompts": {
            name: {"about": prompt.about, "say": prompt.text} for name, prompt in workflow.prompts.items()
        },
        "states": [_state_data(state) for state in workflow.states.values()],
        "transitions": [_row_data(row) for row in workflow.rows],
        "texts": {name: dict(text.parts) for name, text in workflow.texts.items()},
    }


def _variable_data(variable: Variable) -> dict[str, object]:
    return {
        "type": str(variable.type),
        "about": variable.about,
        "required": variable.required,
        "default": variable.default,
        "choices": list(variable.choices),
    }


def _state_data(state: State) -> dict[str, object]:
    return {
        "name": state.name,
        "about": state.about,
        "phase": state.phase,
        "router": state.router,
        "terminal": state.terminal,
        "attempts": state.attempts or None,
        "say": state.say or None,
        "brief": msgspec.to_builtins(state.brief),
        "face": dict(state.extra),
    }


def _row_data(row: Transition) -> dict[str, object]:
    return {
        "id": row.id,
        "from": list(row.sources),
        "trigger": row.trigger,
        "when": [guard.text for guard in row.when],
        "accept": [guard.text for guard in row.accept],
        "drafts": dict(row.drafts),
        "to": _target_data(row),
        "set": {name: msgspec.to_builtins(assigned) for name, assigned in row.set},
        "do": [{"effect": type(effect).__name__.lower(), **msgspec.to_builtins(effect)} for effect in row.do],
        "say": row.say or None,
        "refuse": row.refuse or None,
        "only_says": row.only_says,
    }


def _target_data(row: Transition) -> dict[str, str] | None:
    match row.to:
        case ToState(name):
            return {"state": name}
        case ToVariable(name):
            return {"variable": name}
        case ToDerived(fact):
            return {"derived": fact}
        case Stay():
            return None
