"""What a project may use: new names at once, a file that hides another only once a person trusts it."""

import os
from pathlib import Path

import pytest

from handrail.engine.model import Workflow
from handrail.shell.catalog import Kind
from handrail.shell.definitions import Pinned
from handrail.shell.faults import Unreadable
from handrail.shell.hiding import Untrusted
from handrail.shell.shelf import Guardrail, Persona, Shelf
from handrail.shell.trust import Trusted
from requirement import requirement

SMALL = """\
workflow: small
version: 1
authority: sql
steps:
  - {name: write, agent: writer, task: Write it.}
  - {name: review, agent: default, task: Read it.}
"""
OUTER = """\
workflow: outer
version: 1
authority: sql
steps:
  - {name: before, agent: writer, task: Begin.}
  - {name: within, workflow: small}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def own(home: Path) -> Path:
    """The user's folder with settings."""
    return home / ".config" / "handrail"


@pytest.fixture
def shelf(project: Path) -> Shelf:
    return Shelf(project, Trusted())


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def trust_all(shelf: Shelf) -> None:
    Trusted().add(map(shelf.mark, shelf.untrusted()))


def workflow_of(shelf: Shelf, name: str) -> Workflow:
    found = shelf.pinned(name)
    assert isinstance(found, Pinned)
    assert found.workflow is not None
    return found.workflow


def names(files: tuple[Untrusted, ...]) -> list[tuple[str, str]]:
    return [(str(one.kind), one.name) for one in files]


# --- new names ----------------------------------------------------------------------------------------------


@requirement("steps:def.files")
def test_a_new_workflow_needs_no_trust_and_is_pinned_with_its_text(shelf: Shelf, project: Path) -> None:
    put(project, ".handrail/workflows/small.yaml", SMALL)

    found = shelf.pinned("small")

    assert isinstance(found, Pinned)
    assert found.workflow is not None
    assert found.definition is not None
    assert (found.workflow.name, found.definition.digest) == ("small", found.workflow.digest)
    assert shelf.untrusted() == ()
    assert not Trusted().path.exists()


@requirement("steps:def.files")
def test_a_persona_is_the_text_behind_its_front_matter(shelf: Shelf, project: Path, own: Path) -> None:
    path = put(project, ".handrail/agents/writer.md", "---\nabout: Writes\n---\n# Writer\r\n\nWrite.\n")
    other = put(own, "agents/cook.md", "Cook.\n")

    assert shelf.persona("writer") == Persona("writer", "Writes", "# Writer\r\n\nWrite.\n", "project", path)
    assert shelf.persona("cook") == Persona("cook", "", "Cook.\n", "user", other)
    assert shelf.persona("nobody") is None
    assert {"cook", "supervisor", "writer"} <= {one.name for one in shelf.personas()}


def test_default_means_the_supervisor(shelf: Shelf, own: Path) -> None:
    built_in = shelf.persona("default")
    put(own, "agents/supervisor.md", "My own.\n")
    mine = shelf.persona("default")

    assert built_in is not None
    assert mine is not None
    assert (built_in.name, built_in.origin) == ("supervisor", "built-in")
    assert (mine.name, mine.origin, mine.text) == ("supervisor", "user", "My own.\n")


@requirement("steps:def.files")
def test_a_guardrail_says_where_it_is_told(shelf: Shelf, project: Path, own: Path) -> None:
    head = "---\nworkflows: [release, bug-fix]\nsteps: review\n---\n"
    first = put(project, ".handrail/guardrails/history.md", f"{head}Never force a push.\n")
    second = put(own, "guardrails/words.md", "Plain words.\n")

    history, words = shelf.guardrails()

    assert history == Guardrail(
        "history", "Never force a push.\n", "project", first, ("release", "bug-fix"), ("review",)
    )
    assert words == Guardrail("words", "Plain words.\n", "user", second)
    told = [("release", "tag"), ("small", "review"), ("small", "proof/review"), ("small", "review/tag")]
    assert [history.told_in(*where) for where in told] == [True, True, True, False]
    assert [words.told_in(*where) for where in told] == [False] * 4


