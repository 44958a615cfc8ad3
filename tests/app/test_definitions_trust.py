"""A file that hides another is used only once a person trusts it, with all that stands inside it."""

from pathlib import Path

from handrail.app.definitions import Definitions
from handrail.app.trust import TrustStore, UntrustedFile
from handrail.runtime.world import PinnedWorkflow
from helpers.definitions import OUTER, SMALL, list_names, load_workflow, trust_all, write_definition
from helpers.requirement import requirement


@requirement("steps:def.files")
def test_a_workflow_that_hides_another_is_not_started_before_it_is_trusted(
    shelf: Definitions, project: Path, own: Path
) -> None:
    hidden = write_definition(own, "workflows/small.yaml", SMALL)
    path = write_definition(project, ".handrail/workflows/small.yaml", SMALL.replace("Read it.", "Say yes."))

    refused = shelf.find_pinned("small")
    assert isinstance(refused, UntrustedFile)
    assert (refused.kind, refused.name, refused.path, refused.hides) == ("workflow", "small", path, hidden)
    assert refused.diff == (
        f"--- {hidden}\n"
        f"+++ {path}\n"
        "@@ -3,5 +3,5 @@\n"
        " authority: sql\n"
        " steps:\n"
        "   - {name: write, agent: poet, task: Write it.}\n"
        "-  - {name: review, agent: default, task: Read it.}\n"
        "+  - {name: review, agent: default, task: Say yes.}\n"
        " \n"
    )
    trust_all(shelf)
    assert load_workflow(shelf, "small").states["review"].brief is not None
    assert [(one.file.name, one.trusted) for one in shelf.list_hiding_files()] == [("small", True)]


@requirement("steps:def.files")
def test_a_built_in_workflow_cannot_be_replaced_by_stealth(shelf: Definitions, project: Path) -> None:
    write_definition(project, ".handrail/workflows/bug-fix.yaml", SMALL.replace("small", "bug-fix"))

    assert isinstance(shelf.find_pinned("bug-fix"), UntrustedFile)


def test_what_changes_after_it_was_trusted_is_not_trusted(
    shelf: Definitions, project: Path, own: Path
) -> None:
    write_definition(own, "workflows/small.yaml", SMALL)
    path = write_definition(project, ".handrail/workflows/small.yaml", SMALL + "# mine\n")
    trust_all(shelf)
    assert isinstance(shelf.find_pinned("small"), PinnedWorkflow)

    write_definition(path.parent, path.name, SMALL + "# mine!\n")
    assert isinstance(shelf.find_pinned("small"), UntrustedFile)

    write_definition(path.parent, path.name, SMALL + "# mine\n")
    assert isinstance(shelf.find_pinned("small"), PinnedWorkflow)


def test_trust_is_for_one_project_alone(shelf: Definitions, project: Path, own: Path, tmp_path: Path) -> None:
    write_definition(own, "workflows/small.yaml", SMALL)
    write_definition(project, ".handrail/workflows/small.yaml", SMALL + "# mine\n")
    write_definition(tmp_path, "other/.handrail/workflows/small.yaml", SMALL + "# mine\n")
    trust_all(shelf)

    assert isinstance(Definitions(tmp_path / "other", TrustStore()).find_pinned("small"), UntrustedFile)


def test_a_copy_of_what_it_hides_needs_no_trust(shelf: Definitions, project: Path, own: Path) -> None:
    write_definition(own, "workflows/small.yaml", SMALL)
    write_definition(project, ".handrail/workflows/small.yaml", SMALL)

    assert isinstance(shelf.find_pinned("small"), PinnedWorkflow)
    assert shelf.list_hiding_files() == ()


def test_what_hides_a_file_that_cannot_be_read_needs_trust_too(
    shelf: Definitions, project: Path, own: Path
) -> None:
    write_definition(own, "agents/poet.md", "\0")
    write_definition(project, ".handrail/agents/poet.md", "Lie.\n")

    (refused,) = shelf.list_untrusted()

    assert refused.diff.splitlines()[2:] == ["@@ -1 +1,2 @@", "+Lie.", " "]
    found = shelf.persona("poet")
    assert found is not None
    assert found.problem == "the character U+0000 cannot stand in a text"


def test_a_users_file_may_hide_a_built_in_one(shelf: Definitions, own: Path) -> None:
    write_definition(own, "workflows/bug-fix.yaml", SMALL.replace("small", "bug-fix"))

    assert load_workflow(shelf, "bug-fix").initial == "write"
    assert shelf.list_hiding_files() == ()


def test_texts_beside_a_workflow_are_trusted_with_it(shelf: Definitions, project: Path, own: Path) -> None:
    write_definition(own, "workflows/small.yaml", SMALL)
    write_definition(project, ".handrail/workflows/small/workflow.yaml", SMALL)
    note = write_definition(project, ".handrail/workflows/small/note.md", "one")

    (first,) = shelf.list_untrusted()
    assert first.diff == f"--- nothing\n+++ {note}\n@@ -0,0 +1 @@\n+one\n"
    trust_all(shelf)
    assert shelf.list_untrusted() == ()

    write_definition(note.parent, note.name, "two")
    assert [one.digest == first.digest for one in shelf.list_untrusted()] == [False]


