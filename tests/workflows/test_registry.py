"""What a workflow may name, and how a registry of one's own takes its place."""

from handrail.engine.facts import Fact, Kind, Provenance, Type
from handrail.engine.model import Archive, Authority, Describe, Write
from handrail.workflows.load import WorkflowSource, load_workflow
from handrail.workflows.registry import BUILT_IN_REGISTRY, DRAFTS, EFFECTS, FACTS, DraftKind, build_registry
from helpers.workflow_files import require_workflow

WEATHER = Fact(
    "weather.dry", Type(Kind.BOOL), Provenance.MEASURED, "it does not rain", (True, False), closed=True
)
DESCRIBED = (
    "boxes",
    "current",
    "lacking",
    "left",
    "open",
    "problems",
    "shown",
    "stage",
    "tasks",
    "waiting",
)
"""What is known of a commit description, in either dialect."""

EDITS = (
    "finished",
    "new",
    "unfinished",
    "with_constraints",
    "with_description",
    "with_goal",
    "with_mark",
    "with_tasks",
    "written_anew",
)
"""What can be made of one."""

HEAD = "workflow: w\nversion: 1\nauthority: files\nstates:\n  A:\n  Z: {terminal: true}\ntransitions:\n"


def test_every_fact_says_who_reads_it_and_what_it_means() -> None:
    assert [fact.name for fact in FACTS if not fact.about or fact.reader == "engine"] == []
    assert len(BUILT_IN_REGISTRY.facts) == len(FACTS) == 51


def test_no_fact_of_the_world_is_only_claimed() -> None:
    assert {fact.provenance for fact in FACTS} == {Provenance.OBSERVED, Provenance.MEASURED}
    assert {fact.name for fact in FACTS if fact.provenance is Provenance.MEASURED} == {
        "skill.expected",
        "batch.next",
    }


def test_every_value_of_a_domain_is_of_the_facts_type() -> None:
    python = {Kind.BOOL: bool, Kind.INT: int, Kind.STRING: str}

    given = [(fact, value) for fact in FACTS for value in fact.domain if value is not None]
    assert all(type(value) is python[fact.type.kind] for fact, value in given)
    assert {fact.name for fact in FACTS if None in fact.domain} == {"item.number", "batch.next"}


def test_a_yes_or_no_and_an_enumeration_are_closed_and_a_count_is_open() -> None:
    assert {name for name, fact in BUILT_IN_REGISTRY.facts.items() if not fact.closed} == {
        *(f"plan.{name}" for name in DESCRIBED),
        *(f"commit.{name}" for name in DESCRIBED),
        "criteria.total",
        "criteria.unchecked",
        "links.new",
        "task.name",
        "plan.quoted",
        "task.quoted",
        "results.quoted",
        "comments.quoted",
        "review_task.quoted",
        "review_results.quoted",
        "links.quoted",
        "skill.expected",
        "item.number",
        "items.total",
        "items.documented",
        "items.problems",
        "batch.next",
    }


def test_drafts_and_effects_are_found_by_name() -> None:
    assert list(BUILT_IN_REGISTRY.drafts) == [
        "criteria.check_off",
        "items.document",
        "taskgraph.layers",
        "tasks.update",
        "batch.complete",
        *(f"plan.{name}" for name in EDITS),
        *(f"commit.{name}" for name in EDITS),
    ]
    assert list(BUILT_IN_REGISTRY.effects) == ["write", "archive", "describe"]
    assert BUILT_IN_REGISTRY.effects["describe"].authorities == (Authority.DESCRIPTION,)


def test_an_effect_is_built_from_what_is_given() -> None:
    write, archive, describe = (effect.build for effect in EFFECTS)

    assert write({"write": "a.md", "from": "d.text"}) == Write("a.md", source="d.text")
    assert write({"write": "a.md", "template": "t", "if_absent": True}) == Write(
        "a.md", "", "t", if_absent=True
    )
    assert archive({"archive": ["a", "b"], "to": "c"}) == Archive(("a", "b"), "c")
    assert describe({"describe": "d.text"}) == Describe("d.text")


def test_a_workflow_may_name_what_its_registry_holds_and_nothing_else() -> None:
    guess = DraftKind("weather.guess", "what it will be", {"likely": Type(Kind.BOOL)}, ("text", "map"))
    mine = build_registry((WEATHER,), (guess,), EFFECTS)
    written = HEAD + (
        "  - {id: A1, from: A, trigger: go, when: [weather.dry], draft: {g: weather.guess},"
        " accept: [g.likely, g.ok], to: Z, do: [{write: map.svg, from: g.map}]}\n"
        "  - {id: A2, from: A, trigger: on, to: Z}\n"
    )

    assert require_workflow(load_workflow(WorkflowSource("f", written), registry=mine)).rows[0].do == (
        Write("map.svg", source="g.map"),
    )
    assert [p.code for p in load_workflow(WorkflowSource("f", written)).problems] == [
        "unknown-fact",
        "unknown-draft",
    ]
    assert [
        p.message
        for p in load_workflow(
            WorkflowSource("f", written.replace("weather.dry", "plan.exists")), registry=mine
        ).problems
    ] == ["`when` of row `A1`: no fact is called `plan.exists`"]


def test_a_draft_is_asked_for_by_its_kind() -> None:
    assert {kind.name: (sorted(kind.facts), kind.values) for kind in DRAFTS} == {
        "criteria.check_off": (["checked", "quoted", "unmatched"], ("text",)),
        "items.document": (["documented", "total"], ("text",)),
        "taskgraph.layers": (["batches", "pending"], ()),
        "tasks.update": (["batches", "completed", "pending"], ()),
        "batch.complete": (["batches", "completed", "pending"], ()),
        **{f"plan.{name}": (["before", "error", "notes", "stage"], ("text",)) for name in EDITS},
        **{f"commit.{name}": (["before", "error", "notes", "stage"], ("text",)) for name in EDITS},
    }
