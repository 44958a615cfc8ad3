"""`handrail plan` over the plan in a commit: shown, as it was, exchanged, and as a message."""

import json
from pathlib import Path

import pytest

from handrail.runtime.errors import FaultCode
from helpers.program import CommandResult, run_command, run_on_terminal
from helpers.repositories import Repo, create_repository

PLAN = "feat(x): t\n\nwhy\n\n- Never: lie\n\n- [ ]: One\n  - [ ]: Deep\n- [x]: Two\n"
COMMIT = "feat(api): t\n\nd\n\nTasks [ ]:\n- [x] A: b\n- [ ] C: d\n"
HALTED = "feat(x): t\n\n- [X]: a\n"


@pytest.fixture(params=["git"])
def repo(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    found = create_repository(request.param, tmp_path / "project", tmp_path / "home")
    for name, value in found.env.items():
        monkeypatch.setenv(name, value)
    return found


def wrote(repo: Repo, *texts: str) -> None:
    store = repo.store()
    for text in texts:
        store.swap(store.read(), text)


def here(repo: Repo, *words: str | Path) -> CommandResult:
    return run_command("plan", *words, cwd=repo.folder)


every_kind = pytest.mark.parametrize("repo", ["git", "jj"], indirect=True)


@every_kind
def test_the_plan_is_shown_with_where_it_is_kept_how_far_it_is_and_what_comes_next(repo: Repo) -> None:
    wrote(repo, PLAN)
    done = here(repo, "show")
    change = repo.store().read().change

    assert (done.status, done.err) == (0, "")
    assert done.out == (
        f"repository\t{repo.program} in {repo.folder}\nchange\t{change}\n"
        "dialect\tplanner\nstate\tparsed\nstage\t5\ntype\tfeat\nscope\tx\ntitle\tt\ndescription\t1 line\n"
        "constraint\tNever: lie\ntasks\t1 of 3 complete\nnext\tone/deep\n\n" + PLAN
    )


def test_the_plan_is_shown_to_programs_in_either_dialect(repo: Repo) -> None:
    wrote(repo, COMMIT)
    answer = here(repo, "show", "--json").data

    assert {name: answer[name] for name in ("schema", "vcs", "folder", "dialect", "state")} == {
        "schema": 1,
        "vcs": "git",
        "folder": str(repo.folder),
        "dialect": "commits",
        "state": "parsed",
    }
    assert (answer["stage"], answer["phase"], answer["next"], answer["text"]) == (2, "executing", "c", COMMIT)
    assert answer["plan"]["metadata"] == {"totalTasks": 2, "completedTasks": 1, "isComplete": False}


@every_kind
def test_a_text_that_is_no_plan_is_shown_as_such_with_what_to_do(repo: Repo) -> None:
    wrote(repo, "just words\n")
    done = here(repo, "show")

    assert done.status == 1
    assert done.out.endswith("\nstage\t0\n\njust words\n")
    assert "description:1:1" in done.err
    by_hand = "" if repo.kind == "git" else "mend it with `jj describe`, or "
    assert done.err.endswith(
        f"this text is no plan, and nothing writes over it: {by_hand}have the server of `--face planner`"
        " set a goal with `keep: true`, which keeps it below\n"
    )


@pytest.mark.parametrize(
    ("tasks", "path"),
    [
        ("- [ ]: One\n  - [ ]: Deep\n    - [x]: Deeper\n- [ ]: Two\n", "one/deep"),
        ("- [ ]: One\n  - [x]: Deep\n- [ ]: Two\n", "one"),
        ("- [x]: One\n- [x]: Two\n", None),
    ],
)
def test_what_comes_next_is_the_first_open_task_without_open_ones_below(
    repo: Repo, tasks: str, path: str | None
) -> None:
    wrote(repo, f"feat(x): t\n\nwhy\n\n{tasks}")

    assert here(repo, "show", "--json").data["next"] == path


def test_a_problem_is_shown_with_its_carets(repo: Repo) -> None:
    wrote(repo, HALTED)
    done = here(repo, "show")

    assert done.status == 1
    assert "    3 | - [X]: a\n      | ^^^^^^^^\n" in done.err
    assert here(repo, "show", "--json").data["plan"]["problems"][0]["code"] == "task_malformed"


def test_where_there_is_no_plan_it_is_said_how_one_is_begun(repo: Repo) -> None:
    done = here(repo, "show")

    assert done.status == 0
    assert done.err == "there is no plan yet: a server of `--face planner` or `--face commits` begins one\n"
    assert here(repo, "history").err == "no such version\n"
    message = here(repo, "message")
    assert (message.status, message.out) == (1, "")
    assert message.err == (
        "handrail: there is no plan yet\n  begin one with a server of `--face planner` or `--face commits`\n"
    )


def test_a_folder_without_a_repository_and_one_that_is_not_there_are_said(tmp_path: Path) -> None:
    assert run_command("plan", "show", cwd=tmp_path).status == 1
    gone = run_command("plan", "show", "--project", tmp_path / "gone", cwd=tmp_path)

    assert gone.status == 3


@pytest.mark.parametrize("repo", ["colocated"], indirect=True)
def test_a_repository_of_both_is_one_of_jj_unless_git_is_asked_for(repo: Repo) -> None:
    wrote(repo, PLAN)

    assert here(repo, "show", "--json").data["text"] == PLAN
    answer = here(repo, "show", "--vcs", "git", "--json").data
    assert (answer["vcs"], answer["text"]) == ("git", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDRAIL_VCS", "git")
        assert here(repo, "show", "--json").data == answer


@every_kind
def test_every_version_is_listed_the_newest_first_with_who_when_and_how_far(repo: Repo) -> None:
    wrote(repo, "feat(x): t\n", PLAN, COMMIT)
    rows = [line.split("\t") for line in here(repo, "history").out.splitlines()]

    assert [[row[0], *row[2:]] for row in rows] == [
        ["3", "Ann <ann@example.org>", "2", "1/2", "feat(api): t"],
        ["2", "Ann <ann@example.org>", "5", "1/3", "feat(x): t"],
        ["1", "Ann <ann@example.org>", "1", "0/0", "feat(x): t"],
    ]
    answer = here(repo, "history", "--json").data
    assert [one["number"] for one in answer["versions"]] == [3, 2, 1]
    assert (answer["next"], answer["versions"][0]["at"]) == (None, rows[0][1])
    assert here(repo, "history", "2").out == PLAN
    assert here(repo, "history", "2", "--json").data["version"]["text"] == PLAN


def test_the_versions_come_in_pages(repo: Repo) -> None:
    wrote(repo, *(f"feat(x): {number}\n" for number in range(1, 6)))
    first = here(repo, "history", "--limit", "2")
    assert first.err == "there are more: the same with --after 4\n"
    numbers = []
    after: list[str] = []
    while True:
        answer = here(repo, "history", "--limit", "2", *after, "--json").data
        numbers += [(one["number"], one["title"]) for one in answer["versions"]]
        if answer["next"] is None:
            break
        after = ["--after", str(answer["next"])]

    assert numbers == [(number, f"feat(x): {number}") for number in (5, 4, 3, 2, 1)]


def test_two_versions_are_compared(repo: Repo) -> None:
    wrote(repo, "feat(x): t\n", "feat(x): u\n")
    lines = here(repo, "history", "--diff", "1", "2").out.splitlines()

    assert lines[0].startswith("--- 1 2")
    assert lines[0].endswith("Z Ann <ann@example.org>")
    assert lines[3:5] == ["-feat(x): t", "+feat(x): u"]
    assert "+feat(x): u" in here(repo, "history", "--diff", "1", "2", "--json").data["diff"]


def test_a_version_that_is_not_there_and_two_wishes_at_once_are_said(repo: Repo) -> None:
    wrote(repo, "feat(x): t\n")
    gone = here(repo, "history", "2")

    assert (gone.status, gone.err) == (3, "handrail: no version is called `2`\n  handrail plan history\n")
    assert here(repo, "history", "--diff", "1", "7").status == 3
    assert here(repo, "history", "1", "--diff", "1", "1").status == 2


def test_texts_of_too_many_lines_are_not_compared(repo: Repo) -> None:
    wrote(repo, "a\n" * 2000, "b\n" * 2001)
    done = here(repo, "history", "--diff", "1", "2")

    assert done.status == 1
    assert done.err.startswith("handrail: a text of more than 2000 lines is not compared\n  print each with")
    assert here(repo, "history", "--diff", "1", "1").status == 0


def test_a_past_that_is_too_long_at_once_is_asked_for_in_parts(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", text="x" * 1_040_000).strip()
    tree = repo.git("mktree", text=f"100644 blob {blob}\tplan\n").strip()
    above: list[str] = []
    for _ in range(18):
        above = ["-p", repo.git("commit-tree", tree, *above, "-m", "plan").strip()]
    repo.git("update-ref", "refs/worktree/handrail/plan", above[1])
    done = here(repo, "history")

    assert done.status == 1
    assert done.err.endswith("ask for fewer with --limit\n")
    assert here(repo, "history", "--limit", "10", "--json").data["next"] == 9


def test_no_text_and_no_name_of_anybody_gives_orders_to_a_terminal(repo: Repo) -> None:
    repo.settings.write_text("[user]\n\tname = Eve \x1b[31m\n\temail = e@x\n")
    evil = "feat(x): \x1b]0;x\x07 \u202e\n\n\x9b2J\n"
    wrote(repo, "feat(x): t\n", evil)
    for words in (["show"], ["history"], ["history", "--diff", "1", "2"]):
        said = run_on_terminal("plan", *words, "--project", str(repo.folder), NO_COLOR="1").out
        assert "\\u{" in said
        assert not set(said) & set("\x1b\x07\x9b\u202e"), words
    assert here(repo, "message").out == evil


def test_the_plan_is_the_message_of_a_commit_byte_for_byte(repo: Repo) -> None:
    wrote(repo, PLAN)
    done = here(repo, "message")
    assert (done.status, done.out, done.err) == (0, PLAN, "the plan is not complete yet\n")
    complete = PLAN.replace("[ ]", "[x]") + "\n~~~ COMPLETE ~~~\n"
    wrote(repo, complete)
    done = here(repo, "message")
    assert (done.status, done.out, done.err) == (0, complete, "")

    repo.git("commit", "-q", "--allow-empty", "-F", "-", text=done.out)
    assert repo.git("log", "-1", "--format=%B") == complete + "\n"


def test_a_push_and_a_pull_say_what_came_of_them(repo: Repo, tmp_path: Path) -> None:
    repo.git("init", "-q", "--bare", str(tmp_path / "far.git"))
    repo.git("remote", "add", "origin", "../far.git")
    wrote(repo, "a\n")
    ref = "refs/handrail/plans/main"
    assert here(repo, "push").err == f"sent to `origin`, where it stands under `{ref}`\n"
    assert here(repo, "push", "origin").err == f"`{ref}` of `origin` has the same plan already\n"
    wrote(repo, "b\n")
    assert here(repo, "pull").err == (
        f"the plan here is newer than `{ref}` of `origin`: `handrail plan push` sends it\n"
    )
    store = repo.store()
    store.begin_new(store.read())
    assert here(repo, "pull").err == f"taken from `{ref}` of `origin`\n"
    store.begin_new(store.read())
    wrote(repo, "other\n")
    answer = here(repo, "pull", "--json").data

    assert (answer["remote"], answer["ref"], answer["moved"]) == ("origin", ref, "taken")
    assert repo.git("cat-file", "blob", f"{answer['archived']}:plan") == "other\n"
    store.begin_new(store.read())
    wrote(repo, "another\n")
    stored = here(repo, "pull").err.splitlines()
    assert stored[1].startswith("what stood here is kept as `refs/handrail/done/")


def test_what_a_remote_archives_is_told(repo: Repo, tmp_path: Path) -> None:
    repo.git("init", "-q", "--bare", str(tmp_path / "far.git"))
    repo.git("remote", "add", "origin", "../far.git")
    wrote(repo, "feat(x): t\n\nwhy\n\n- [x]: One\n\n~~~ COMPLETE ~~~\n")
    here(repo, "push")
    store = repo.store()
    store.begin_new(store.read())
    wrote(repo, "feat(x): next\n")

    said = here(repo, "push").err.splitlines()[1]
    assert said.startswith("what stood there is kept at `origin` as `refs/handrail/done/")


def test_a_failure_of_a_remote_is_told_to_people_and_to_programs(repo: Repo) -> None:
    done = here(repo, "pull", "--json")

    assert done.status == 1
    assert json.loads(done.out)["error"] == {
        "code": FaultCode.VCS_NO_REMOTE,
        "message": "this repository has no remote",
        "repair": "add one: `git remote add origin URL`",
    }


@pytest.mark.parametrize("repo", ["jj"], indirect=True)
def test_jj_sends_a_plan_with_its_commit_and_says_so(repo: Repo) -> None:
    change = repo.store().read().change
    sent, taken = here(repo, "push"), here(repo, "pull")

    assert (sent.status, taken.status) == (1, 1)
    first = "handrail: in jj the plan is the description of its commit, and travels with it"
    assert sent.err == f"{first}\n  run it yourself: jj git push --change {change[:12]}\n"
    assert taken.err == (
        f"{first}\n  run it yourself: jj git fetch, then jj bookmark track NAME@REMOTE for its bookmark,"
        " and jj edit its change\n"
    )