def test_a_workflow_with_an_untrusted_one_inside_is_not_started(
    shelf: Definitions, project: Path, own: Path
) -> None:
    write_definition(own, "workflows/small.yaml", SMALL)
    write_definition(project, ".handrail/workflows/small.yaml", SMALL + "# mine\n")
    write_definition(project, ".handrail/workflows/outer.yaml", OUTER)

    refused = shelf.find_pinned("outer")

    assert isinstance(refused, UntrustedFile)
    assert refused.name == "small"
    trust_all(shelf)
    assert "within/review" in load_workflow(shelf, "outer").states


def test_the_inside_of_a_trusted_workflow_cannot_change(shelf: Definitions, project: Path, own: Path) -> None:
    write_definition(own, "workflows/outer.yaml", SMALL.replace("small", "outer"))
    write_definition(project, ".handrail/workflows/outer.yaml", OUTER)
    inner = write_definition(project, ".handrail/workflows/small.yaml", SMALL)
    (before,) = shelf.list_untrusted()
    assert f"--- nothing\n+++ {inner}\n@@ -0,0 +1,7 @@\n+workflow: small\n" in before.diff
    trust_all(shelf)
    assert isinstance(shelf.find_pinned("outer"), PinnedWorkflow)

    write_definition(inner.parent, inner.name, SMALL.replace("Read it.", "Say yes."))

    assert isinstance(shelf.find_pinned("outer"), UntrustedFile)
    assert isinstance(shelf.find_pinned("small"), PinnedWorkflow)


def test_what_the_user_changes_inside_a_trusted_workflow_is_the_users_business(
    shelf: Definitions, project: Path, own: Path
) -> None:
    write_definition(own, "workflows/outer.yaml", SMALL.replace("small", "outer"))
    write_definition(own, "workflows/small.yaml", SMALL)
    write_definition(project, ".handrail/workflows/outer.yaml", OUTER)
    trust_all(shelf)

    write_definition(own, "workflows/small.yaml", SMALL.replace("Read it.", "Read it twice."))

    assert isinstance(shelf.find_pinned("outer"), PinnedWorkflow)


def test_a_workflow_whose_inside_comes_later_is_trusted_anew(
    shelf: Definitions, project: Path, own: Path
) -> None:
    write_definition(own, "workflows/outer.yaml", SMALL.replace("small", "outer"))
    write_definition(project, ".handrail/workflows/outer.yaml", OUTER)
    trust_all(shelf)
    broken = shelf.find_pinned("outer")
    assert isinstance(broken, PinnedWorkflow)
    assert [problem.code for problem in broken.problems] == ["unknown-workflow"]

    write_definition(project, ".handrail/workflows/small.yaml", SMALL)

    assert isinstance(shelf.find_pinned("outer"), UntrustedFile)


@requirement("steps:def.files")
def test_a_persona_or_guardrail_that_is_not_trusted_gives_way_to_the_one_it_hides(
    shelf: Definitions, project: Path, own: Path
) -> None:
    for folder in ("agents", "guardrails"):
        write_definition(own, f"{folder}/strict.md", "Be strict.\n")
        write_definition(project, f".handrail/{folder}/strict.md", "Be kind.\n")

    assert [one.text for one in shelf.guardrails()] == ["Be strict.\n"]
    assert [one.text for one in shelf.personas() if one.name == "strict"] == ["Be strict.\n"]
    assert list_names(shelf.list_untrusted()) == [("persona", "strict"), ("guardrail", "strict")]
    trust_all(shelf)
    persona = shelf.persona("strict")
    assert [one.text for one in shelf.guardrails()] == ["Be kind.\n"]
    assert persona is not None
    assert persona.text == "Be kind.\n"


def test_what_blocks_a_run_is_what_it_would_use(shelf: Definitions, project: Path, own: Path) -> None:
    write_definition(project, ".handrail/workflows/small.yaml", SMALL)
    write_definition(project, ".handrail/workflows/outer.yaml", OUTER)
    for name in ("poet", "painter"):
        write_definition(own, f"agents/{name}.md", "old")
        write_definition(project, f".handrail/agents/{name}.md", "new")
    write_definition(project, ".handrail/agents/supervisor.md", "new")
    for name, head in {
        "by-step": "steps: [review]",
        "by-name": "workflows: small",
        "never": "about: x",
    }.items():
        write_definition(own, f"guardrails/{name}.md", f"---\n{head}\n---\nold")
        write_definition(project, f".handrail/guardrails/{name}.md", "new")
    small, outer = load_workflow(shelf, "small"), load_workflow(shelf, "outer")

    assert list_names(shelf.list_blocking(small)) == [
        ("persona", "poet"),
        ("persona", "supervisor"),
        ("guardrail", "by-name"),
        ("guardrail", "by-step"),
    ]
    write_definition(own, "workflows/small.yaml", SMALL)
    write_definition(project, ".handrail/workflows/small.yaml", SMALL + "# mine\n")
    assert list_names(shelf.list_blocking(outer)) == [
        ("workflow", "small"),
        ("persona", "poet"),
        ("persona", "supervisor"),
        ("guardrail", "by-step"),
    ]
    trust_all(shelf)
    assert shelf.list_blocking(outer) == ()


def test_a_workflow_that_is_gone_since_is_blocked_by_its_personas_alone(
    shelf: Definitions, project: Path, own: Path
) -> None:
    path = write_definition(project, ".handrail/workflows/small.yaml", SMALL)
    write_definition(own, "agents/poet.md", "old")
    write_definition(project, ".handrail/agents/poet.md", "new")
    small = load_workflow(shelf, "small")
    path.unlink()

    assert list_names(shelf.list_blocking(small)) == [("persona", "poet")]
