from pathlib import Path

import pytest

from helpers.program import list_imports, run_handrail, run_on_terminal

GOOD = """\
workflow: small
version: 1
authority: files
about: A small one
states: {A: {about: The first}, B: {terminal: true}}
transitions:
  - {id: AB, from: A, trigger: go, when: plan.exists, to: B}
"""
BAD = GOOD.replace("plan.exists", "plan.exist")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".handrail" / "workflows").mkdir(parents=True)
    return folder


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_the_version_is_one_line() -> None:
    assert run_handrail("--version").out == "handrail 0.1.0\n"


def test_list_names_the_built_in_workflows(project: Path) -> None:
    said = run_handrail("workflows", "list", cwd=project)

    assert (said.status, said.err) == (0, "")
    first = "bug-fix\tbuilt-in\tReproduce a bug, find its cause, mend it, prove it mended"
    assert said.out.splitlines()[0] == first


def test_a_workflow_of_the_project_hides_one_of_the_user_and_the_list_says_so(
    project: Path, home: Path
) -> None:
    put(project, ".handrail/workflows/small.yaml", GOOD)
    put(home, ".config/handrail/workflows/small.yaml", GOOD.replace("A small one", "The user's"))

    said = run_handrail("workflows", "list", "--json", cwd=project)

    entries = said.data["workflows"]
    assert isinstance(entries, list)
    small = [entry for entry in entries if entry["name"] == "small"]
    assert [(e["origin"], e["hidden"], e["about"]) for e in small] == [
        ("project", False, "A small one"),
        ("user", True, "The user's"),
    ]


def test_a_workflow_with_problems_is_listed_with_their_number(project: Path) -> None:
    put(project, ".handrail/workflows/small.yaml", BAD)
    put(project, ".handrail/workflows/other.yaml", GOOD)

    lines = run_handrail("workflows", "list", cwd=project).out.splitlines()

    assert "small\tproject\t1 problem" in lines
    assert "other\tproject\t1 problem" in lines


def test_the_project_can_be_named_by_option_or_environment(project: Path, tmp_path: Path) -> None:
    put(project, ".handrail/workflows/small.yaml", GOOD)

    by_option = run_handrail("workflows", "show", "small", "--project", project, cwd=tmp_path)
    by_setting = run_handrail("workflows", "show", "small", cwd=tmp_path, HANDRAIL_PROJECT=str(project))

    assert (by_option.status, by_setting.status) == (0, 0)
    assert by_option.out == by_setting.out


def test_show_tells_the_states_and_the_rows(project: Path) -> None:
    path = put(project, ".handrail/workflows/small.yaml", GOOD)

    said = run_handrail("workflows", "show", "small", "--project", project)

    assert said.out.splitlines()[:2] == ["small 1: A small one", f"  from project, {path}"]
    assert said.out.splitlines()[3:] == [
        "",
        "A",
        "  The first",
        "  AB on go if plan.exists → B",
        "",
        "B (end)",
    ]


def test_show_as_json_has_states_and_transitions(project: Path) -> None:
    put(project, ".handrail/workflows/small.yaml", GOOD)

    data = run_handrail("workflows", "show", "small", "--json", "--project", project).data

    workflow = data["workflow"]
    assert isinstance(workflow, dict)
    assert data["schema"] == 1
    assert (workflow["initial"], workflow["authority"]) == ("A", "files")
    assert workflow["transitions"] == [
        {
            "id": "AB",
            "from": ["A"],
            "trigger": "go",
            "when": ["plan.exists"],
            "accept": [],
            "drafts": {},
            "to": {"state": "B"},
            "set": {},
            "do": [],
            "say": None,
            "refuse": None,
            "only_says": False,
        }
    ]


@pytest.mark.parametrize("words", [("show", "nothing"), ("graph", "nothing"), ("graph", "nothing.yaml")])
def test_an_unknown_workflow_is_status_3_and_names_the_list(words: tuple[str, ...], project: Path) -> None:
    said = run_handrail("workflows", *words, cwd=project)

    assert (said.status, said.out) == (3, "")
    assert said.err == f"handrail: no workflow is called `{words[1]}`\n  handrail workflows list\n"


def test_an_error_is_json_too_if_json_was_asked_for(project: Path) -> None:
    said = run_handrail("workflows", "show", "nothing", "--json", cwd=project)

    assert said.status == 3
    assert said.data == {
        "schema": 1,
        "error": {
            "code": "not_found",
            "message": "no workflow is called `nothing`",
            "repair": "handrail workflows list",
        },
    }


def test_show_of_a_workflow_with_problems_names_the_check(project: Path) -> None:
    path = put(project, ".handrail/workflows/small.yaml", BAD)

    said = run_handrail("workflows", "show", "small", cwd=project)

    assert said.status == 1
    assert said.err.endswith(f"  handrail workflows check {path.relative_to(project)}\n")