def test_a_workflow_of_no_name_is_none_and_one_with_problems_says_them(shelf: Shelf, project: Path) -> None:
    put(project, ".handrail/workflows/broken.yaml", SMALL.replace("small", "broken").replace("task:", "tsk:"))
    (project / ".handrail/workflows/linked.yaml").symlink_to("broken.yaml")

    broken, linked = shelf.pinned("broken"), shelf.pinned("linked")

    assert shelf.pinned("nothing") is None
    assert isinstance(broken, Pinned)
    assert isinstance(linked, Pinned)
    assert (broken.workflow, [problem.code for problem in broken.problems][:1]) == (None, ["unknown-key"])
    assert (linked.workflow, [problem.code for problem in linked.problems]) == (None, ["unreadable"])


def test_a_persona_that_cannot_be_read_says_so_in_words(shelf: Shelf, project: Path, own: Path) -> None:
    path = put(project, ".handrail/agents/writer.md", "x" * 102_401)

    found = shelf.persona("writer")

    assert found is not None
    assert found.text == (
        f"The persona `writer` cannot be read: `{path}` has more than 102400 bytes.\n"
        "A person can mend it: make it smaller, or move it away.\n"
    )
    assert found.problem == f"`{path}` has more than 102400 bytes"
    assert "writer" not in {one.name for one in shelf.personas()}
    put(own, "agents/writer.md", "The user's.\n")
    assert shelf.persona("writer") == Persona("writer", "", "The user's.\n", "user", own / "agents/writer.md")


def test_problems_name_the_files_that_are_passed_over_and_the_lines_that_are_wrong(
    shelf: Shelf, project: Path
) -> None:
    put(project, ".handrail/agents/writer.md", "---\nabout: x\nname: writer\n---\n")
    put(project, ".handrail/guardrails/open.md", "---\nsteps: [a]\n")
    put(project, ".handrail/agents/1st.md", "")

    told = {kind: [(p.code, p.place.line) for p in shelf.problems(kind)] for kind in Kind}

    assert told == {
        Kind.WORKFLOW: [],
        Kind.PERSONA: [("bad-name", 1), ("front-unread", 3)],
        Kind.GUARDRAIL: [("front-unclosed", 1)],
    }


# --- hiding and trust ---------------------------------------------------------------------------------------


@requirement("steps:def.files")
def test_a_workflow_that_hides_another_is_not_started_before_it_is_trusted(
    shelf: Shelf, project: Path, own: Path
) -> None:
    hidden = put(own, "workflows/small.yaml", SMALL)
    path = put(project, ".handrail/workflows/small.yaml", SMALL.replace("Read it.", "Say yes."))

    refused = shelf.pinned("small")
    assert isinstance(refused, Untrusted)
    assert (refused.kind, refused.name, refused.path, refused.hides) == ("workflow", "small", path, hidden)
    assert refused.diff == (
        f"--- {hidden}\n"
        f"+++ {path}\n"
        "@@ -3,5 +3,5 @@\n"
        " authority: sql\n"
        " steps:\n"
        "   - {name: write, agent: writer, task: Write it.}\n"
        "-  - {name: review, agent: default, task: Read it.}\n"
        "+  - {name: review, agent: default, task: Say yes.}\n"
        " \n"
    )
    trust_all(shelf)
    assert workflow_of(shelf, "small").states["review"].brief is not None
    assert [(one.file.name, one.trusted) for one in shelf.hiding()] == [("small", True)]


@requirement("steps:def.files")
def test_a_built_in_workflow_cannot_be_replaced_by_stealth(shelf: Shelf, project: Path) -> None:
    put(project, ".handrail/workflows/bug-fix.yaml", SMALL.replace("small", "bug-fix"))

    assert isinstance(shelf.pinned("bug-fix"), Untrusted)


def test_what_changes_after_it_was_trusted_is_not_trusted(shelf: Shelf, project: Path, own: Path) -> None:
    put(own, "workflows/small.yaml", SMALL)
    path = put(project, ".handrail/workflows/small.yaml", SMALL + "# mine\n")
    trust_all(shelf)
    assert isinstance(shelf.pinned("small"), Pinned)

    put(path.parent, path.name, SMALL + "# mine!\n")
    assert isinstance(shelf.pinned("small"), Untrusted)

    put(path.parent, path.name, SMALL + "# mine\n")
    assert isinstance(shelf.pinned("small"), Pinned)


