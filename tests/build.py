"""What tests of the engine build: workflows from YAML text, runs of them, and step outputs."""

from collections.abc import Mapping

from handrail.engine.decide import decide
from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Event, Run, Workflow
from handrail.workflows.carets import show_all
from handrail.workflows.load import Source, load
from handrail.workflows.registry import BUILT_IN, Registry

FILE = "test.yaml"


def workflow(text: str, registry: Registry = BUILT_IN, subs: Mapping[str, str] | None = None) -> Workflow:
    """The workflow of this text, which has no problem; `subs` are the texts of other workflows by name."""
    others = {name: Source(f"{name}.yaml", content) for name, content in (subs or {}).items()}
    loaded = load(Source(FILE, text), others.get, registry)
    shown = show_all(loaded.problems, {FILE: text})
    assert loaded.workflow is not None, f"\n{shown}"
    assert not loaded.problems, f"\n{shown}"
    return loaded.workflow


def idle(of: Workflow) -> Run:
    """A run of this workflow that has not started."""
    return Run("run-1", of.name, of.digest)


def started(of: Workflow, facts: Mapping[str, Value] | None = None, **inputs: Value) -> Run:
    """A run of this workflow in its first state; `facts` are for a router that stands there."""
    decision = decide(of, idle(of), Event("start", inputs), facts or {})
    assert isinstance(decision, Accepted), decision
    return decision.run


def output(**changes: Value) -> dict[str, Value]:
    """A good step output of the common form, with these fields instead."""
    return {"summary": "Done.", "artifacts": [], "references": [], "confidence": 0.8, **changes}
