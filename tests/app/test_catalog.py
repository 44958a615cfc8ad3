"""Where definitions are found, what hides what, and that no file of a project can do harm by being there."""

import os
import stat
from pathlib import Path

import pytest

from handrail.app.catalog import (
    MAX_DEFINITIONS,
    Catalog,
    DefinitionFolder,
    DefinitionKind,
    find_definition_files,
    open_catalog,
)
from handrail.app.user_files import MAX_FILE_BYTES
from handrail.runtime.errors import Fault
from helpers.definitions import write_definition
from helpers.requirement import requirement

SMALL = "workflow: small\nversion: 1\nauthority: sql\nsteps: [{name: one, agent: writer, task: Write.}]\n"


def told(found: Catalog) -> list[tuple[str, str, str]]:
    """What is passed over: its name, the code of the first problem, and its message."""
    return [(one.name, one.problems[0].code, one.problems[0].message) for one in found.list_with_skipped()[1]]


@requirement("steps:def.files")
@pytest.mark.parametrize(
    ("kind", "folder", "file"),
    [
        (DefinitionKind.WORKFLOW, "workflows", "small.yaml"),
        (DefinitionKind.PERSONA, "agents", "small.md"),
        (DefinitionKind.GUARDRAIL, "guardrails", "small.md"),
    ],
)
def test_each_kind_is_looked_for_in_the_project_then_with_the_user(
    kind: DefinitionKind, folder: str, file: str, project: Path, home: Path
) -> None:
    ours = write_definition(project, f".handrail/{folder}/{file}", "the project's")
    theirs = write_definition(home, f".config/handrail/{folder}/{file}", "the user's")

    first, second = (one for one in open_catalog(project, kind).all() if one.name == "small")

    assert (first.origin, first.path, first.source.text, first.hidden) == (
        "project",
        ours,
        "the project's",
        False,
    )
    assert (second.origin, second.path, second.source.text, second.hidden) == (
        "user",
        theirs,
        "the user's",
        True,
    )
    assert first.hides is not None
    assert (first.hides.path, second.hides) == (theirs, None)


def test_the_built_in_ones_come_last() -> None:
    origins = {
        kind: {(one.name, one.origin) for one in open_catalog(Path("/nowhere"), kind).all()}
        for kind in DefinitionKind
    }

    assert ("bug-fix", "built-in") in origins[DefinitionKind.WORKFLOW]
    assert ("supervisor", "built-in") in origins[DefinitionKind.PERSONA]
    assert origins[DefinitionKind.GUARDRAIL] == set()


def test_a_project_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    write_definition(tmp_path, "a-file", "")

    for nowhere in (tmp_path / "nowhere", tmp_path / "a-file"):
        assert [
            one.origin
            for one in open_catalog(nowhere, DefinitionKind.PERSONA).all()
            if one.origin == "project"
        ] == []
        assert told(open_catalog(nowhere)) == []


