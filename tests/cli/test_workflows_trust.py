"""`handrail trust` as a person meets it: look first, then let it be used; and what the list says about it."""

from pathlib import Path

import pytest

from handrail.app.definitions import Definitions
from handrail.app.trust import TrustStore, UntrustedFile
from handrail.runtime.world import PinnedWorkflow
from helpers.program import run_command, run_handrail
from helpers.requirement import requirement

SMALL = "workflow: small\nversion: 1\nauthority: sql\nsteps: [{name: one, agent: writer, task: Write.}]\n"
MINE = SMALL.replace("Write.", "Lie.")
REPAIR = "  handrail trust --list\n"


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    """A project with a workflow and a persona that hide the user's."""
    put(home, ".config/handrail/workflows/small.yaml", SMALL)
    put(home, ".config/handrail/agents/writer.md", "Write the truth.\n")
    put(tmp_path, "project/.handrail/workflows/small.yaml", MINE)
    put(tmp_path, "project/.handrail/agents/writer.md", "Write what pleases.\n")
    put(tmp_path, "project/.handrail/workflows/new.yaml", SMALL.replace("small", "new"))
    return tmp_path / "project"


def trusted(project: Path) -> list[str]:
    return [one.file.name for one in Definitions(project, TrustStore()).list_hiding_files() if one.trusted]


@requirement("steps:def.files")
def test_the_list_says_what_hides_what_and_whether_it_is_trusted(project: Path) -> None:
    before = run_command("workflows", "list", cwd=project)
    run_command("trust", "small", "--yes", cwd=project)
    after = run_command("workflows", "list", cwd=project)

    assert [line for line in before.out.splitlines() if "built-in" not in line] == [
        "new\tproject\t",
        "small\tproject, hides user, not trusted\t",
        "small\tuser, hidden\t",
    ]
    assert before.err == (
        "persona writer: project, hides user, not trusted\n"
        "some files hide others and are not trusted; to look at them: handrail trust\n"
    )
    assert [line for line in after.out.splitlines() if "built-in" not in line] == [
        "new\tproject\t",
        "small\tproject, hides user, trusted\t",
        "small\tuser, hidden\t",
    ]


def test_the_list_says_so_in_json(project: Path, home: Path) -> None:
    run_command("trust", "small", "--yes", cwd=project)

    entries = run_command("workflows", "list", "--json", cwd=project).data["workflows"]

    small = [(e["origin"], e["hidden"], e["hides"], e["trusted"]) for e in entries if e["name"] == "small"]
    assert small == [
        ("project", False, f"{home}/.config/handrail/workflows/small.yaml", True),
        ("user", True, None, None),
    ]


def test_without_somebody_to_ask_the_difference_is_shown_and_nothing_trusted(
    project: Path, home: Path
) -> None:
    said = run_command("trust", "small", cwd=project)

    hidden = f"{home}/.config/handrail/workflows/small.yaml"
    assert said.status == 1
    assert said.out == (
        f"workflow small: .handrail/workflows/small.yaml hides {hidden}\n"
        f"--- {hidden}\n"
        "+++ .handrail/workflows/small.yaml\n"
        "@@ -1,5 +1,5 @@\n"
        " workflow: small\n"
        " version: 1\n"
        " authority: sql\n"
        "-steps: [{name: one, agent: writer, task: Write.}]\n"
        "+steps: [{name: one, agent: writer, task: Lie.}]\n"
        " \n"
        "\n"
    )
    assert said.err == (
        "handrail: 1 file that hides another is not trusted, and nobody was asked\n"
        "  handrail trust small --yes\n"
    )
    assert trusted(project) == []


def test_the_words_to_type_name_the_project_if_it_is_another(project: Path, tmp_path: Path) -> None:
    moved = project.rename(tmp_path / "my project")

    said = run_command("trust", "--project", moved, cwd=tmp_path)

    assert said.err.splitlines()[1] == f"  handrail trust --yes --project '{moved}'"


