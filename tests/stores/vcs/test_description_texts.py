"""Bytes in, bytes out: whatever text a person or an agent writes is the text that is read."""

import pytest

from handrail.runtime.errors import Unreadable
from helpers.repositories import Repo

EXACT = {
    "a task line first": "- [ ] feat(a): b\n",
    "an option first": "--help\n",
    "several breaks at the end": "text\n\n\n",
    "breaks at the start": "\n\ntext\n",
    "spaces at line ends": "a  \n\t\n  b \t\n",
    "foreign line breaks": "a\r\nb\rc\r\n",
    "control characters": "\x1b[31m\x07\x08\x7f\x01\n",
    "a byte order mark": "\ufefftext\n",
    "unusual separators": "a\u2028b\u2029c\u0085d\n",
    "parts of letters": "e\u0301 \u00e9\n",
    "beyond the first plane": "\U0001f600 \U0010ffff\n",
    "lines that editors drop": "# a\nJJ: b\nJJ: ignore-rest\n# ---- >8 ----\nc\n",
    "quotes": "a \"b\" 'c' \\ \\n \\x41 \"\"\" ''' ${d} %e\n",
    "trailers": "a\n\nSigned-off-by: B <b@example.org>\nChange-Id: x\n",
    "only breaks": "\n",
}
ADDED = {"no break at the end": "text", "a carriage return at the end": "text\r", "a space": " "}


def test_a_text_is_read_as_it_was_written_and_replaced_by_the_next(repo: Repo) -> None:
    store, other = repo.store(), repo.store()
    before = store.read()
    for name, text in EXACT.items():
        done = store.swap(before, text)
        assert done.text == text, name
        assert other.read().text == text, name
        before = done


def test_a_line_break_is_added_where_there_is_none(repo: Repo) -> None:
    store = repo.store()
    before = store.read()
    for name, text in ADDED.items():
        done = store.swap(before, text)
        assert (done.text, store.read().text) == (f"{text}\n", f"{text}\n"), name
        before = done


def test_a_long_text_is_kept_whole(repo: Repo) -> None:
    store = repo.store()
    text = "- [ ] a task with é\n" * 15_000
    done = store.swap(store.read(), text)

    assert store.read() == done
    assert store.swap(done, "short\n").text == "short\n"


def test_an_empty_text_takes_the_old_one_away(repo: Repo) -> None:
    store = repo.store()
    done = store.swap(store.swap(store.read(), "text\n"), "")

    assert (done.text, store.read().text) == ("", "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\0b", "the text has a NUL character"),
        ("a\ud800", "the text has half a character"),
        ("a" * 1048576, "the text has 1048576 bytes, and 1048576 are too many"),
    ],
    ids=["NUL", "half a character", "too long"],
)
def test_a_text_that_cannot_be_kept_is_refused_before_anything_is_written(
    git: Repo, text: str, why: str
) -> None:
    store = git.store()
    before = store.read()
    with pytest.raises(Unreadable, match=why):
        store.swap(before, text)

    assert store.read() == before


def test_a_text_with_a_nul_character_that_jj_has_already_is_replaced(jj: Repo) -> None:
    jj.jj("describe", "--stdin", text="a\0b")
    store = jj.store()
    before = store.read()

    assert before.text == "a\0b\n"
    assert store.swap(before, "c\n").text == "c\n"


def test_bytes_at_the_ref_that_are_no_text_are_shown_with_marks_and_replaced(git: Repo) -> None:
    blob = git.run("sh", "-c", "printf 'a\\377b\\n' | git hash-object -w --stdin").strip()
    tree = git.git("mktree", text=f"100644 blob {blob}\tplan\n").strip()
    commit = git.git("commit-tree", tree, "-m", "by hand").strip()
    git.git("update-ref", "refs/worktree/handrail/plan", commit)
    store = git.store()
    before = store.read()

    assert (before.text, before.change) == ("a\ufffdb\n", commit)
    assert store.swap(before, "c\n").change == commit


def test_what_is_at_the_ref_and_no_text_is_said_with_the_way_out(git: Repo) -> None:
    git.git("update-ref", "refs/worktree/handrail/plan", "HEAD")
    with pytest.raises(Unreadable, match="holds no file `plan`") as caught:
        git.store().read()

    assert "git update-ref -d refs/worktree/handrail/plan" in caught.value.repair
