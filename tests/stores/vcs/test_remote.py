"""A plan is exchanged with a remote of git, and nothing that stands on either side is ever written over."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from handrail.runtime.errors import Fault, TextConflict
from handrail.runtime.ports.turn import DescriptionSync, ExchangeOutcome, ExchangeResult
from helpers.repositories import Repo, create_repository, replace_program

REF = "refs/handrail/plans/main"
SENT = ExchangeResult("origin", REF, ExchangeOutcome.SENT)
TAKEN = ExchangeResult("origin", REF, ExchangeOutcome.TAKEN)
SAME = ExchangeResult("origin", REF, ExchangeOutcome.SAME)
DONE = "feat(x): done\n\nwhy\n\n- [x]: One\n\n~~~ COMPLETE ~~~\n"


@dataclass(frozen=True)
class Pair:
    """Two machines, and the repository that both know as `origin`."""

    one: Repo
    two: Repo
    far: Path

    def there(self, *words: str) -> str:
        return self.one.run("git", *words, folder=self.far)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    far = tmp_path / "far.git"
    repos = [
        create_repository("git", tmp_path / name / "project", tmp_path / name / "home")
        for name in ("one", "two")
    ]
    repos[0].git("init", "-q", "--bare", str(far))
    for repo in repos:
        repo.git("remote", "add", "origin", str(far))
    return Pair(repos[0], repos[1], far)


def sharing(repo: Repo) -> DescriptionSync:
    found = repo.carried().sharing
    assert found is not None
    return found


def wrote(repo: Repo, *texts: str) -> str:
    """Write these texts; the commit that the plan is at then."""
    store = repo.store()
    for text in texts:
        store.swap(store.read(), text)
    return repo.git("rev-parse", "refs/worktree/handrail/plan").strip()


def text(repo: Repo) -> str:
    return repo.store().read().text


def shared(pair: Pair, *texts: str) -> None:
    """Both have a plan of these texts."""
    wrote(pair.one, *texts)
    assert sharing(pair.one).push() == SENT
    assert sharing(pair.two).pull() == TAKEN


def test_a_plan_travels_with_all_its_texts_and_its_change_and_goes_on_there(pair: Pair) -> None:
    shared(pair, "a\n", "b\n")
    assert pair.two.store().read() == pair.one.store().read()
    assert sharing(pair.two).pull() == sharing(pair.one).push() == SAME
    past = pair.two.carried().past
    assert past.texts(tuple(one.name for one in past.versions())) == ("a\n", "b\n")

    wrote(pair.two, "c\n")
    assert sharing(pair.two).push() == SENT
    assert sharing(pair.one).pull() == TAKEN
    assert text(pair.one) == "c\n"


def test_only_the_plan_travels(pair: Pair) -> None:
    pair.one.git("tag", "-a", "-m", "x", "v1")
    wrote(pair.one, "a\n")
    sharing(pair.one).push()
    sharing(pair.two).pull()

    assert pair.there("for-each-ref", "--format=%(refname)") == f"{REF}\n"
    refs = pair.two.git("for-each-ref", "--format=%(refname)").split()
    assert refs == ["refs/heads/main", "refs/worktree/handrail/plan"]
    assert not (pair.two.folder / ".git" / "FETCH_HEAD").exists()


def test_a_plan_here_that_is_newer_is_left_by_a_pull(pair: Pair) -> None:
    shared(pair, "a\n")
    wrote(pair.two, "b\n")

    assert sharing(pair.two).pull() == ExchangeResult("origin", REF, ExchangeOutcome.AHEAD)
    assert text(pair.two) == "b\n"


def test_a_remote_that_is_further_is_not_written_over(pair: Pair) -> None:
    shared(pair, "a\n")
    wrote(pair.one, "b\n", "c\n")
    sharing(pair.one).push()
    with pytest.raises(TextConflict, match="the plan at `origin` is 2 versions further") as caught:
        sharing(pair.two).push()

    assert caught.value.repair == "run `handrail plan pull` first"
    assert caught.value.texts == ("a\n", "c\n")


def test_a_plan_that_was_changed_on_both_sides_is_refused_with_both_named(pair: Pair) -> None:
    shared(pair, "a\n")
    there = wrote(pair.one, "theirs\n")
    sharing(pair.one).push()
    mine = wrote(pair.two, "mine\n", "mine too\n")
    for exchange in (sharing(pair.two).push, sharing(pair.two).pull):
        with pytest.raises(TextConflict) as caught:
            exchange()
        assert caught.value.message == (
            "the plan was changed on both sides: 2 versions here, `mine too`,"
            " and 1 version at `origin`, `theirs`"
        )
        assert "`handrail plan pull --archive`" in caught.value.repair
    assert (text(pair.two), pair.there("rev-parse", REF).strip()) == ("mine too\n", there)

    change = pair.two.store().read().change
    archive = f"refs/handrail/done/{change}-{mine}"
    for _ in range(2):  # the same text may be left twice
        assert sharing(pair.two).pull(archive=True) == ExchangeResult(
            "origin", REF, ExchangeOutcome.TAKEN, archive
        )
        assert pair.two.git("cat-file", "blob", f"{archive}:plan") == "mine too\n"
        assert text(pair.two) == "theirs\n"
        pair.two.git("update-ref", "refs/worktree/handrail/plan", mine)


def test_another_plan_is_archived_by_a_pull(pair: Pair) -> None:
    wrote(pair.one, "theirs\n")
    sharing(pair.one).push()
    mine = wrote(pair.two, "mine\n")
    change = pair.two.store().read().change

    left = f"refs/handrail/done/{change}-{mine}"
    assert sharing(pair.two).pull() == ExchangeResult("origin", REF, ExchangeOutcome.TAKEN, left)
    assert (text(pair.two), pair.two.git("rev-parse", left).strip()) == ("theirs\n", mine)


def test_another_plan_at_the_remote_that_is_not_complete_is_not_written_over(pair: Pair) -> None:
    wrote(pair.one, "theirs\n")
    sharing(pair.one).push()
    wrote(pair.two, "mine\n")
    with pytest.raises(
        TextConflict, match=r"another plan that is not complete: `theirs`.*is `mine`"
    ) as caught:
        sharing(pair.two).push()

    assert "push this one under another name with --name" in caught.value.repair
    sent = sharing(pair.two).push(name="team/mine")
    assert sent == ExchangeResult("origin", "refs/handrail/plans/team/mine", ExchangeOutcome.SENT)
    assert sharing(pair.one).pull("origin", "team/mine").moved is ExchangeOutcome.TAKEN
    assert text(pair.one) == "mine\n"


def test_a_complete_plan_at_the_remote_makes_room_and_is_archived_there(pair: Pair) -> None:
    done = wrote(pair.one, DONE)
    change = pair.one.store().read().change
    sharing(pair.one).push()
    wrote(pair.two, "next\n")

    archive = f"refs/handrail/done/{change}-{done}"
    assert sharing(pair.two).push() == ExchangeResult("origin", REF, ExchangeOutcome.SENT, archive)
    assert pair.there("cat-file", "blob", f"{archive}:plan") == DONE
    assert pair.there("cat-file", "blob", f"{REF}:plan") == "next\n"


@pytest.mark.parametrize("stands", ["", "a\n", DONE])
def test_whoever_pushes_in_the_moment_between_looking_and_sending_is_not_written_over(
    pair: Pair, stands: str
) -> None:
    if stands:
        wrote(pair.one, stands)
        sharing(pair.one).push()
    rival = wrote(pair.one, DONE + "rival\n" if stands == DONE else "rival\n")
    wrote(pair.two, "mine\n")
    if stands == "a\n":
        sharing(pair.two).pull()
        wrote(pair.two, "mine\n")
    faster = (
        f'case " $* " in *" push "*) (cd {pair.one.folder} && $REAL push -q {pair.far} {rival}:{REF});; esac'
    )
    with pytest.raises(TextConflict, match="somebody else has pushed at the same moment") as caught:
        sharing(replace_program(pair.two, faster)).push()

    assert caught.value.repair == "run the same command again: it sees what stands there now"
    assert pair.there("rev-parse", REF).strip() == rival
    assert pair.there("for-each-ref", "refs/handrail/done") == ""


def test_of_two_who_push_at_once_one_is_sent_and_the_other_told(pair: Pair) -> None:
    shared(pair, "a\n")
    wrote(pair.one, "one\n")
    wrote(pair.two, "two\n")

    def pushed(repo: Repo) -> str:
        try:
            return str(sharing(repo).push().moved)
        except Fault as fault:
            return fault.code

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(pushed, (pair.one, pair.two))) == ["conflict", "sent"]


def test_a_write_in_the_moment_between_looking_and_taking_is_not_lost(pair: Pair) -> None:
    shared(pair, "a\n")
    wrote(pair.one, "b\n")
    sharing(pair.one).push()
    mine = wrote(pair.two, "mine\n")
    pair.two.git("update-ref", "refs/worktree/handrail/plan", f"{mine}^")
    late = f'case " $* " in *" update-ref "*) $REAL update-ref refs/worktree/handrail/plan {mine};; esac'
    with pytest.raises(TextConflict):
        sharing(replace_program(pair.two, late)).pull()

    assert text(pair.two) == "mine\n"


def test_worktrees_have_plans_of_their_own_and_each_is_sent_by_its_branch(pair: Pair) -> None:
    wrote(pair.one, "a\n")
    beside = pair.one.folder.parent / "beside"
    pair.one.git("worktree", "add", "-q", "-b", "side", str(beside))
    other = Repo("git", beside, pair.one.home)
    wrote(other, "b\n")
    sharing(pair.one).push()
    sharing(other).push()

    assert pair.there("cat-file", "blob", f"{REF}:plan") == "a\n"
    assert pair.there("cat-file", "blob", "refs/handrail/plans/side:plan") == "b\n"


def test_a_remote_by_a_path_of_its_own_and_one_of_another_hash_are_spoken_to(tmp_path: Path) -> None:
    one = Repo("git", tmp_path / "one", tmp_path / "home")
    for folder in (one.folder, one.home):
        folder.mkdir()
    one.settings.write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n")
    one.git("init", "-q", "--object-format=sha256", "-b", "main")
    one.git("init", "-q", "--bare", "--object-format=sha256", str(tmp_path / "far.git"))
    one.git("remote", "add", "upstream", "../far.git")
    wrote(one, "a\n")

    assert sharing(one).push() == ExchangeResult("upstream", REF, ExchangeOutcome.SENT)
    assert sharing(one).pull() == ExchangeResult("upstream", REF, ExchangeOutcome.SAME)