@requirement("steps:def.files")
def test_with_yes_the_named_file_is_trusted_until_it_changes(project: Path) -> None:
    said = run_handrail("trust", ".handrail/workflows/small.yaml", "--yes", cwd=project)

    assert (said.status, said.err) == (0, "1 of 1 file that hides another is trusted\n")
    assert "+steps: [{name: one, agent: writer, task: Lie.}]" in said.out
    assert trusted(project) == ["small"]
    assert isinstance(Definitions(project, TrustStore()).find_pinned("small"), PinnedWorkflow)
    put(project, ".handrail/workflows/small.yaml", MINE.replace("Lie.", "Lie again."))
    assert isinstance(Definitions(project, TrustStore()).find_pinned("small"), UntrustedFile)


def test_without_a_name_all_are_trusted_and_can_be_revoked_one_by_one(project: Path) -> None:
    run_command("trust", "--yes", cwd=project)
    assert trusted(project) == ["small", "writer"]

    one = run_command("trust", "--revoke", ".handrail/agents/writer.md", cwd=project)
    assert (one.status, one.err, trusted(project)) == (
        0,
        "1 of 2 files that hide others are trusted\n",
        ["small"],
    )

    again = run_command("trust", "--revoke", "writer", cwd=project)
    assert (again.status, again.err) == (3, f"handrail: no trusted file is called `writer`\n{REPAIR}")

    run_command("trust", "--revoke", cwd=project)
    assert (trusted(project), TrustStore().marks()) == ([], ())


def test_what_is_gone_or_changed_can_be_revoked_by_name(project: Path) -> None:
    run_command("trust", "--yes", cwd=project)
    (project / ".handrail/agents/writer.md").unlink()
    put(project, ".handrail/workflows/small.yaml", SMALL)

    assert run_command("trust", "--revoke", "writer", "small", cwd=project).status == 0
    assert TrustStore().marks() == ()


def test_the_list_of_what_hides_others_is_a_table_or_json(project: Path, home: Path) -> None:
    run_command("trust", "writer", "--yes", cwd=project)

    plain = run_command("trust", "--list", cwd=project)
    data = run_command("trust", "--list", "--json", "writer", cwd=project).data

    own = f"{home}/.config/handrail"
    assert plain.out.splitlines() == [
        f"workflow\tsmall\tnot trusted\t.handrail/workflows/small.yaml\t{own}/workflows/small.yaml",
        f"persona\twriter\ttrusted\t.handrail/agents/writer.md\t{own}/agents/writer.md",
    ]
    (file,) = data["files"]
    assert (data["project"], len(file["digest"])) == (str(project), 64)
    assert (file["kind"], file["name"], file["trusted"]) == ("persona", "writer", True)
    assert file["diff"].splitlines()[2:] == [
        "@@ -1,2 +1,2 @@",
        "-Write the truth.",
        "+Write what pleases.",
        " ",
    ]


def test_json_never_asks_and_tells_the_refusal(project: Path) -> None:
    said = run_command("trust", "--json", cwd=project)
    done = run_command("trust", "--json", "--yes", cwd=project)

    assert (said.status, said.data["error"]["code"]) == (1, "unconfirmed")
    assert said.data["error"]["repair"] == "handrail trust --yes"
    assert [(file["name"], file["trusted"]) for file in done.data["files"]] == [
        ("small", True),
        ("writer", True),
    ]


@pytest.mark.parametrize(
    ("word", "status", "message"),
    [
        ("new", 1, "`new` hides nothing else, so it needs no trust"),
        (
            ".handrail/workflows/new.yaml",
            1,
            "`.handrail/workflows/new.yaml` hides nothing else, so it needs no trust",
        ),
        ("bug-fix", 1, "`bug-fix` hides nothing else, so it needs no trust"),
        ("nothing", 3, "no file that hides another is called `nothing`"),
        ("\x1b[2J", 3, "no file that hides another is called `\\u{1b}[2J`"),
    ],
)
def test_what_needs_no_trust_and_what_is_not_there_are_told_apart(
    word: str, status: int, message: str, project: Path
) -> None:
    said = run_command("trust", word, "--yes", cwd=project)

    assert (said.status, said.out, said.err) == (status, "", f"handrail: {message}\n{REPAIR}")


