"""`handrail plan`: plan documents on the command line."""

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from helpers.program import PROGRAM, CommandResult, list_imports, run_command, run_handrail

ROOT = Path(__file__).resolve().parents[2]
PLAN = "feat(x): t\n\nd\n\n- Never: x\n\n- [ ]: Write it\n  - [x]: Test it\n\nGo on\n"
COMMIT = "feat(api): t\n\nd\n\nTasks [ ]:\n- [ ] A: b\n"
HALTED = "feat(x): t\n\n- [X]: a\n"


def put(folder: Path, text: str | bytes) -> Path:
    path = folder / "plan.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def said(folder: Path, text: str | bytes, *words: str) -> CommandResult:
    return run_command("plan", words[0], *words[1:], put(folder, text), cwd=folder)


def data(folder: Path, text: str, *words: str) -> dict[str, Any]:
    return said(folder, text, *words, "--json").data


def test_parse_prints_exactly_the_shape_of_planner(tmp_path: Path) -> None:
    assert data(tmp_path, PLAN, "parse") == {
        "state": "parsed",
        "header": {"type": "feat", "scope": "x", "breaking": False, "title": "t"},
        "description": "d",
        "constraints": [["Never", "x"]],
        "tasks": [[False, "Write it", [[True, "Test it", []]]]],
        "direction": "Go on",
        "warnings": [],
        "problems": [],
    }


def test_parse_prints_exactly_the_shape_of_commits(tmp_path: Path) -> None:
    assert data(tmp_path, COMMIT, "parse") == {
        "ok": True,
        "phase": "executing",
        "header": {"type": "feat", "scope": "api", "breaking": False, "summary": "t"},
        "description": "d",
        "tasks": [
            {"id": "a", "summary": "A", "details": "b", "completed": False, "children": [], "level": 0},
        ],
        "metadata": {"totalTasks": 1, "completedTasks": 0, "isComplete": False},
        "warnings": [],
        "problems": [],
    }


def test_a_problem_has_its_place_its_carets_and_its_repair(tmp_path: Path) -> None:
    done = said(tmp_path, HALTED, "parse", "--json")

    assert done.status == 1
    assert done.data["state"] == "halted"
    assert done.data["problems"] == [
        {
            "code": "task_malformed",
            "message": "this looks like a task and is not written as one",
            "repair": "write `- [ ]: text`, or `- [x]: text` if it is done; "
            "a bullet that is no task begins with `* `",
            "line": 3,
            "column": 1,
            "span": 8,
            "shown": "- [X]: a",
            "carets": "^^^^^^^^",
        }
    ]


def test_people_see_the_parts_and_what_is_wrong_with_its_line(tmp_path: Path) -> None:
    done = said(tmp_path, HALTED, "parse")
    path = tmp_path / "plan.txt"

    assert done.out == "dialect\tplanner\nstate\thalted\nstage\t1\ntype\tfeat\nscope\tx\ntitle\tt\n"
    assert done.err.splitlines()[:3] == [
        f"{path}:3:1: error[task_malformed]: this looks like a task and is not written as one",
        "    3 | - [X]: a",
        "      | ^^^^^^^^",
    ]
    whole = said(tmp_path, PLAN.replace("x)", "x)!").replace("d\n", "d\ne\n"), "parse")
    assert whole.out.splitlines()[3:] == [
        "type\tfeat",
        "scope\tx",
        "title\tt",
        "breaking\tyes",
        "description\t2 lines",
        "constraint\tNever: x",
        "tasks\t1 of 2 complete",
        "direction\tGo on",
    ]
    assert said(tmp_path, COMMIT, "parse").out.splitlines()[2] == "phase\texecuting"
    assert said(tmp_path, "hello", "parse").out == "dialect\tplanner\nstate\tunknown\nstage\t0\n"


