"""A workflow as a person reads it in a terminal, and as a program reads it in JSON."""

from collections.abc import Iterator

from handrail.engine.model import State, Stay, ToDerived, ToState, ToVariable, Transition, Workflow


def described(workflow: Workflow, origin: str) -> str:
    """The workflow in a few lines per state."""
    return "\n".join(_lines(workflow, origin))


def _lines(workflow: Workflow, origin: str) -> Iterator[str]:
    yield f"{workflow.name} {workflow.version}: {workflow.about}" if workflow.about else workflow.name
    yield f"  from {origin}"
    yield f"  authority {workflow.authority}, digest {workflow.digest[:12]}"
    for name, variable in workflow.inputs.items():
        needed = "needed" if variable.required else "optional"
        yield f"  input {name}: {variable.type}, {needed}. {variable.about}".rstrip()
    for name, state in workflow.states.items():
        yield ""
        yield f"{name}{_kind(state)}"
        if state.about:
            yield f"  {state.about}"
        for row in workflow.rows:
            if name in row.sources:
                yield f"  {_row(row)}"


def _kind(state: State) -> str:
    kinds = [word for word, is_so in (("router", state.router), ("end", state.terminal)) if is_so]
    kinds += [f"at most {state.attempts} times"] if state.attempts else []
    kinds += [f"by {state.brief.agent}"] if state.brief else []
    return f" ({', '.join(kinds)})" if kinds else ""


def _row(row: Transition) -> str:
    guards = " and ".join(guard.text for guard in (*row.when, *row.accept))
    parts = [row.id, f"on {row.trigger}" if row.trigger else "", f"if {guards}" if guards else ""]
    return f"{' '.join(part for part in parts if part)} → {_target(row)}"


def _target(row: Transition) -> str:
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


def as_data(workflow: Workflow) -> dict[str, object]:
    """The workflow as JSON: names, states and rows."""
    return {
        "name": workflow.name,
        "version": workflow.version,
        "about": workflow.about,
        "authority": str(workflow.authority),
        "digest": workflow.digest,
        "initial": workflow.initial,
        "inputs": {n: {"type": str(v.type), "required": v.required} for n, v in workflow.inputs.items()},
        "vars": {name: str(variable.type) for name, variable in workflow.vars.items()},
        "states": [_state_data(state) for state in workflow.states.values()],
        "transitions": [_row_data(row) for row in workflow.rows],
    }


def _state_data(state: State) -> dict[str, object]:
    return {
        "name": state.name,
        "about": state.about,
        "phase": state.phase,
        "router": state.router,
        "terminal": state.terminal,
        "attempts": state.attempts,
        "agent": state.brief.agent if state.brief else None,
    }


def _row_data(row: Transition) -> dict[str, object]:
    return {
        "id": row.id,
        "from": list(row.sources),
        "trigger": row.trigger,
        "when": [guard.text for guard in row.when],
        "accept": [guard.text for guard in row.accept],
        "to": _target(row),
        "refuses": bool(row.refuse),
    }