def test_trust_is_for_one_project_alone(shelf: Shelf, project: Path, own: Path, tmp_path: Path) -> None:
    put(own, "workflows/small.yaml", SMALL)
    put(project, ".handrail/workflows/small.yaml", SMALL + "# mine\n")
    put(tmp_path, "other/.handrail/workflows/small.yaml", SMALL + "# mine\n")
    trust_all(shelf)

    assert isinstance(Shelf(tmp_path / "other", Trusted()).pinned("small"), Untrusted)


def test_a_copy_of_what_it_hides_needs_no_trust(shelf: Shelf, project: Path, own: Path) -> None:
    put(own, "workflows/small.yaml", SMALL)
    put(project, ".handrail/workflows/small.yaml", SMALL)

    assert isinstance(shelf.pinned("small"), Pinned)
    assert shelf.hiding() == ()


def test_what_hides_a_file_that_cannot_be_read_needs_trust_too(
    shelf: Shelf, project: Path, own: Path
) -> None:
    put(own, "agents/writer.md", "\0")
    put(project, ".handrail/agents/writer.md", "Lie.\n")

    (refused,) = shelf.untrusted()

    assert refused.diff.splitlines()[2:] == ["@@ -1 +1,2 @@", "+Lie.", " "]
    found = shelf.persona("writer")
    assert found is not None
    assert found.problem == "the character U+0000 cannot stand in a text"


def test_a_users_file_may_hide_a_built_in_one(shelf: Shelf, own: Path) -> None:
    put(own, "workflows/bug-fix.yaml", SMALL.replace("small", "bug-fix"))

    assert workflow_of(shelf, "bug-fix").initial == "write"
    assert shelf.hiding() == ()


def test_texts_beside_a_workflow_are_trusted_with_it(shelf: Shelf, project: Path, own: Path) -> None:
    put(own, "workflows/small.yaml", SMALL)
    put(project, ".handrail/workflows/small/workflow.yaml", SMALL)
    note = put(project, ".handrail/workflows/small/note.md", "one")

    (first,) = shelf.untrusted()
    assert first.diff == f"--- nothing\n+++ {note}\n@@ -0,0 +1 @@\n+one\n"
    trust_all(shelf)
    assert shelf.untrusted() == ()

    put(note.parent, note.name, "two")
    assert [one.digest == first.digest for one in shelf.untrusted()] == [False]


# --- workflows inside workflows -----------------------------------------------------------------------------


def test_a_workflow_with_an_untrusted_one_inside_is_not_started(
    shelf: Shelf, project: Path, own: Path
) -> None:
    put(own, "workflows/small.yaml", SMALL)
    put(project, ".handrail/workflows/small.yaml", SMALL + "# mine\n")
    put(project, ".handrail/workflows/outer.yaml", OUTER)

    refused = shelf.pinned("outer")

    assert isinstance(refused, Untrusted)
    assert refused.name == "small"
    trust_all(shelf)
    assert "within/review" in workflow_of(shelf, "outer").states


def test_what_stands_inside_a_trusted_workflow_cannot_change_under_it(
    shelf: Shelf, project: Path, own: Path
) -> None:
    put(own, "workflows/outer.yaml", SMALL.replace("small", "outer"))
    put(project, ".handrail/workflows/outer.yaml", OUTER)
    inner = put(project, ".handrail/workflows/small.yaml", SMALL)
    (before,) = shelf.untrusted()
    assert f"--- nothing\n+++ {inner}\n@@ -0,0 +1,7 @@\n+workflow: small\n" in before.diff
    trust_all(shelf)
    assert isinstance(shelf.pinned("outer"), Pinned)

    put(inner.parent, inner.name, SMALL.replace("Read it.", "Say yes."))

    assert isinstance(shelf.pinned("outer"), Untrusted)
    assert isinstance(shelf.pinned("small"), Pinned)


# --- personas and guardrails --------------------------------------------------------------------------------