def test_a_warning_is_told_and_is_no_failure(tmp_path: Path) -> None:
    done = said(tmp_path, "fix: a title\r\n\r\nd", "parse")

    assert done.status == 0
    assert "warning[title_ignored]: `a title` is kept" in done.err
    assert "warning[crlf_normalised]" in done.err
    assert [one["code"] for one in data(tmp_path, "fix: t", "parse")["warnings"]] == ["title_ignored"]


def test_the_dialect_is_found_or_given_and_both_at_once_halt(tmp_path: Path) -> None:
    assert data(tmp_path, "feat: t", "parse", "--dialect", "commits")["phase"] == "planning"
    assert data(tmp_path, "feat: t", "parse")["state"] == "parsed"
    mixed = said(tmp_path, COMMIT + "- [ ]: a\n", "parse", "--json")
    assert (mixed.status, mixed.data["problems"][0]["code"]) == (1, "mixed_dialects")


def test_an_empty_text_with_changed_files_is_no_fresh_start(tmp_path: Path) -> None:
    fresh = said(tmp_path, "", "parse", "--dialect", "commits", "--json")
    assert (fresh.status, fresh.data["ok"], fresh.data["phase"]) == (0, True, "uninitialized")
    changed = said(tmp_path, "", "parse", "--dialect", "commits", "--has-modifications", "--json")
    assert (changed.status, changed.data["ok"], changed.data["raw_commit_content"]) == (1, False, "")


def test_check_prints_exactly_the_verdict(tmp_path: Path) -> None:
    done = said(tmp_path, "ci(X): t", "check", "--json")

    assert done.status == 1
    assert sorted(done.data) == ["errors", "isValid", "warnings"]
    assert [(one["field"], one["code"]) for one in done.data["errors"]] == [
        ("header.type", "INVALID_VALUE"),
        ("header.scope", "INVALID_FORMAT"),
    ]
    assert data(tmp_path, PLAN, "check") == {"isValid": True, "errors": [], "warnings": []}
    unread = data(tmp_path, HALTED, "check")["errors"]
    assert [(one["field"], one["code"]) for one in unread] == [("state", "INVALID_VALUE")]
    assert unread[0]["message"].startswith("line 3: this looks like a task")


def test_people_see_each_finding_on_a_line(tmp_path: Path) -> None:
    done = said(tmp_path, "ci(X): t", "check")

    assert done.out.splitlines()[2] == "warning\theader.scope\tSCOPE_CASE\twrite the scope small: `x`"
    assert said(tmp_path, PLAN, "check").err == "valid\n"
    assert "error[task_malformed]" in said(tmp_path, HALTED, "check").err


def test_a_json_object_in_the_shape_of_a_plan_is_checked_and_written(tmp_path: Path) -> None:
    header = {"type": "feat", "scope": "x", "title": "t"}
    good = json.dumps({"header": header, "tasks": [[True, "a", []]]})
    bad = json.dumps({"header": header, "tasks": [[1, "a", []]]})

    assert said(tmp_path, good, "format").out == "feat(x): t\n\n- [x]: a\n"
    assert data(tmp_path, good, "check")["isValid"] is True
    assert [one["field"] for one in data(tmp_path, bad, "check")["errors"]] == ["tasks.0.0"]
    assert said(tmp_path, bad, "check").err == "not valid\n"
    refused = said(tmp_path, bad, "format")
    assert (refused.status, refused.err.splitlines()[0]) == (
        1,
        "handrail: tasks.0.0: a task is ticked or not: true or false",
    )
    commit = json.dumps({"header": {"type": "ci", "summary": "t"}})
    assert said(tmp_path, commit, "format").out == "ci: t\n"
    assert data(tmp_path, commit, "check", "--dialect", "planner")["errors"][0]["field"] == "header.type"


@pytest.mark.parametrize("text", ["{", "{]", '{"a":' * 100_000])
def test_what_begins_like_json_and_is_none_is_refused(tmp_path: Path, text: str) -> None:
    done = said(tmp_path, text, "format")

    assert done.status == 1
    assert done.err.startswith("handrail: the text begins like JSON and is none")