def test_check_of_a_sound_file_is_silent_on_stdout(tmp_path: Path) -> None:
    said = run_handrail("workflows", "check", put(tmp_path, "small.yaml", GOOD))

    assert (said.status, said.out, said.err) == (0, "", "1 checked, no problems\n")


def test_check_shows_the_place_with_a_caret_and_ends_with_status_1(tmp_path: Path) -> None:
    put(tmp_path, "small.yaml", BAD)

    said = run_handrail("workflows", "check", "small.yaml", cwd=tmp_path)

    assert said.status == 1
    lines = said.out.splitlines()
    assert lines[0].startswith("small.yaml:7:42: error[unknown-fact]: ")
    assert lines[1] == "    7 |   - {id: AB, from: A, trigger: go, when: plan.exist, to: B}"
    assert lines[2] == "      | " + " " * 41 + "^^^^^^^^^^"


def test_check_as_json_has_every_problem_with_its_place(tmp_path: Path) -> None:
    put(tmp_path, "small.yaml", BAD)

    said = run_handrail("workflows", "check", "small.yaml", "--json", cwd=tmp_path)

    (problem,) = said.data["problems"]
    assert said.status == 1
    assert (problem["code"], problem["severity"], problem["file"]) == ("unknown-fact", "error", "small.yaml")
    assert (problem["line"], problem["column"], problem["length"]) == (7, 42, 10)


def test_check_of_a_folder_takes_every_file_below_it(tmp_path: Path) -> None:
    put(tmp_path, "flows/one.yaml", GOOD)
    put(tmp_path, "flows/deep/two.yaml", GOOD)

    assert run_handrail("workflows", "check", "flows", cwd=tmp_path).err == "2 checked, no problems\n"


def test_check_finds_a_sub_workflow_beside_the_file(tmp_path: Path) -> None:
    put(tmp_path, "part.yaml", GOOD.replace("small", "part"))
    put(
        tmp_path,
        "whole.yaml",
        "workflow: whole\nversion: 1\nauthority: files\n"
        "states: {P: {workflow: part}, END: {terminal: true}}\n"
        "transitions: [{id: out, from: P, to: END}]\n",
    )

    assert run_handrail("workflows", "check", tmp_path).err == "2 checked, no problems\n"


def test_a_problem_in_a_text_beside_the_workflow_is_shown_in_that_text(tmp_path: Path) -> None:
    put(tmp_path, "small/workflow.yaml", GOOD.replace("to: B}", "to: B, say: Bye}"))
    put(tmp_path, "small/Bye.md", "Good bye,\n{{nobody}}!\n")

    said = run_handrail("workflows", "check", "small", cwd=tmp_path)

    assert said.status == 1
    assert said.out.splitlines()[0].startswith("small/Bye.md:2:1: error[unknown-placeholder]: ")
    assert said.out.splitlines()[1] == "    2 | {{nobody}}!"


def test_a_file_that_is_not_utf_8_is_a_problem_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_bytes(b"workflow: small\nabout: caf\xe9\n")

    said = run_handrail("workflows", "check", "small.yaml", cwd=tmp_path)
    drawn = run_handrail("workflows", "graph", "small.yaml", cwd=tmp_path)

    assert said.status == 1
    assert said.out.splitlines()[0] == "small.yaml:2:11: error[yaml-character]: the byte 0xE9 is not UTF-8"
    assert (drawn.status, drawn.out) == (1, "")
    assert "Traceback" not in drawn.err


def test_check_of_nothing_is_status_3_and_no_path_at_all_is_status_2(tmp_path: Path) -> None:
    assert run_handrail("workflows", "check", "nowhere", cwd=tmp_path).status == 3
    assert run_handrail("workflows", "check", cwd=tmp_path).status == 2


@pytest.mark.parametrize(("form", "begins"), [("mermaid", "flowchart"), ("dot", "digraph"), ("svg", "<svg ")])
def test_a_graph_is_printed_in_the_form_asked_for(form: str, begins: str, tmp_path: Path) -> None:
    path = put(tmp_path, "small.yaml", GOOD)

    said = run_handrail("workflows", "graph", path, "--format", form)

    assert (said.status, said.err) == (0, "")
    assert begins in said.out
    assert "A" in said.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str) -> None:
    said = run_handrail("completion", shell)

    assert said.status == 0
    assert "_HANDRAIL_COMPLETE" in said.out


def test_the_bash_completion_completes(tmp_path: Path) -> None:
    said = run_handrail(
        cwd=tmp_path, _HANDRAIL_COMPLETE="bash_complete", COMP_WORDS="handrail workflows ", COMP_CWORD="2"
    )

    assert [line.split(",")[1] for line in said.out.splitlines()] == ["check", "graph", "list", "new", "show"]


