"""The page of docs/reference/ about plan documents, and the examples of the commands about them."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from handrail.documents.plan.convert import NOTE_MESSAGES
from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS, PRESETS, PlanConfig
from handrail.documents.plan.model import PROBLEM_MESSAGES, REFUSAL_MESSAGES, WARNING_MESSAGES
from handrail.documents.plan.validate import SCOPE_CASE_CODE, VALIDATION_CODES
from handrail.runtime.system import RandomIds, SubprocessRunner
from handrail.stores.vcs.commands import build_environment
from handrail.stores.vcs.commit_runs import open_description
from handrail.stores.vcs.git import build_remote_environment
from tools.docs_pages import page, table

PLAN: Final = """\
feat(editor): keep the size of the window

The window forgets its size.

- Never: write outside of the settings folder
- Must: Be fast

- [ ]: Find where it is lost
  - [x]: Write a test that fails
- [x]: Tell the users

~~~ EXECUTE ~~~
"""
ARGUMENTS: Final = {
    "handrail plan check": "plan.txt",
    "handrail plan convert": "plan.txt",
    "handrail plan format": "plan.txt",
    "handrail plan mark": "find plan.txt",
    "handrail plan parse": "plan.txt",
    "handrail plan stage": "plan.txt",
    "handrail plan type": "docs feat",
}
"""What the examples of commands with `--json` are given."""

KEPT: Final = frozenset(f"handrail plan {name}" for name in ("history", "pull", "push", "show"))
"""The commands about the plan in a commit."""

CHANCE: Final = {
    r'"change": "[^"]+"': '"change": "7c0e8f0a-52f3-4c6e-9a55-3f1f0c7d2b10"',
    r'"name": "[0-9a-f]+"': '"name": "2f1e8c0b7d6a5f4e3d2c1b0a9f8e7d6c5b4a3f2e"',
    r'"at": "[^"]+"': '"at": "2026-03-01T12:00:00.000Z"',
}
"""What is another in every repository."""

_LIMITS: Final = {
    "max_title_length": "characters of a title",
    "max_nesting_depth": "the deepest level of a task; the first is 0",
    "max_task_count": "tasks",
    "max_input_length": "characters of a text",
    "indent_size": "spaces of a level",
    "direction_halt_length": "a direction whose first line has no more characters than this halts",
}


def sample_repository(folder: Path, path: str) -> None:
    """A repository of git with the plan of the examples, and a remote; for a pull the plan is only there."""
    (folder / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n", "utf-8")
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (
        ("init", "-q", "-b", "main"),
        ("init", "-q", "--bare", "far.git"),
        ("remote", "add", "origin", "far.git"),
    ):
        subprocess.run(["git", *words], cwd=folder, env=environ, check=True)  # noqa: S607 - whichever git there is
    runner, far = (
        SubprocessRunner(build_environment(environ)),
        SubprocessRunner(build_remote_environment(environ)),
    )
    made = open_description(runner, far, folder, RandomIds(), "git")
    for text in (PLAN.partition("\n")[0] + "\n", PLAN):
        made.descriptions.swap(made.descriptions.read(), text)
    if path == "handrail plan pull" and made.sharing:
        made.sharing.push()
        made.descriptions.begin_new(made.descriptions.read())


def plans_page() -> str:
    """Both dialects: their words, limits, presets and codes."""
    return page(
        "Plan documents",
        "What `handrail plan` and the plan tools can say of a text. [Plans](../guides/plans.md) tells how to",
        "write one.\n",
        "## Words\n",
        table(("dialect", "types", "prefixes of constraints"), [_words(COMMIT_MESSAGE), _words(COMMITS)]),
        "\nThe types of `commits` stand in the order in which they decide for a commit of several.\n",
        "## Limits\n",
        table(("limit", "meaning", "commits", *PRESETS), map(_limit, _LIMITS)),
        "\nThe preset `COMMIT_MESSAGE` is the dialect `planner` as it is.\n",
        "## Why a text is not read\n",
        _sentences(PROBLEM_MESSAGES),
        "\n## What is warned of\n",
        table(
            ("code", "field", "message"),
            [(_code(c), _code(f), _open(m)) for c, (f, m) in WARNING_MESSAGES.items()],
        ),
        "\n## What the validator finds\n",
        _told({**VALIDATION_CODES, SCOPE_CASE_CODE: "a warning: the scope has capital letters"}),
        "\n## Why a plan is not written or changed\n",
        _sentences(REFUSAL_MESSAGES),
        "\n## What a conversion reports\n",
        _told(NOTE_MESSAGES),
    )


def _words(config: PlanConfig) -> tuple[str, str, str]:
    types, prefixes = (", ".join(map(_code, words)) for words in (config.types, config.prefixes))
    return f"`{config.dialect}`", types, prefixes


def _limit(name: str) -> tuple[str, ...]:
    configs = (COMMITS, *PRESETS.values())
    values = (getattr(config, name) for config in configs)
    return f"`{name}`", _LIMITS[name], *("none" if value is None else str(value) for value in values)


def _sentences(codes: Mapping[str, tuple[str, str]]) -> str:
    rows = [(f"`{code}`", _open(what), _open(repair)) for code, (what, repair) in sorted(codes.items())]
    return table(("code", "what is wrong", "repair"), rows)


def _told(codes: Mapping[str, str]) -> str:
    return table(("code", "meaning"), [(f"`{code}`", codes[code]) for code in sorted(codes)])


def _open(sentence: str) -> str:
    """A sentence with dots for what is seen in a text."""
    return re.sub(r"\{\d\}", "…", sentence)


def _code(word: str) -> str:
    return f"`{word}`" if word else ""