def test_format_writes_the_text_anew_and_refuses_what_is_no_plan(tmp_path: Path) -> None:
    assert said(tmp_path, "feat(x): t\n\nd\n- [ ]: a\n    - [ ]: b", "format").out == (
        "feat(x): t\n\nd\n\n- [ ]: a\n  - [ ]: b\n"
    )
    assert data(tmp_path, "feat:", "format") == {"text": "feat:\n"}
    assert data(tmp_path, HALTED, "format")["error"]["code"] == "task_malformed"
    refused = said(tmp_path, HALTED, "format")
    assert (refused.status, refused.out) == (1, "")
    assert refused.err.splitlines()[0] == "handrail: line 3: this looks like a task and is not written as one"
    unfit = {"header": {"type": "feat", "scope": "x", "title": "t"}, "description": "a\n- Key: Value"}
    refused = said(tmp_path, json.dumps(unfit), "format")
    assert refused.err.splitlines()[0].startswith("handrail: line 2: this line of the description")


@pytest.mark.parametrize(
    ("text", "stage", "shown"), [("", 0, "0"), ("feat(x): t\n\nd", 2, "2/3"), (PLAN, 5, "5")]
)
def test_the_stage_is_printed(tmp_path: Path, text: str, stage: int, shown: str) -> None:
    assert data(tmp_path, text, "stage") == {"stage": stage}
    assert said(tmp_path, text, "stage").out == f"{shown}\n"


def test_a_plan_is_converted_with_a_report(tmp_path: Path) -> None:
    done = said(tmp_path, COMMIT, "convert")
    assert (done.out, done.err) == ("feat(api): t\n\nd\n\n- [ ]: A: b\n", "")

    done = said(tmp_path, PLAN, "convert")
    assert done.out == (
        "feat(x): t\n\nd\n\n* Go on\n\nConstraints:\n- Never: x\n\nTasks [ ]:\n- [x] Write it: Write it\n"
        "  - [x] Test it: Test it\n"
    )
    assert (
        done.err.splitlines()[0] == "details_repeated: a task without details repeats its summary: `Write it`"
    )
    found = data(tmp_path, PLAN, "convert", "--to", "planner")
    assert found == {"dialect": "planner", "text": PLAN, "notes": []}
    assert [one["code"] for one in data(tmp_path, PLAN, "convert")["notes"]][-1] == "direction_in_description"
    assert said(tmp_path, "feat(x):", "convert").status == 1


def test_a_task_is_marked(tmp_path: Path) -> None:
    assert said(tmp_path, PLAN, "mark", "write").out == PLAN.replace("[ ]: Write", "[x]: Write")
    assert said(tmp_path, PLAN, "mark", "--open", "write-it/test-it").out == PLAN.replace("[x]", "[ ]")
    complete = PLAN.replace("[ ]", "[x]").replace("Go on", "~~~ COMPLETE ~~~")
    done = said(tmp_path, complete, "mark", "--open", "test")
    assert done.err.startswith("marker_removed: ")
    assert data(tmp_path, complete, "mark", "--open", "test")["warnings"] == ["marker_removed"]
    refused = said(tmp_path, PLAN, "mark", "it")
    assert refused.err.splitlines() == [
        "handrail: `it` may mean 2 tasks: write-it, write-it/test-it",
        "  name one of them whole, or by its path",
    ]


def test_the_type_of_several_changes_is_decided(tmp_path: Path) -> None:
    assert run_command("plan", "type", "docs", "ci", "lint", cwd=tmp_path).out == "ci\n"
    assert run_command("plan", "type", "docs", "feat", "--json", cwd=tmp_path).data == {"type": "feat"}
    unknown = run_command("plan", "type", "docs", "spec", cwd=tmp_path)
    assert (unknown.status, unknown.err.splitlines()[0]) == (1, "handrail: `spec` is no type of a change")