def test_where_nothing_hides_anything_nothing_needs_trust(tmp_path: Path) -> None:
    said = run_command("trust", cwd=tmp_path)

    assert (said.status, said.out) == (0, "")
    assert said.err == "nothing here hides another file: nothing needs trust\n"


def test_on_a_terminal_each_file_is_asked_about(project: Path) -> None:
    said = run_handrail("trust", cwd=project, typed="n\ny\n")

    assert "Trust the workflow small? [y/N]" in said.err
    assert "Trust the persona writer? [y/N]" in said.err
    assert "1 of 2 files that hide others are trusted" in said.err
    assert (said.status, trusted(project)) == (1, ["writer"])


def test_damaged_trust_is_named_with_its_repair(project: Path) -> None:
    path = put(TrustStore().path.parent, "trusted.json", "{")

    said = run_command("workflows", "list", cwd=project)

    assert (said.status, said.out) == (1, "")
    assert said.err.startswith(f"handrail: `{path}` is damaged: it is not JSON")
    assert said.err.endswith(
        "\n  move it away, and say `handrail trust` again in the projects whose files you trust\n"
    )


def test_a_hostile_text_gives_no_orders_to_the_terminal(project: Path) -> None:
    put(project, ".handrail/agents/writer.md", "\u202egnp.exe\u200b \U000e0041\n")

    said = run_command("trust", cwd=project)

    assert "gnp.exe" in said.out
    assert [sign for sign in said.out + said.err if not sign.isprintable() and sign != "\n"] == []


def test_check_finds_what_is_wrong_with_personas_and_guardrails(project: Path) -> None:
    put(project, ".handrail/guardrails/rule.md", "---\nworkflow: small\n---\nNever.\n")
    linked = ".handrail/agents/linked.md"
    (project / linked).symlink_to("writer.md")

    said = run_command("workflows", "check", ".handrail", cwd=project)
    listed = run_command("workflows", "list", cwd=project)

    assert said.status == 1
    assert said.out.splitlines() == [
        f"{linked}:1:1: error[unreadable]: `{linked}` leads through a link, or is no plain file or folder",
        "      = remove the link, or put a real folder or file in its place",
        ".handrail/guardrails/rule.md:2:1: error[front-unread]: nobody reads `workflow`",
        "    2 | workflow: small",
        "      | ^",
        "      = drop it; what is read is about, workflows, steps",
        "2 errors",
    ]
    assert ".handrail/guardrails/rule.md:2: nobody reads `workflow`" in listed.err.splitlines()


def test_check_finds_a_byte_that_is_not_utf_8_in_a_persona_of_any_project(
    project: Path, tmp_path: Path
) -> None:
    path = put(tmp_path, "other/.handrail/agents/writer.md", "")
    path.write_bytes(b"caf\xe9\n")

    said = run_command("workflows", "check", path, cwd=project)

    assert said.out.splitlines()[0] == f"{path}:1:4: error[yaml-character]: the byte 0xE9 is not UTF-8"


def test_a_file_that_is_passed_over_is_in_the_list_as_json_too(project: Path) -> None:
    (project / ".handrail/workflows/linked.yaml").symlink_to("small.yaml")

    entries = run_command("workflows", "list", "--json", cwd=project).data["workflows"]

    (linked,) = (entry for entry in entries if entry["name"] == "linked")
    assert (linked["origin"], linked["file"], linked["about"], linked["problems"]) == (
        "project",
        ".handrail/workflows/linked.yaml",
        None,
        1,
    )