@requirement("steps:def.files")
def test_a_persona_or_guardrail_that_is_not_trusted_gives_way_to_the_one_it_hides(
    shelf: Shelf, project: Path, own: Path
) -> None:
    for folder in ("agents", "guardrails"):
        put(own, f"{folder}/strict.md", "Be strict.\n")
        put(project, f".handrail/{folder}/strict.md", "Be kind.\n")

    assert [one.text for one in shelf.guardrails()] == ["Be strict.\n"]
    assert [one.text for one in shelf.personas() if one.name == "strict"] == ["Be strict.\n"]
    assert names(shelf.untrusted()) == [("persona", "strict"), ("guardrail", "strict")]
    trust_all(shelf)
    persona = shelf.persona("strict")
    assert [one.text for one in shelf.guardrails()] == ["Be kind.\n"]
    assert persona is not None
    assert persona.text == "Be kind.\n"


def test_what_blocks_a_run_is_what_it_would_use(shelf: Shelf, project: Path, own: Path) -> None:
    put(project, ".handrail/workflows/small.yaml", SMALL)
    put(project, ".handrail/workflows/outer.yaml", OUTER)
    for name in ("writer", "painter"):
        put(own, f"agents/{name}.md", "old")
        put(project, f".handrail/agents/{name}.md", "new")
    put(project, ".handrail/agents/supervisor.md", "new")
    for name, head in {
        "by-step": "steps: [review]",
        "by-name": "workflows: small",
        "never": "about: x",
    }.items():
        put(own, f"guardrails/{name}.md", f"---\n{head}\n---\nold")
        put(project, f".handrail/guardrails/{name}.md", "new")
    small, outer = workflow_of(shelf, "small"), workflow_of(shelf, "outer")

    assert names(shelf.blocking(small)) == [
        ("persona", "supervisor"),
        ("persona", "writer"),
        ("guardrail", "by-name"),
        ("guardrail", "by-step"),
    ]
    put(own, "workflows/small.yaml", SMALL)
    put(project, ".handrail/workflows/small.yaml", SMALL + "# mine\n")
    assert names(shelf.blocking(outer)) == [
        ("workflow", "small"),
        ("persona", "supervisor"),
        ("persona", "writer"),
        ("guardrail", "by-step"),
    ]
    trust_all(shelf)
    assert shelf.blocking(outer) == ()


def test_a_workflow_that_is_gone_since_is_blocked_by_its_personas_alone(
    shelf: Shelf, project: Path, own: Path
) -> None:
    path = put(project, ".handrail/workflows/small.yaml", SMALL)
    put(own, "agents/writer.md", "old")
    put(project, ".handrail/agents/writer.md", "new")
    small = workflow_of(shelf, "small")
    path.unlink()

    assert names(shelf.blocking(small)) == [("persona", "writer")]


# --- what a server asks often -------------------------------------------------------------------------------


def test_the_signature_changes_with_every_definition_and_with_trust(
    shelf: Shelf, project: Path, own: Path
) -> None:
    seen = [shelf.signature()]
    assert shelf.signature() == seen[0]
    small = put(project, ".handrail/workflows/small.yaml", SMALL)
    seen.append(shelf.signature())
    note = put(project, ".handrail/workflows/big/note.md", "one")
    seen.append(shelf.signature())
    os.utime(note, ns=(1, 1))
    seen.append(shelf.signature())
    put(own, "agents/writer.md", "old")
    seen.append(shelf.signature())
    put(project, ".handrail/agents/writer.md", "new")
    seen.append(shelf.signature())
    (project / ".handrail/guardrails").mkdir()
    (project / ".handrail/guardrails/gone.md").symlink_to("nowhere")
    seen.append(shelf.signature())
    trust_all(shelf)
    seen.append(shelf.signature())
    small.rename(small.with_name("other.yaml"))
    seen.append(shelf.signature())

    assert len(set(seen)) == 9


def test_damaged_trust_stops_only_those_who_need_it(shelf: Shelf, project: Path, own: Path) -> None:
    put(own, "workflows/small.yaml", SMALL)
    path = put(project, ".handrail/workflows/other.yaml", SMALL.replace("small", "other"))
    put(Trusted().path.parent, "trusted.json", "{")
    assert isinstance(shelf.pinned("other"), Pinned)

    path.rename(path.with_name("small.yaml"))

    with pytest.raises(Unreadable):
        shelf.pinned("small")
