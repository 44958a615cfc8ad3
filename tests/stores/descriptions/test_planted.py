"""What a project brings for a program to run never runs while a description is read or written."""

from pathlib import Path

import pytest

from handrail.shell.faults import Fault
from handrail.stores.descriptions.program import environment
from stores.descriptions.repos import Repo, jj_program, made

BY_NAME = ("watchman", "gpg", "gpgsm", "ssh-keygen", "ssh", "less", "more", "pager", "vi", "nano", "tput")
FOR_JJ = """
user.name = "Planted"
ui.pager = "{evil}"
ui.paginate = "auto"
ui.editor = "{evil}"
ui.diff-editor = "{evil}"
ui.merge-editor = "{evil}"
ui.diff-formatter = ["{evil}", "$left", "$right"]
ui.show-cryptographic-signatures = true
fsmonitor.backend = "watchman"
fsmonitor.watchman.register-snapshot-trigger = true
git.executable-path = "{evil}"
signing.behavior = "own"
signing.backend = "gpg"
signing.key = "x"
signing.backends.gpg.program = "{evil}"
aliases.log = ["util", "exec", "--", "{evil}"]
aliases.describe = ["util", "exec", "--", "{evil}"]
aliases.new = ["util", "exec", "--", "{evil}"]
fix.tools.evil.command = ["{evil}"]
fix.tools.evil.patterns = ["all()"]
"""
FOR_GIT = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "diff.external"),
    *("sequence.editor", "gpg.program", "credential.helper", "core.alternateRefsCommand", "pager.status"),
    *(
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.a=b.clean",
        "diff.evil.textconv",
        "diff.evil.command",
    ),
    *("filter.far.process", "trailer.sign.command", "uploadpack.packObjectsHook", "alias.status"),
)
HOOKS = (
    "reference-transaction",
    "pre-commit",
    "post-commit",
    "commit-msg",
    "post-index-change",
    "pre-auto-gc",
)


def _evil(repo: Repo) -> tuple[Path, Repo]:
    """A program that leaves a mark, under every name that could be looked for; the repository with it."""
    folder = repo.home / "evil"
    folder.mkdir()
    mark = repo.home / "ran"
    names = ("evil", *BY_NAME, *(() if repo.kind == "git" else ("git",)))
    for name in names:
        (folder / name).write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\n')
        (folder / name).chmod(0o755)
    return mark, Repo(repo.kind, repo.folder, repo.home, f"{folder}:{repo.path}")


def _everything_is_done(repo: Repo) -> None:
    store = repo.store()
    done = store.swap(store.read().version, "mine\n")
    done = store.swap(done.version, "more\n")
    assert store.changes(5).total > 0
    assert store.renew(done.version).text == ""


def test_nothing_that_a_repository_of_jj_brings_is_run(jj: Repo) -> None:
    mark, repo = _evil(jj)
    (jj.folder / "file").write_text("x")
    (jj.folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (jj.folder / ".jj" / "repo" / "config.toml").write_text(FOR_JJ.format(evil=mark.parent / "evil" / "evil"))
    if jj.kind == "colocated":
        _plant_in_git(jj, mark)
    _everything_is_done(repo)

    assert not mark.exists(), mark.read_text()


def test_a_program_in_the_project_is_not_taken_for_the_one_that_is_installed(repo: Repo) -> None:
    mark, _ = _evil(repo)
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
    seen = environment(env)

    assert {name: seen.get(name) for name in env} == {
        "HOME": "/h",
        "PATH": "/a:/c",
        "GIT_DIR": None,
        "JJ_USER": "Ann",
        "GIT_EDITOR": "false",
        "PAGER": None,
    }


def test_the_same_repository_of_jj_runs_it_for_whoever_calls_jj_bare(tmp_path: Path) -> None:
    mark, repo = _evil(made("jj", tmp_path / "project", tmp_path / "home"))
    program = mark.parent / "evil" / "evil"
    (repo.folder / ".jj" / "repo" / "config.toml").write_text(FOR_JJ.format(evil=program))
    repo.run("sh", "-c", f"{jj_program()} describe -m x || true")

    assert "/evil/" in mark.read_text()


def _plant_in_git(repo: Repo, mark: Path) -> None:
    program = mark.parent / "evil" / "evil"
    lines = [f'[include]\n\tpath = "{repo.home / "more"}"\n[protocol]\n\tallow = always\n']
    for name in FOR_GIT:
        section, _, rest = name.partition(".")
        middle, _, key = rest.rpartition(".")
        head = f'[{section} "{middle}"]' if middle else f"[{section}]"
        value = f"!{program}" if section == "alias" else str(program)
        lines.append(f'{head}\n\t{key} = "{value}"\n')
    lines.append(
        '[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n[filter "evil"]\n\trequired = true\n'
    )
    with (repo.folder / ".git" / "config").open("a") as config:
        config.writelines(lines)
    (repo.home / "more").write_text(f"[core]\n\thooksPath = {repo.folder / '.git' / 'hooks'}\n")
    (repo.folder / ".git" / "hooks").mkdir(exist_ok=True)
    for hook in HOOKS:
        (repo.folder / ".git" / "hooks" / hook).write_text(program.read_text())
        (repo.folder / ".git" / "hooks" / hook).chmod(0o755)


def planted(git: Repo) -> tuple[Path, Repo]:
    """Files that a filter would see, and all that can be planted."""
    (git.folder / "file").write_text("x")
    (git.folder / "other").write_text("x")
    git.git("add", ".")
    git.git("commit", "-q", "-m", "files")
    mark, repo = _evil(git)
    _plant_in_git(git, mark)
    (git.folder / ".gitattributes").write_text("file filter=evil diff=evil\nother filter=a=b\n")
    (git.folder / "file").write_text("y")
    (git.folder / "other").write_text("y")
    return mark, repo


def test_nothing_that_a_repository_of_git_brings_is_run(git: Repo) -> None:
    mark, repo = planted(git)
    _everything_is_done(repo)

    assert not mark.exists(), mark.read_text()


def test_the_same_repository_of_git_runs_it_for_whoever_calls_git_bare(git: Repo) -> None:
    mark, repo = planted(git)
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
    store.swap(store.read().version, "mine\n")

    assert git.git("rev-parse", "side").strip() == commit
    assert git.git("rev-parse", "main") == main
    assert store.read().text == "mine\n"


def test_an_object_that_is_replaced_is_read_as_it_was_written(git: Repo) -> None:
    store = git.store()
    store.swap(store.read().version, "mine\n")
    theirs = git.git("hash-object", "-w", "--stdin", text="theirs\n").strip()
    git.git("replace", git.git("rev-parse", "refs/worktree/handrail/plan:plan").strip(), theirs)

    assert store.read().text == "mine\n"


def test_an_object_that_is_missing_is_fetched_from_nowhere(git: Repo) -> None:
    mark, repo = _evil(git)
    program = mark.parent / "evil" / "evil"
    store = git.store()
    store.swap(store.read().version, "mine\n")
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
