"""What a project finds on its shelf: workflows, personas and guardrails, and what is wrong with them."""

import os
from pathlib import Path

import pytest

from handrail.app.catalog import DefinitionKind
from handrail.app.definitions import Definitions, Guardrail, Persona
from handrail.app.trust import TrustStore
from handrail.runtime.errors import Unreadable
from handrail.runtime.world import PinnedWorkflow
from helpers.definitions import SMALL, trust_all, write_definition
from helpers.requirement import requirement


@requirement("steps:def.files")
def test_a_new_workflow_needs_no_trust_and_is_pinned_with_its_text(shelf: Definitions, project: Path) -> None:
    write_definition(project, ".handrail/workflows/small.yaml", SMALL)

    found = shelf.find_pinned("small")

    assert isinstance(found, PinnedWorkflow)
    assert found.workflow is not None
    assert found.definition is not None
    assert (found.workflow.name, found.definition.digest) == ("small", found.workflow.digest)
    assert shelf.list_untrusted() == ()
    assert not TrustStore().path.exists()


@requirement("steps:def.files")
def test_a_persona_is_the_text_behind_its_front_matter(shelf: Definitions, project: Path, own: Path) -> None:
    path = write_definition(
        project, ".handrail/agents/poet.md", "---\nabout: Writes\n---\n# Writer\r\n\nWrite.\n"
    )
    other = write_definition(own, "agents/cook.md", "Cook.\n")

    assert shelf.persona("poet") == Persona("poet", "Writes", "# Writer\r\n\nWrite.\n", "project", path)
    assert shelf.persona("cook") == Persona("cook", "", "Cook.\n", "user", other)
    assert shelf.persona("nobody") is None
    assert {"cook", "supervisor", "poet"} <= {one.name for one in shelf.personas()}


def test_default_means_the_supervisor(shelf: Definitions, own: Path) -> None:
    built_in = shelf.persona("default")
    write_definition(own, "agents/supervisor.md", "My own.\n")
    mine = shelf.persona("default")

    assert built_in is not None
    assert mine is not None
    assert (built_in.name, built_in.origin) == ("supervisor", "built-in")
    assert (mine.name, mine.origin, mine.text) == ("supervisor", "user", "My own.\n")


@requirement("steps:def.files")
def test_a_guardrail_says_where_it_applies(shelf: Definitions, project: Path, own: Path) -> None:
    head = "---\nworkflows: [release, bug-fix]\nsteps: review\n---\n"
    first = write_definition(project, ".handrail/guardrails/history.md", f"{head}Never force a push.\n")
    second = write_definition(own, "guardrails/words.md", "Plain words.\n")

    history, words = shelf.guardrails()

    assert history == Guardrail(
        "history", "Never force a push.\n", "project", first, ("release", "bug-fix"), ("review",)
    )
    assert words == Guardrail("words", "Plain words.\n", "user", second)
    answer = [("release", "tag"), ("small", "review"), ("small", "proof/review"), ("small", "review/tag")]
    assert [history.applies_to(*where) for where in answer] == [True, True, True, False]
    assert [words.applies_to(*where) for where in answer] == [False] * 4


def test_a_workflow_of_no_name_is_none_and_one_with_problems_says_them(
    shelf: Definitions, project: Path
) -> None:
    write_definition(
        project, ".handrail/workflows/broken.yaml", SMALL.replace("small", "broken").replace("task:", "tsk:")
    )
    (project / ".handrail/workflows/linked.yaml").symlink_to("broken.yaml")

    broken, linked = shelf.find_pinned("broken"), shelf.find_pinned("linked")

    assert shelf.find_pinned("nothing") is None
    assert isinstance(broken, PinnedWorkflow)
    assert isinstance(linked, PinnedWorkflow)
    assert (broken.workflow, [problem.code for problem in broken.problems][:1]) == (None, ["unknown-key"])
    assert (linked.workflow, [problem.code for problem in linked.problems]) == (None, ["unreadable"])


def test_a_persona_that_cannot_be_read_says_so_in_words(shelf: Definitions, project: Path, own: Path) -> None:
    path = write_definition(project, ".handrail/agents/poet.md", "x" * 102_401)

    found = shelf.persona("poet")

    assert found is not None
    assert found.text == (
        f"The persona `poet` cannot be read: `{path}` has more than 102400 bytes.\n"
        "A person can mend it: make it smaller, or move it away.\n"
    )
    assert found.problem == f"`{path}` has more than 102400 bytes"
    assert "poet" not in {one.name for one in shelf.personas()}
    write_definition(own, "agents/poet.md", "The user's.\n")
    assert shelf.persona("poet") == Persona("poet", "", "The user's.\n", "user", own / "agents/poet.md")


def test_problems_name_the_files_that_are_passed_over_and_the_lines_that_are_wrong(
    shelf: Definitions, project: Path
) -> None:
    write_definition(project, ".handrail/agents/poet.md", "---\nabout: x\nname: poet\n---\n")
    write_definition(project, ".handrail/guardrails/open.md", "---\nsteps: [a]\n")
    write_definition(project, ".handrail/agents/1st.md", "")

    answer = {kind: [(p.code, p.place.line) for p in shelf.problems(kind)] for kind in DefinitionKind}

    assert answer == {
        DefinitionKind.WORKFLOW: [],
        DefinitionKind.PERSONA: [("bad-name", 1), ("front-unread", 3)],
        DefinitionKind.GUARDRAIL: [("front-unclosed", 1)],
    }


def test_the_signature_changes_with_every_definition_and_with_trust(
    shelf: Definitions, project: Path, own: Path
) -> None:
    seen = [shelf.signature()]
    assert shelf.signature() == seen[0]
    small = write_definition(project, ".handrail/workflows/small.yaml", SMALL)
    seen.append(shelf.signature())
    note = write_definition(project, ".handrail/workflows/big/note.md", "one")
    seen.append(shelf.signature())
    os.utime(note, ns=(1, 1))
    seen.append(shelf.signature())
    write_definition(own, "agents/poet.md", "old")
    seen.append(shelf.signature())
    write_definition(project, ".handrail/agents/poet.md", "new")
    seen.append(shelf.signature())
    (project / ".handrail/guardrails").mkdir()
    (project / ".handrail/guardrails/gone.md").symlink_to("nowhere")
    seen.append(shelf.signature())
    trust_all(shelf)
    seen.append(shelf.signature())
    small.rename(small.with_name("other.yaml"))
    seen.append(shelf.signature())

    assert len(set(seen)) == 9


def test_damaged_trust_stops_only_files_that_need_it(shelf: Definitions, project: Path, own: Path) -> None:
    write_definition(own, "workflows/small.yaml", SMALL)
    path = write_definition(project, ".handrail/workflows/other.yaml", SMALL.replace("small", "other"))
    write_definition(TrustStore().path.parent, "trusted.json", "{")
    assert isinstance(shelf.find_pinned("other"), PinnedWorkflow)

    path.rename(path.with_name("small.yaml"))

    with pytest.raises(Unreadable):
        shelf.find_pinned("small")
