"""Sound workflows: whatever the format can say loads, and `check` has nothing to say about it."""

import pytest

from handrail.engine.facts import Fact, Kind, Provenance, Type
from handrail.engine.model import ToDerived
from handrail.engine.soundness import check_soundness
from handrail.workflows.load import WorkflowSource, load_workflow
from handrail.workflows.registry import BUILT_IN_REGISTRY, Registry
from helpers.workflow_files import SOUND, load_file, load_sound_workflow, read_sound_text

STAGES = Registry(
    {
        **BUILT_IN_REGISTRY.facts,
        "plan.stage": Fact(
            "plan.stage",
            Type(Kind.STRING),
            Provenance.OBSERVED,
            "how far the plan has come",
            domain=("empty", "tasks", "done"),
            closed=True,
        ),
    },
    BUILT_IN_REGISTRY.drafts,
    BUILT_IN_REGISTRY.effects,
)


def test_there_are_the_sound_files_that_there_should_be() -> None:
    assert [str(path.relative_to(SOUND)) for path in sorted(SOUND.rglob("*.yaml"))] == [
        "beside/workflow.yaml",
        "crlf.yaml",
        "derived.yaml",
        "everything.yaml",
        "house/main.yaml",
        "house/polish.yaml",
        "house/review.yaml",
        "minimal.yaml",
        "muessig.yaml",
        "skills.yaml",
        "spells.yaml",
    ]


@pytest.mark.parametrize("name", [str(path.relative_to(SOUND)) for path in sorted(SOUND.rglob("*.yaml"))])
def test_a_sound_file_has_no_problem(name: str) -> None:
    found = load_file(SOUND / name)

    assert found.problems == ()
    assert found.workflow is not None
    assert check_soundness(found.workflow) == ()


def test_a_derived_state_may_have_a_closed_domain_if_every_value_is_a_state() -> None:
    found = load_workflow(WorkflowSource("derived.yaml", read_sound_text("derived.yaml")), registry=STAGES)

    assert found.problems == ()
    assert found.workflow is not None
    assert found.workflow.derive == "plan.stage"
    assert found.workflow.rows[0].to == ToDerived("new.stage")
    assert check_soundness(found.workflow) == ()


def test_the_skills_have_34_states_of_which_four_are_walked_through_at_once() -> None:
    skills = load_sound_workflow("skills.yaml")

    assert len(skills.states) == 34
    assert [name for name, state in skills.states.items() if state.router] == [
        "work-item-router",
        "item-type-router",
        "batch-router",
        "log-batch-complete",
    ]
    assert [name for name, state in skills.states.items() if state.terminal] == ["done"]


def test_the_skills_share_one_skill_for_clearing_in_twelve_states() -> None:
    states = load_sound_workflow("skills.yaml").states
    clearing = [name for name, state in states.items() if state.extra.get("skill") == "collab-clear"]

    assert len(clearing) == 12
    assert all(name.startswith("clear-") for name in clearing)


def test_the_spells_have_their_fifteen_states_and_six_tools() -> None:
    spells = load_sound_workflow("spells.yaml")

    assert len(spells.states) == 15
    assert list(spells.tools) == ["accio", "expecto", "reparo", "reverto", "finite", "lumos"]
    assert spells.initial == "GATHER_NEEDS_PLAN"


def test_the_star_of_the_spells_leaves_every_state_but_the_excepted() -> None:
    (finite,) = [row for row in load_sound_workflow("spells.yaml").rows if row.id == "F1"]

    assert finite.sources == (
        "GATHER_EDITING",
        "ACHIEVE_TASK_DRAFTING",
        "ACHIEVE_COMPLETE",
        "PR_GATHERING_COMMENTS",
        "PR_REVIEW_TASK_DRAFT",
        "PR_CONFIRM_RESTART_COMMENTS",
        "PR_CONFIRM_RESTART_TASK",
        "ERROR_TASK_MISSING",
        "ERROR_TASK_RESULTS_MISSING",
        "ERROR_COMMENTS_MISSING",
    )
