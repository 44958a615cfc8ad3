"""What settings, other programs and bad luck do to a write: seen by reading again, and mended or said."""

from pathlib import Path

import pytest

from handrail.runtime.errors import BadVcsConfig, TextConflict, VcsInternal
from helpers.repositories import Repo, create_repository, replace_program

LONG = "a line of words that is much longer than any terminal is wide, " * 8 + "\n"
BEFORE = 'case "$*" in *describe*) OP=$("$REAL" --ignore-working-copy op log --no-graph -n1 -T id);'
AFTER = f'{BEFORE} "$REAL" "$@" || exit; {{}}; exit;; esac'
NO_CONVERGE = (
    """case "$*" in *converge*) echo "error: unrecognized subcommand 'converge'" >&2; exit 2;; esac"""
)


def _set(repo: Repo, settings: str) -> None:
    """Put settings before those that are there, which are in a table."""
    repo.settings.write_text(f"{settings}\n\n{repo.settings.read_text()}")


@pytest.mark.parametrize(
    "settings",
    [
        'ui.log-word-wrap = true\nui.color = "always"\nui.graph.style = "ascii"\nui.paginate = "auto"',
        "template-aliases.description = \"'shadow'\"\ntemplate-aliases.empty = \"'shadow'\"",
        "templates.commit_trailers = \"'Signed-off-by: me'\"",
        'templates.log = "\'x\'"\ntemplates.commit_summary = "\'x\'"\nrevsets.log = "none()"',
        'revset-aliases."@" = "root()"\nrevset-aliases.handrail_expected = "all()"',
        'templates.draft_commit_description = "\'draft\'"\nui.default-description = "default"',
    ],
    ids=["wrapped", "shadowed", "trailers", "templates", "revsets", "drafts"],
)
def test_settings_of_the_user_change_neither_what_is_read_nor_what_is_written(
    settings: str, tmp_path: Path
) -> None:
    repo = create_repository("jj", tmp_path / "project", tmp_path / "home")
    _set(repo, settings)
    store = repo.store()
    done = store.swap(store.read(), LONG)

    assert done.text == LONG
    assert store.swap(done, "short\n") == store.read()


@pytest.mark.parametrize("said", ["nonsense", ""])
def test_settings_that_make_jj_say_something_else_are_named(said: str, tmp_path: Path) -> None:
    repo = create_repository("jj", tmp_path / "project", tmp_path / "home")
    _set(repo, f"template-aliases.'json(x)' = \"'{said}'\"")
    with pytest.raises(BadVcsConfig, match="jj says something else than it was asked") as caught:
        repo.store().read()

    assert "-aliases`" in caught.value.repair


@pytest.mark.parametrize("words", ["exactly(x, y)", "description(x)"])
def test_settings_that_take_the_words_out_of_our_mouth_are_named(words: str, tmp_path: Path) -> None:
    repo = create_repository("jj", tmp_path / "project", tmp_path / "home")
    _set(repo, f"revset-aliases.'{words}' = 'none()'")
    store = repo.store()
    with pytest.raises(BadVcsConfig, match="neither writes the text nor says why") as caught:
        store.swap(store.read(), "mine\n")

    assert "-aliases`" in caught.value.repair
    assert repo.jj("log", "--no-graph", "-r", "@", "-T", "description") == ""


def test_commits_are_not_signed_whatever_the_settings_say(jj: Repo) -> None:
    _set(jj, '[signing]\nbehavior = "own"\nbackend = "gpg"\nbackends.gpg.program = "no-such-program"')
    store = jj.store()

    assert store.swap(store.read(), "mine\n").text == "mine\n"


def test_the_user_is_the_author_and_a_user_without_a_name_may_write_too(jj: Repo) -> None:
    store = jj.store()
    store.swap(store.read(), "mine\n")

    assert jj.jj("log", "--no-graph", "-r", "@", "-T", "committer") == "Ann <ann@example.org>"
    jj.settings.unlink()
    nobody = jj.store()
    assert nobody.swap(nobody.read(), "more\n").text == "more\n"


def test_git_that_knows_nobody_writes_as_handrail(git: Repo) -> None:
    git.settings.write_text("[user]\n\tuseConfigOnly = true\n")
    store = git.store()
    store.swap(store.read(), "mine\n")

    said = git.git("log", "--format=%an <%ae>|%cn <%ce>", "refs/worktree/handrail/plan")
    assert said == "Handrail <handrail@localhost>|Handrail <handrail@localhost>\n"


def test_a_conflicted_commit_says_so_and_takes_a_text(jj: Repo) -> None:
    for side in ("a", "b"):
        jj.jj("new", "root()")
        (jj.folder / "file").write_text(side)
        jj.jj("bookmark", "create", side)
    jj.jj("new", "a", "b")
    store = jj.store()
    done = store.swap(store.read(), "mine\n")

    assert (done.conflicted, done.text) == (True, "mine\n")


