"""`handrail hook`: what each client is told, and that nothing of ours ever stops one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.runtime.system import data_folder, default_store_path, state_folder
from helpers.hooks import EVENTS, HookProject, backdate_last_call, get_added_context
from helpers.program import CommandResult, run_command, run_handrail

HEAVY = ("anyio", "cel_expr_python", "click", "jinja2", "mcp", "psycopg", "pydantic", "rich")


@pytest.fixture
def shop(tmp_path: Path) -> HookProject:
    (tmp_path / "shop" / "src").mkdir(parents=True)
    return HookProject(tmp_path / "shop")


# --- prompt -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["Accio", "accio", "  ACCIO \n", "Accio:"])
def test_a_word_alone_is_passed_on_at_once(shop: HookProject, typed: str) -> None:
    answer = get_added_context(shop.hook("prompt", prompt=typed))

    assert answer == (
        'The person typed "Accio": that is a word of Handrail. Call the tool `accio` of the MCP server'
        " handrail now, without a note, and do nothing else first.\nThen show the person its"
        " message_to_user, and do exactly what its instructions_to_coding_agent say."
    )


def test_what_stands_behind_the_word_is_its_note(shop: HookProject) -> None:
    answer = get_added_context(shop.hook("prompt", prompt='Reparo: resume "it"'))

    assert (
        'Call the tool `reparo` of the MCP server handrail now, with the note "resume \\"it\\"", and'
        in answer
    )


@pytest.mark.parametrize(
    ("typed", "note"),
    [
        ("/mcp__handrail__accio", "without a note"),
        ("/accio", "without a note"),
        ("/handrail:accio the tests", 'with the note "the tests"'),
        ("/mcp.handrail.accio ", "without a note"),
    ],
)
def test_a_prompt_that_was_picked_from_a_menu_is_the_word(shop: HookProject, typed: str, note: str) -> None:
    answer = get_added_context(shop.hook("prompt", prompt=typed))

    assert f"Call the tool `accio` of the MCP server handrail now, {note}, and" in answer


def test_a_word_names_the_run_that_it_is_said_to(shop: HookProject) -> None:
    shop.say("Accio")

    answer = get_added_context(shop.hook("prompt", prompt="Lumos"))

    assert answer.endswith("in state `GATHER_EDITING`.")
    assert "The task is run " in answer


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "Accio please",
        "say Accio",
        "Acciö",
        "/clear",
        "//accio",
        "next week we go on with the other thing",
        "nextly",
        "Go",
    ],
)
def test_any_other_message_is_the_agents_own_affair(shop: HookProject, typed: str) -> None:
    shop.start()

    assert shop.hook("prompt", prompt=typed) is None


@pytest.mark.parametrize("typed", ["next", "Next", "handrail  NEXT"])
def test_next_goes_on_with_the_run_called_last(shop: HookProject, typed: str) -> None:
    run = shop.start()

    answer = get_added_context(shop.hook("prompt", prompt=typed))

    assert f'`workflow_next_step {{"execution_id": "{run}"}}`' in answer
    assert answer.endswith(f"It is run {run} of `refactor`, in `survey`.")


def test_next_means_something_else_where_no_run_is_under_way(shop: HookProject) -> None:
    assert shop.hook("prompt", prompt="next") is None


def test_where_another_face_is_served_the_words_are_just_words(shop: HookProject) -> None:
    assert shop.hook("prompt", face="steps", prompt="Accio") is None
    assert get_added_context(shop.hook("prompt", face="spells", prompt="Accio"))


def test_the_words_are_those_of_the_users_own_workflow(shop: HookProject, home: Path) -> None:
    own = home / ".config" / "handrail" / "workflows"
    own.mkdir(parents=True)
    (own / "spells.yaml").write_text("tools: {Go: {who: person}, See: {reads: true}}\n")

    assert "the tool `go`" in get_added_context(shop.hook("prompt", prompt="go"))
    assert "the tool `see`" in get_added_context(shop.hook("prompt", prompt="see"))
    assert shop.hook("prompt", prompt="Accio") is None


# --- session ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_a_session_begins_with_where_the_run_is(shop: HookProject, client: str) -> None:
    run = shop.start()

    answer = shop.hook("session", client, cwd=str(shop.root / "src"))

    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert get_added_context(answer).startswith(
        f"# Where you are: Handrail leads this work\n## Run {run} of `refactor`: `survey`\n"
    )


def test_a_session_without_a_run_begins_as_it_is(shop: HookProject) -> None:
    assert shop.hook("session") is None


# --- edit ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_an_edit_that_the_state_forbids_is_denied_and_the_agent_taught(
    shop: HookProject, client: str
) -> None:
    run = shop.start()

    answer = shop.edits("src/shop.py", client=client)

    assert answer == (
        f"Not changed: src/shop.py. Run {run} of `refactor` is in `survey`, and there you may change"
        " no file.\nWhat hurts is measured, and what must not change is listed. Finish that first: "
        f'`workflow_next_step {{"execution_id": "{run}"}}` tells what it asks for, and opens the next step'
        f" once it is done.\nIf the person wants this edit now, ask them to type: handrail runs pause {run}"
    )


def test_a_patch_is_denied_if_one_of_its_files_is(shop: HookProject) -> None:
    shop.say("Accio")
    patch = "*** Begin Patch\n*** Update File: .ai/task/plan.md\n@@\n*** Add File: src/new.py\n+x\n"

    answer = shop.hook("edit", "codex", tool_name="apply_patch", tool_input={"command": patch})

    reply = answer["hookSpecificOutput"]["permissionDecisionReason"]
    assert reply.startswith("Not changed: src/new.py. Run ")
    assert "and there you may change only .ai/task/plan.md, .ai/task/atlassian/**." in reply
    assert reply.endswith("If they want this edit now, ask them which word they mean.")


def test_files_that_the_state_allows_are_edited(shop: HookProject) -> None:
    shop.say("Accio")

    assert (
        shop.edits(".ai/task/plan.md", str(shop.root / ".ai/task/plan.md"), ".ai/task/atlassian/a/b.md") == ""
    )


def test_a_step_inside_another_workflow_says_what_may_be_edited(shop: HookProject) -> None:
    own = shop.root / ".handrail" / "workflows"
    own.mkdir(parents=True)
    head = "version: 1\nauthority: sql\nsteps:\n"
    (own / "outer.yaml").write_text(f"workflow: outer\n{head}  - {{name: look, workflow: inner}}\n")
    step = "{name: read, agent: reviewer, task: Read., edits: notes.md}"
    (own / "inner.yaml").write_text(f"workflow: inner\n{head}  - {step}\n")
    assert shop.step(template_name="outer")["status"] == "ok"

    assert "is in `look/read`, and there you may change only notes.md." in shop.edits("src/shop.py")
    assert shop.edits("notes.md") == ""


def test_a_way_round_through_a_link_or_a_folder_above_is_seen(shop: HookProject) -> None:
    shop.start()
    (shop.root.parent / "link").symlink_to(shop.root)

    assert "src/shop.py" in shop.edits(str(shop.root.parent / "link" / "src" / "shop.py"))
    assert "src/shop.py" in shop.edits("src/../src/shop.py")


def test_files_outside_of_the_project_are_no_affair_of_the_run(shop: HookProject, tmp_path: Path) -> None:
    shop.start()

    assert shop.edits(str(tmp_path / "elsewhere.py"), "../elsewhere.py") == ""


def test_what_says_where_a_run_in_files_stands_is_never_edited(shop: HookProject) -> None:
    shop.say("Accio")

    for path in (".ai/task/state.json", ".ai/task/.handrail/history.jsonl"):
        assert f"Not changed: {path}. Handrail keeps the state of run" in shop.edits(path)


def test_handrails_own_records_are_edited_by_nobody_else(shop: HookProject) -> None:
    for place in (
        default_store_path(),
        data_folder() / "trusted.json",
        state_folder() / "permits" / "x.permit",
    ):
        assert shop.edits(str(place)) == (
            f"Not changed: {place}. Handrail keeps its records there, and only Handrail writes them."
        )


def test_a_run_that_nobody_calls_any_more_forbids_nothing(shop: HookProject) -> None:
    run = shop.start()
    backdate_last_call(run, 31 * 60)

    assert shop.edits("src/shop.py") == ""


def test_a_paused_run_forbids_nothing(shop: HookProject) -> None:
    run = shop.start()
    shop.step(execution_id=run, action="pause")

    assert shop.edits("src/shop.py") == ""


@pytest.mark.parametrize("tool", [None, [], {}, {"file_path": 5}, {"command": "ls -l"}])
def test_a_tool_that_names_no_file_is_used(shop: HookProject, tool: object) -> None:
    shop.start()

    assert shop.hook("edit", tool_input=tool) is None


# --- stop ---------------------------------------------------------------------------------------------------


def test_an_agent_that_stops_in_the_middle_of_a_step_is_told_once(shop: HookProject, tmp_path: Path) -> None:
    run = shop.start()
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(f'{{"tool": "workflow_next_step", "execution_id": "{run}"}}\n')

    answer = shop.hook("stop", transcript_path=str(transcript), stop_hook_active=False)

    assert answer["decision"] == "block"
    assert answer["reason"].startswith(f"Run {run} of `refactor` is in the middle of `survey`")
    assert shop.hook("stop", transcript_path=str(transcript), stop_hook_active=True) is None


def test_a_session_that_is_not_about_the_run_may_stop(shop: HookProject, tmp_path: Path) -> None:
    shop.start()
    (tmp_path / "other.jsonl").write_text("{}\n")

    assert shop.hook("stop", transcript_path=str(tmp_path / "other.jsonl")) is None
    assert shop.hook("stop", transcript_path=str(tmp_path / "gone.jsonl")) is None
    assert shop.hook("stop") is None


# --- the program --------------------------------------------------------------------------------------------


def asked(event: str, given: str, *words: str) -> CommandResult:
    """How the program ends with this on its stdin."""
    return run_handrail("hook", event, *words, stdin=given)


def test_the_program_answers_a_client_in_one_line_of_json(shop: HookProject) -> None:
    shop.start()
    given = {
        "cwd": str(shop.root),
        "hook_event_name": "PreToolUse",
        "tool_input": {"file_path": "src/shop.py"},
    }

    done = asked("edit", json.dumps(given), "--client=claude", "--face", "steps")

    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert done.out.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["prompt", "--client", "claude"], ""),
        (["prompt", "--client", "claude"], "[1]"),
        (["prompt", "--client", "claude"], "{"),
        (["prompt", "--client", "nobody"], "{}"),
        (["later", "--client", "claude", "--new-option"], "{}"),
        ([], "{}"),
    ],
)
def test_what_a_hook_does_not_understand_stops_no_client(words: list[str], given: str) -> None:
    done = asked(words[0] if words else "", given, *words[1:])

    assert (done.status, done.out) == (0, "")
    assert done.err.startswith("handrail hook: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("event", EVENTS)
def test_a_store_that_is_none_stops_no_client(shop: HookProject, event: str) -> None:
    default_store_path().parent.mkdir(parents=True)
    default_store_path().write_text("This is no database, and was never meant to be one." * 100)
    given = {
        "cwd": str(shop.root),
        "prompt": "Accio",
        "tool_input": {"file_path": "src/shop.py"},
        "transcript_path": "",
    }

    done = asked(event, json.dumps(given), "--client", "claude")

    assert (done.status, done.out) == (0, "")
    assert "cannot be asked: file is not a database" in done.err


def test_a_store_can_be_named_as_the_server_names_it(shop: HookProject, tmp_path: Path) -> None:
    shop.start()
    moved = tmp_path / "elsewhere"
    default_store_path().parent.rename(moved)
    given = json.dumps({"cwd": str(shop.root), "hook_event_name": "SessionStart"})

    for address in (str(moved / "handrail.db"), f"sqlite://{moved}/handrail.db"):
        done = asked("session", given, "--client", "claude", "--store", address)
        assert "Where you are" in done.out


def test_within_the_group_of_commands_it_is_the_same_and_tells_about_itself(shop: HookProject) -> None:
    said = run_command("hook", "--help", cwd=shop.root)
    unknown = run_command("hook", "later", cwd=shop.root)

    assert "Answer a hook of a client" in said.out
    assert (unknown.status, unknown.out) == (0, "")
    assert unknown.err.startswith("handrail hook: say: handrail hook prompt|session|edit|stop --client")


@pytest.mark.parametrize(
    ("event", "given"), [("prompt", "next"), ("prompt", "a talk"), ("edit", ""), ("session", "")]
)
def test_nothing_heavy_is_imported(shop: HookProject, event: str, given: str) -> None:
    shop.start()
    sent = {"cwd": str(shop.root), "prompt": given, "tool_input": {"file_path": "src/shop.py"}}
    answer = (
        "import sys; from handrail.__main__ import main; main(); sys.stderr.write('\\n'.join(sys.modules))"
    )
    program = f"import sys; sys.argv[1:] = ['hook', '{event}', '--client', 'claude']; {answer}"

    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {program}"],
        input=json.dumps(sent),
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    found = done.stderr.split("\n")
    assert "handrail.clients.hooks" in found
    assert [name for name in HEAVY if name in found] == []
    # msgspec and what it imports are 37 of them: the records of the one read path are its structs.
    assert len(found) < 190, len(found)
