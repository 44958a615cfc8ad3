"""What a project brings for a program to run never runs while a description is read or written."""

from pathlib import Path

import pytest

from handrail.runtime.errors import Fault
from handrail.stores.vcs.commands import build_environment
from helpers.planted_programs import FOR_JJ, plant_everything, plant_in_git, plant_marking_program
from helpers.repositories import Repo, create_repository, find_jj


def _everything_is_done(repo: Repo) -> None:
    store = repo.store()
    done = store.swap(store.read(), "mine\n")
    done = store.swap(done, "more\n")
    assert store.changes(5).total > 0
    assert store.begin_new(done).text == ""


def test_nothing_that_a_repository_of_jj_brings_is_run(jj: Repo) -> None:
    mark, repo = plant_marking_program(jj)
    (jj.folder / "file").write_text("x")
    (jj.folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (jj.folder / ".jj" / "repo" / "config.toml").write_text(FOR_JJ.format(evil=mark.parent / "evil" / "evil"))
    if jj.kind == "colocated":
        plant_in_git(jj, mark)
    _everything_is_done(repo)

    assert not mark.exists(), mark.read_text()


def test_a_program_in_the_project_is_not_taken_for_the_one_that_is_installed(repo: Repo) -> None:
    mark, _ = plant_marking_program(repo)
    (mark.parent / "evil" / "evil").rename(repo.folder / repo.program)
    for path in (f".:{repo.path}", f":{repo.path}", f"{repo.path}:"):
        Repo(repo.kind, repo.folder, repo.home, path).store().read()

    assert not mark.exists(), mark.read_text()


def test_who_the_user_is_stays_in_the_environment_and_what_steers_does_not() -> None:
    env = {
        "HOME": "/h",
        "PATH": "/a:b:/c",
        "GIT_DIR": "/d",
        "JJ_USER": "Ann",
        "GIT_EDITOR": "vi",
        "PAGER": "p",
    }
    seen = build_environment(env)

    assert {name: seen.get(name) for name in env} == {
        "HOME": "/h",
        "PATH": "/a:/c",
        "GIT_DIR": None,
        "JJ_USER": "Ann",
        "GIT_EDITOR": "false",
        "PAGER": None,
    }


def test_the_same_repository_of_jj_runs_it_for_whoever_calls_jj_bare(tmp_path: Path) -> None:
    mark, repo = plant_marking_program(create_repository("jj", tmp_path / "project", tmp_path / "home"))
    program = mark.parent / "evil" / "evil"
    (repo.folder / ".jj" / "repo" / "config.toml").write_text(FOR_JJ.format(evil=program))
    repo.run("sh", "-c", f"{find_jj()} describe -m x || true")

    assert "/evil/" in mark.read_text()


def test_nothing_that_a_repository_of_git_brings_is_run(git: Repo) -> None:
    mark, repo = plant_everything(git)
    _everything_is_done(repo)

    assert not mark.exists(), mark.read_text()


def test_the_same_repository_of_git_runs_it_for_whoever_calls_git_bare(git: Repo) -> None:
    mark, repo = plant_everything(git)
    repo.run("sh", "-c", "git status; git update-ref refs/heads/x HEAD; true")

    assert "reference-transaction" in mark.read_text()
    assert "/evil/evil" in mark.read_text()


def test_a_symbolic_ref_that_is_planted_moves_no_branch(git: Repo) -> None:
    main = git.git("rev-parse", "main")
    blob = git.git("hash-object", "-w", "--stdin", text="theirs\n").strip()
    tree = git.git("mktree", text=f"100644 blob {blob}\tplan\n").strip()
    commit = git.git("commit-tree", tree, "-m", "x").strip()
    git.git("branch", "side", commit)
    git.git("symbolic-ref", "refs/worktree/handrail/plan", "refs/heads/side")
    store = git.store()
    store.swap(store.read(), "mine\n")

    assert git.git("rev-parse", "side").strip() == commit
    assert git.git("rev-parse", "main") == main
    assert store.read().text == "mine\n"


def test_an_object_that_is_replaced_is_read_as_it_was_written(git: Repo) -> None:
    store = git.store()
    store.swap(store.read(), "mine\n")
    theirs = git.git("hash-object", "-w", "--stdin", text="theirs\n").strip()
    git.git("replace", git.git("rev-parse", "refs/worktree/handrail/plan:plan").strip(), theirs)

    assert store.read().text == "mine\n"


def test_an_object_that_is_missing_is_fetched_from_nowhere(git: Repo) -> None:
    mark, repo = plant_marking_program(git)
    program = mark.parent / "evil" / "evil"
    store = git.store()
    store.swap(store.read(), "mine\n")
    blob = git.git("rev-parse", "refs/worktree/handrail/plan:plan").strip()
    with (git.folder / ".git" / "config").open("a") as config:
        config.write(
            '[extensions]\n\tpartialClone = far\n[core]\n\trepositoryFormatVersion = 1\n[remote "far"]\n'
        )
        config.write(f'\turl = "ext::{program} %S"\n\tpromisor = true\n\tuploadpack = {program}\n')
        config.write('[protocol]\n\tallow = always\n[protocol "ext"]\n\tallow = always\n')
    (git.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(Fault):
        repo.store().read()

    assert not mark.exists(), mark.read_text()