def test_on_a_terminal_the_list_has_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = run_on_terminal("workflows", "list")

    assert said.status == 0
    assert said.out.split()[:3] != ["bug-fix", "built-in", "Reproduce"]
    assert "about" in said.out.splitlines()[0]


def test_a_command_that_asks_nothing_of_the_engine_does_not_import_it(tmp_path: Path) -> None:
    imported = list_imports(tmp_path, "--version")

    assert "handrail.cli.main" in imported
    assert not [
        name for name in imported if name.startswith(("handrail.engine", "handrail.workflows", "yaml"))
    ]


def test_no_command_imports_what_only_serving_needs(tmp_path: Path) -> None:
    imported = list_imports(tmp_path, "workflows", "list")

    assert "handrail.workflows.load" in imported
    assert not imported & {"mcp", "rich", "rich.console", "sqlite3", "starlette", "jinja2", "psycopg"}


def test_one_unreadable_file_does_not_hide_the_others_in_the_list(project: Path) -> None:
    put(project, ".handrail/workflows/small.yaml", GOOD)
    (project / ".handrail/workflows/broken.yaml").write_bytes(b"\xff\xfe")

    lines = run_handrail("workflows", "list", cwd=project).out.splitlines()

    assert lines[0] == "broken\tproject\t2 problems"
    assert [line for line in lines[1:] if "built-in" not in line] == ["small\tproject\tA small one"]


def test_a_misnamed_workflow_is_a_problem_wherever_one_asks(project: Path) -> None:
    path = put(project, ".handrail/workflows/other.yaml", GOOD)

    checked = run_handrail("workflows", "check", path, cwd=project)
    shown = run_handrail("workflows", "show", "other", cwd=project)

    assert (checked.status, shown.status) == (1, 1)
    assert "error[misnamed]: the file is found as `other`" in checked.out


def test_a_text_beside_the_workflow_that_is_not_utf_8_is_a_problem_of_that_text(tmp_path: Path) -> None:
    put(tmp_path, "small/workflow.yaml", GOOD.replace("to: B}", "to: B, say: Bye}"))
    (tmp_path / "small/Bye.md").write_bytes(b"Good\nb\xffe\n")

    said = run_handrail("workflows", "check", "small", cwd=tmp_path)

    assert said.out.splitlines()[:2] == [
        "small/Bye.md:2:2: error[yaml-character]: the byte 0xFF is not UTF-8",
        r"    2 | b\u{dcff}e",
    ]


def test_an_empty_folder_is_not_a_sound_one(tmp_path: Path) -> None:
    said = run_handrail("workflows", "check", ".", cwd=tmp_path)

    assert (said.status, said.out) == (3, "")


def test_a_folder_named_like_a_workflow_is_named_and_passed_over(project: Path) -> None:
    put(project, ".handrail/workflows/small.yaml", GOOD)
    (project / ".handrail/workflows/folder.yaml").mkdir()

    lines = run_handrail("workflows", "list", cwd=project).out.splitlines()

    assert run_handrail("workflows", "check", project).err == "1 checked, no problems\n"
    assert [line for line in lines if "built-in" not in line] == [
        "folder\tproject\t`.handrail/workflows/folder.yaml` is no regular file",
        "small\tproject\tA small one",
    ]


def test_a_link_that_leads_nowhere_is_named_and_passed_over(project: Path) -> None:
    (project / ".handrail/workflows/gone.yaml").symlink_to("nowhere.yaml")

    said = run_handrail("workflows", "list", cwd=project)

    assert (said.status, said.err) == (0, "")
    assert [line for line in said.out.splitlines() if "built-in" not in line] == [
        "gone\tproject\t`.handrail/workflows/gone.yaml` leads through a link, or is no plain file or folder"
    ]


ORDERS = r"\e[2J\u202Egnp.exe\u200B\x9b31m"
HOSTILE = f"""\
workflow: small
version: 1
authority: files
about: "{ORDERS}"
inputs: {{"a": {{type: string, about: "{ORDERS}"}}}}
states: {{A: {{about: "{ORDERS}"}}, B: {{terminal: true}}}}
transitions:
  - {{id: AA, from: A, trigger: go, when: "task.name == \\"{ORDERS}\\"", to: A}}
  - {{id: AB, from: A, trigger: go, to: B}}
"""


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("list", "--json"),
        ("show", "small"),
        ("show", "small", "--json"),
        ("graph", "small"),
        ("graph", "small", "--format", "dot"),
        ("graph", "small", "--format", "svg"),
        ("show", "\x1b[2J\u202e"),
    ],
)
def test_no_text_of_a_workflow_gives_orders_to_the_terminal(words: tuple[str, ...], project: Path) -> None:
    put(project, ".handrail/workflows/small.yaml", HOSTILE)

    said = run_handrail("workflows", *words, cwd=project)

    shown = said.out + said.err
    assert "2J" in shown
    assert [sign for sign in shown if not sign.isprintable() and sign not in "\n\t"] == []
