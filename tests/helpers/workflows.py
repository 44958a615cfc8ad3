"""What tests of the engine build: workflows from YAML text, runs of them, events, and step outputs."""

from collections.abc import Mapping
from copy import deepcopy

from handrail.engine.decide import decide
from handrail.engine.facts import Fact, Kind, Provenance, Type, Value
from handrail.engine.model import Accepted, Decision, Event, Refused, Run, Workflow
from handrail.workflows.load import WorkflowSource, load_workflow
from handrail.workflows.problem_report import format_problems
from handrail.workflows.registry import BUILT_IN_REGISTRY, DRAFTS, EFFECTS, FACTS, Registry, build_registry

FILE = "test.yaml"


def _measured(name: str, kind: Kind) -> Fact:
    domain = (True, False) if kind is Kind.BOOL else ()
    return Fact(name, Type(kind), Provenance.MEASURED, name, domain, closed=bool(domain))


GATED = build_registry(
    (
        *FACTS,
        _measured("tests.pass", Kind.BOOL),
        _measured("person.agrees", Kind.BOOL),
        _measured("tests.failed", Kind.INT),
        _measured("tests.report", Kind.JSON),
    ),
    DRAFTS,
    EFFECTS,
)
"""What every workflow may name, and some facts that take their time."""

_LOADED: dict[tuple[object, ...], tuple[Registry, Workflow]] = {}
"""A text is loaded once: what it was loaded into does not change."""


def load_valid_workflow(
    text: str, registry: Registry = BUILT_IN_REGISTRY, subs: Mapping[str, str] | None = None
) -> Workflow:
    """The workflow of this text, which has no problem; `subs` are the texts of other workflows by name."""
    key = (text, id(registry), *sorted((subs or {}).items()))
    if key not in _LOADED:
        _LOADED[key] = registry, _loaded(text, registry, subs or {})
    return _LOADED[key][1]


def _loaded(text: str, registry: Registry, subs: Mapping[str, str]) -> Workflow:
    others = {name: WorkflowSource(f"{name}.yaml", content) for name, content in subs.items()}
    loaded = load_workflow(WorkflowSource(FILE, text), others.get, registry)
    shown = format_problems(loaded.problems, {FILE: text})
    assert not loaded.problems, f"\n{shown}"
    assert loaded.workflow is not None
    return loaded.workflow


def create_idle_run(of: Workflow) -> Run:
    """A run of this workflow that has not started."""
    return Run("run-1", of.name, of.digest)


def start_run(of: Workflow, /, **inputs: Value) -> Run:
    """A run of this workflow in its first state."""
    return move_run(of, create_idle_run(of), Event("start", inputs))


def send_event(
    of: Workflow, run: Run, event: Event | str, facts: Mapping[str, Value] | None = None, /, **payload: Value
) -> Decision:
    """What the event does to the run; whatever it is, the run that was given is as it was."""
    before = deepcopy(run)
    decision = decide(of, run, Event(event, payload) if isinstance(event, str) else event, facts or {})
    assert run == before
    return decision


def move_run(
    of: Workflow, run: Run, event: Event | str, facts: Mapping[str, Value] | None = None, /, **payload: Value
) -> Run:
    """The run after an event that is accepted."""
    decision = send_event(of, run, event, facts, **payload)
    assert isinstance(decision, Accepted), decision
    return decision.run


def expect_refusal(
    of: Workflow, run: Run, event: Event | str, facts: Mapping[str, Value] | None = None, /, **payload: Value
) -> Refused:
    """The refusal of an event that is refused."""
    decision = send_event(of, run, event, facts, **payload)
    assert isinstance(decision, Refused), decision
    assert decision.rule
    return decision


def list_open_states(run: Run) -> list[str]:
    """The states in which steps of the run are open."""
    return [step.state for step in run.open]


def build_output(**changes: Value) -> dict[str, Value]:
    """A good step output of the common form, with these fields instead."""
    return {"summary": "Done.", "artifacts": [], "references": [], "confidence": 0.8, **changes}