def test_a_workflow_may_have_a_folder_with_its_texts(project: Path) -> None:
    write_definition(project, ".handrail/workflows/big/workflow.yaml", "workflow: big")
    write_definition(project, ".handrail/workflows/big/Bye.md", "Good bye.")
    write_definition(project, ".handrail/workflows/big/notes.txt", "no text")
    write_definition(project, ".handrail/workflows/workflow.yaml", "no workflow: it has no folder to itself")
    write_definition(project, ".handrail/workflows/empty/readme.md", "no workflow")

    mine = [one for one in open_catalog(project).all() if one.origin == "project"]

    assert [(one.name, one.source.text) for one in mine] == [("big", "workflow: big")]
    assert {name: text for name, (_, text) in mine[0].source.beside.items()} == {"Bye": "Good bye."}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder outside of the project whose texts are none of its business."""
    write_definition(tmp_path, "secret/small.md", "the victim's own words")
    write_definition(tmp_path, "secret/small.yaml", SMALL)
    write_definition(tmp_path, "secret/big/workflow.yaml", SMALL)
    return tmp_path / "secret"


def _linked(path: Path, victim: Path) -> None:
    path.symlink_to(victim / "small.md")


def _linked_within(path: Path, _victim: Path) -> None:
    write_definition(path.parent, "real.txt", "text").rename(path.parent / "real")
    path.symlink_to("real")


def _linked_to_itself(path: Path, _victim: Path) -> None:
    path.symlink_to(path.name)


def _linked_hard(path: Path, victim: Path) -> None:
    path.hardlink_to(victim / "small.md")


def _piped(path: Path, _victim: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path, _victim: Path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o600)


def _folder(path: Path, _victim: Path) -> None:
    path.mkdir()


def _large(path: Path, _victim: Path) -> None:
    path.write_bytes(b"x" * (MAX_FILE_BYTES + 1))


NO_PLAIN = "`{}` leads through a link, or is no plain file or folder"
HOSTILE = {
    _linked: NO_PLAIN,
    _linked_within: NO_PLAIN,
    _linked_to_itself: NO_PLAIN,
    _linked_hard: "`{}` is a file with a second name",
    _piped: "`{}` is no regular file",
    _socket: NO_PLAIN,
    _folder: "`{}` is no regular file",
    _large: "`{}` has more than 102400 bytes",
}


@requirement("steps:def.files")
@pytest.mark.parametrize("kind", list(DefinitionKind))
@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_an_unsafe_file_of_a_project_is_reported_and_skipped(
    make: object, kind: DefinitionKind, project: Path, victim: Path, home: Path
) -> None:
    folder = project / ".handrail" / kind.folder
    folder.mkdir(parents=True)
    path = folder / f"small{kind.suffix}"
    assert callable(make)
    make(path, victim)
    write_definition(home, f".config/handrail/{kind.folder}/small{kind.suffix}", "the user's")

    found = [one for one in open_catalog(project, kind).all() if one.name == "small"]

    assert told(open_catalog(project, kind)) == [("small", "unreadable", HOSTILE[make].format(path))]
    assert [(one.source.text, one.hidden) for one in found] == [("the user's", False)]


@pytest.mark.parametrize("where", [".handrail", ".handrail/workflows"])
def test_a_linked_folder_of_a_project_is_reported_and_skipped(
    where: str, project: Path, victim: Path
) -> None:
    write_definition(victim, "workflows/small.yaml", SMALL)
    (project / where).parent.mkdir(parents=True, exist_ok=True)
    (project / where).symlink_to(victim)

    found, lost = open_catalog(project).list_with_skipped()

    assert [one.origin for one in found if one.origin == "project"] == []
    assert [(one.name, one.path, len(one.problems)) for one in lost] == [
        ("", project / ".handrail/workflows", 1)
    ]


def test_a_link_to_the_folder_of_a_workflow_is_reported(project: Path, victim: Path) -> None:
    write_definition(project, ".handrail/workflows/README", "a file of no kind")
    (project / ".handrail/workflows/big").symlink_to(victim / "big")
    write_definition(project, ".handrail/workflows/own/workflow.yaml", SMALL)
    (project / ".handrail/workflows/own/Bye.md").symlink_to(victim / "small.md")

    path = project / ".handrail/workflows"
    assert told(open_catalog(project)) == [
        ("big", "unreadable", NO_PLAIN.format(f"{path}/big")),
        ("own", "unreadable", NO_PLAIN.format(f"{path}/own/Bye.md")),
    ]


def test_in_a_folder_of_the_users_own_links_are_followed(home: Path, victim: Path) -> None:
    own = home / ".config/handrail/agents"
    own.mkdir(parents=True)
    (own / "small.md").symlink_to(victim / "small.md")
    (own / "twice.md").hardlink_to(victim / "small.md")

    texts = {
        one.name: one.source.text for one in open_catalog(Path("/nowhere"), DefinitionKind.PERSONA).all()
    }

    assert (texts["small"], texts["twice"]) == ("the victim's own words", "the victim's own words")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_linked_to_itself, NO_PLAIN),
        (_piped, "`{}` is no regular file"),
        (_folder, NO_PLAIN),
        (_large, "`{}` has more than 102400 bytes"),
    ],
)
def test_an_unsafe_file_of_the_user_is_reported(make: object, message: str, home: Path, victim: Path) -> None:
    own = home / ".config/handrail/agents"
    own.mkdir(parents=True)
    assert callable(make)
    make(own / "small.md", victim)

    assert told(open_catalog(Path("/nowhere"), DefinitionKind.PERSONA)) == [
        ("small", "unreadable", message.format(own / "small.md"))
    ]


def test_a_dangling_link_of_the_user_is_reported(home: Path) -> None:
    own = home / ".config/handrail/agents"
    own.mkdir(parents=True)
    (own / "small.md").symlink_to("nowhere")

    assert told(open_catalog(Path("/nowhere"), DefinitionKind.PERSONA)) == [
        ("small", "unreadable", f"`{own / 'small.md'}` is not there")
    ]


def test_a_settings_folder_that_is_a_file_is_reported(home: Path) -> None:
    write_definition(home, ".config/handrail", "a file")

    assert [code for _, code, _ in told(open_catalog(Path("/nowhere")))] == ["unreadable"]


@pytest.mark.parametrize(
    "name", ["1st", "a b", "ümlaut", "-rf", ".hidden", "\x1b[2J", "x" * 65, "\udcff", "a\nb"]
)
@pytest.mark.parametrize("kind", list(DefinitionKind))
def test_a_file_with_a_bad_name_is_reported_and_skipped(
    name: str, kind: DefinitionKind, project: Path
) -> None:
    write_definition(project, f".handrail/{kind.folder}/{name}{kind.suffix}", "text")

    ((said, code, message),) = told(open_catalog(project, kind))

    assert (said, code) == (name, "bad-name")
    assert message.startswith(f"a {kind} cannot be called `")
    assert message.isprintable()


def test_no_persona_can_be_called_default(project: Path) -> None:
    write_definition(project, ".handrail/agents/default.md", "text")
    write_definition(project, ".handrail/guardrails/default.md", "text")

    message = "`default` means another persona, so none can be called so"
    assert told(open_catalog(project, DefinitionKind.PERSONA)) == [("default", "bad-name", message)]
    assert told(open_catalog(project, DefinitionKind.GUARDRAIL)) == []


def test_two_files_of_one_name_are_reported_and_the_first_is_used(project: Path, home: Path) -> None:
    first = write_definition(project, ".handrail/workflows/small/workflow.yaml", SMALL)
    write_definition(project, ".handrail/workflows/small.yaml", SMALL)
    theirs = write_definition(home, ".config/handrail/workflows/small.yaml", SMALL)

    found = open_catalog(project).find("small")

    assert told(open_catalog(project)) == [
        ("small", "duplicate-file", "two workflows of this folder are called `small`")
    ]
    assert found is not None
    assert found.hides is not None
    assert (found.path, found.hides.path) == (first, theirs)


def test_a_file_does_not_hide_its_neighbour(home: Path) -> None:
    own = home / ".config/handrail/workflows"
    write_definition(own, "small/workflow.yaml", SMALL)
    write_definition(own, "small.yaml", SMALL)

    found = open_catalog(Path("/nowhere")).find("small")

    assert found is not None
    assert (found.path, found.hides) == (own / "small/workflow.yaml", None)


def test_a_text_that_is_not_utf_8_is_reported_by_line_and_column(project: Path) -> None:
    write_definition(project, ".handrail/agents/small.md", b"one\ncaf\xe9\n")
    write_definition(project, ".handrail/agents/zero.md", b"a\0b")
    write_definition(project, ".handrail/agents/marked.md", b"\xef\xbb\xbfgood")

    found, lost = open_catalog(project, DefinitionKind.PERSONA).list_with_skipped()

    assert [(p.place.line, p.place.column, p.message) for one in lost for p in one.problems] == [
        (2, 4, "the byte 0xE9 is not UTF-8"),
        (1, 2, "the character U+0000 cannot stand in a text"),
    ]
    assert [one.name for one in found if one.origin == "project"] == ["marked"]


def test_a_folder_with_too_many_files_is_reported_and_the_first_are_read(project: Path) -> None:
    for number in range(MAX_DEFINITIONS + 2):
        write_definition(project, f".handrail/agents/p{number:03}.md", "text")
        write_definition(project, f".handrail/workflows/big/t{number:03}.md", "text")
    write_definition(project, ".handrail/workflows/big/workflow.yaml", SMALL)

    mine = [
        one.name for one in open_catalog(project, DefinitionKind.PERSONA).all() if one.origin == "project"
    ]

    assert (len(mine), mine[-1]) == (200, "p199")
    assert told(open_catalog(project, DefinitionKind.PERSONA)) == [
        ("", "too-large", "there are 202 personas in this folder, and 200 are read")
    ]
    assert told(open_catalog(project)) == [
        ("big", "unreadable", f"`{project}/.handrail/workflows/big` holds 202 texts")
    ]


def test_an_unreadable_file_is_reported() -> None:
    class Forbidding:
        def read(self, path: str) -> bytes | None:
            raise Fault(f"`{path}` cannot be read: Permission denied", "let the user read it")

        def names(self, folder: str) -> tuple[str, ...]:
            return () if folder else ("small.md",)

    rack = DefinitionFolder("user", Path("/own"), Forbidding())

    assert told(Catalog(DefinitionKind.PERSONA, (rack,))) == [
        ("small", "unreadable", "`small.md` cannot be read: Permission denied")
    ]


def test_below_a_folder_personas_and_guardrails_count_only_where_they_are_looked_for(project: Path) -> None:
    wanted = [
        write_definition(project, ".handrail/agents/one.md", ""),
        write_definition(project, ".handrail/guardrails/two.md", ""),
        write_definition(project, ".handrail/workflows/big/workflow.yaml", ""),
        write_definition(project, "flows/four.yaml", ""),
    ]
    write_definition(project, ".claude/agents/five.md", "")
    write_definition(project, ".handrail/workflows/big/Bye.md", "")
    write_definition(project, "README.md", "")

    assert list(find_definition_files(project)) == wanted
