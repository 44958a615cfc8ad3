"""What a project could bring for a program to run, all of it, and a program that leaves a mark."""

from pathlib import Path

from helpers.repositories import Repo

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


def plant_marking_program(repo: Repo) -> tuple[Path, Repo]:
    """A program that leaves a mark, under every name that could be looked for; the repository with it."""
    folder = repo.home / "evil"
    folder.mkdir()
    mark = repo.home / "ran"
    names = ("evil", *BY_NAME, *(() if repo.kind == "git" else ("git",)))
    for name in names:
        (folder / name).write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\n')
        (folder / name).chmod(0o755)
    return mark, Repo(repo.kind, repo.folder, repo.home, f"{folder}:{repo.path}")


def plant_in_git(repo: Repo, mark: Path) -> None:
    """Everything that git knows of."""
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


def plant_everything(git: Repo) -> tuple[Path, Repo]:
    """Files that a filter would see, and all that can be planted."""
    (git.folder / "file").write_text("x")
    (git.folder / "other").write_text("x")
    git.git("add", ".")
    git.git("commit", "-q", "-m", "files")
    mark, repo = plant_marking_program(git)
    plant_in_git(git, mark)
    (git.folder / ".gitattributes").write_text("file filter=evil diff=evil\nother filter=a=b\n")
    (git.folder / "file").write_text("y")
    (git.folder / "other").write_text("y")
    return mark, repo