def test_a_text_comes_from_stdin_too() -> None:
    assert run_handrail("plan", "stage", stdin=PLAN) == CommandResult(0, "5\n", "")


def test_what_is_no_text_or_no_file_is_told(tmp_path: Path) -> None:
    done = said(tmp_path, b"feat(x): \xff", "parse")
    assert (done.status, done.err.splitlines()[0].endswith("byte 10 is no UTF-8")) == (1, True)
    missing = run_command("plan", "parse", "nowhere", cwd=tmp_path)
    assert (missing.status, missing.err.splitlines()[0]) == (3, "handrail: no file is called `nowhere`")


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (PLAN, 0),
        ("fix: a title\n\nbody\n", 0),
        ("# a comment\nfix: t\n# more\n\nbody\n# ---- >8 ----\n- [X]: cut\n", 0),
        ("Merge branch 'a'\n", 0),
        ("fixup! whatever\n", 0),
        (HALTED, 1),
        ("ci(x): t\n", 1),
        ("whatever\n", 1),
        ("", 1),
    ],
)
def test_the_hook_lets_only_valid_messages_pass(tmp_path: Path, message: str, status: int) -> None:
    done = run_command("plan", "hook", put(tmp_path, message), cwd=tmp_path)

    assert (done.status, bool(done.err)) == (status, bool(status))


def test_git_makes_no_commit_that_the_hook_refuses(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }

    def git(*words: str) -> int:
        done = subprocess.run(
            ["git", *words],  # noqa: S607 - whichever git there is
            cwd=tmp_path,
            env=environment,
            check=False,
            capture_output=True,
        )
        return done.returncode

    assert git("init", "-q") == 0
    script = tmp_path / ".git" / "hooks" / "commit-msg"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec "{PROGRAM}" plan hook "$1"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)

    assert git("commit", "--allow-empty", "-m", "whatever") == 1
    assert git("commit", "--allow-empty", "-m", "feat(x): t\n\n- [ ]: a") == 0


def test_pre_commit_calls_the_hook() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

    assert (hook["entry"], hook["stages"]) == ("handrail plan hook", ["commit-msg"])


def test_the_hook_imports_the_plan_parser_and_nothing_that_serves_stores_or_decides(tmp_path: Path) -> None:
    imported = list_imports(tmp_path, "plan", "hook", str(put(tmp_path, "feat(x): t\n\n- [ ]: a\n")))

    ours = {name for name in imported if name.startswith("handrail.")}
    assert "handrail.documents.plan.parse" in ours
    assert len(ours) <= 45, sorted(ours)
    rooms = {name.split(".")[1] for name in ours}
    assert not rooms & {"dashboard", "drawing", "http", "mcp", "plans", "skills", "stores"}
    documents = {name for name in ours if name.startswith("handrail.documents.")}
    assert not {name for name in documents if ".plan" not in name and name != "handrail.documents.text"}
    assert not ours & {"handrail.engine.decide", "handrail.runtime.turn", "handrail.workflows.load"}
    assert not imported & {
        "asyncio",
        "jinja2",
        "mcp",
        "psycopg",
        "re2",
        "rich",
        "sqlite3",
        "starlette",
        "yaml",
    }


def test_help_names_every_command() -> None:
    out = run_handrail("plan", "--help").out

    assert all(
        name in out for name in ("parse", "check", "format", "stage", "convert", "mark", "type", "hook")
    )


@pytest.mark.parametrize("command", [("plan", "check"), ("workflows", "check")])
def test_a_file_that_cannot_be_read_to_its_end_is_named_and_no_stack_is_shown(
    command: tuple[str, str],
) -> None:
    said = run_handrail(*command, "/proc/self/mem")

    assert (said.status, said.out) == (1, "")
    assert said.err == (
        "handrail: /proc/self/mem: Input/output error\n  see that it is there, and that you may read it\n"
    )