def test_dirty_files_are_taken_along_by_a_write_and_leave_nothing_stale(jj: Repo) -> None:
    store = jj.store()
    before = store.read()
    for number in range(3):
        (jj.folder / f"file{number}").write_text("x")
        before = store.swap(before, f"{number}\n")

    assert store.changes(9).total == 3
    assert "divergent" not in jj.jj("log")


def test_a_write_that_says_it_failed_and_did_not_is_known_by_reading(jj: Repo) -> None:
    script = AFTER.format("echo 'Internal error: Concurrent checkout' >&2; exit 255")
    store = replace_program(jj, script).store()

    assert store.swap(store.read(), "mine\n").text == "mine\n"


def test_a_renewal_that_says_it_failed_and_did_not_is_known_by_reading(repo: Repo) -> None:
    command = "update-ref --no-deref --stdin" if repo.kind == "git" else " new "
    script = f'case "$*" in *"{command}"*) "$REAL" "$@"; echo "error: and yet" >&2; exit 1;; esac'
    store = replace_program(repo, script).store()
    before = store.swap(store.read(), "plan\n")

    assert store.begin_new(before).text == ""
    assert store.read().text == ""


def test_a_stand_in_that_says_nothing_as_no_jj_does_is_named(tmp_path: Path) -> None:
    repo = create_repository("jj", tmp_path / "project", tmp_path / "home")
    with pytest.raises(BadVcsConfig, match="jj says something else than it was asked: b''"):
        replace_program(repo, 'case "$*" in *" log "*) exit;; esac').store().read()


def test_a_write_that_failed_inside_is_known_by_reading_too(jj: Repo) -> None:
    script = 'case "$*" in *describe*) echo "Internal error: Failed to check out commit" >&2; exit 255;; esac'
    store = replace_program(jj, script).store()
    before = store.read()
    with pytest.raises(VcsInternal, match="jj failed inside: Internal error: Failed to check out commit"):
        store.swap(before, "mine\n")

    assert store.read() == before


def test_a_write_after_which_nothing_can_be_read_says_that_it_is_not_known(repo: Repo) -> None:
    command = "update-ref" if repo.kind == "git" else "describe"
    script = f'case "$*" in *{command}*) echo "[" > {repo.settings}; exit 255;; esac'
    store = replace_program(repo, script).store()
    before = store.read()
    with pytest.raises(Exception, match="; whether the text was written is not known: ") as caught:
        store.swap(before, "mine\n")

    assert getattr(caught.value, "repair", "").endswith("; then read what stands")


def test_a_look_at_files_that_comes_between_is_merged(jj: Repo) -> None:
    jj.jj("describe", "-m", "old")
    (jj.folder / "file").write_text("x")
    store = replace_program(jj, AFTER.format('"$REAL" --at-op "$OP" restore --from "root()"')).store()
    store.changes(1)

    done = store.swap(store.read(), "mine\n")

    assert (done.text, done.divergent) == ("mine\n", False)
    assert store.read() == done


def test_two_texts_written_at_once_are_both_kept_and_told(jj: Repo) -> None:
    store = replace_program(jj, AFTER.format('"$REAL" --at-op "$OP" describe -m theirs')).store()
    before = store.read()
    with pytest.raises(TextConflict, match=r"begins `(theirs|mine)` and begins `(theirs|mine)`") as caught:
        store.swap(before, "mine\n")

    assert sorted(caught.value.texts) == ["mine\n", "theirs\n"]
    assert store.read().divergent


def test_a_jj_that_cannot_converge_yet_has_the_commit_with_the_old_text_abandoned(jj: Repo) -> None:
    jj.jj("describe", "-m", "old")
    (jj.folder / "file").write_text("x")
    script = AFTER.format('"$REAL" --at-op "$OP" restore --from "root()"')
    store = replace_program(jj, f"{NO_CONVERGE}\n{script}").store()
    store.changes(1)
    done = store.swap(store.read(), "mine\n")

    assert (done.text, done.divergent) == ("mine\n", False)


def test_a_jj_that_cannot_converge_yet_keeps_two_new_texts(jj: Repo) -> None:
    script = AFTER.format('"$REAL" --at-op "$OP" describe -m theirs')
    store = replace_program(jj, f"{NO_CONVERGE}\n{script}").store()
    before = store.read()
    with pytest.raises(TextConflict) as caught:
        store.swap(before, "mine\n")

    assert sorted(caught.value.texts) == ["mine\n", "theirs\n"]


def test_the_text_is_in_no_list_of_processes_and_in_no_log_of_operations(jj: Repo) -> None:
    seen = jj.home / "seen"
    store = replace_program(jj, f'printf "%s\\n" "$@" >> {seen}').store()
    store.swap(store.swap(store.read(), "a secret\n"), "another secret\n")

    assert "secret" not in seen.read_text()
    assert "secret" not in jj.jj("op", "log")
