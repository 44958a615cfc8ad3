"""The page of docs/reference/ about plan documents, and the examples of the commands about them."""

import re
from collections.abc import Mapping
from typing import Final

from handrail.plan.check import CODES, SCOPE_CASE
from handrail.plan.convert import NOTES
from handrail.plan.grammar import COMMIT_MESSAGE, COMMITS, PRESETS, Config
from handrail.plan.problems import REFUSALS, SENTENCES, WARNINGS
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

_LIMITS: Final = {
    "max_title_length": "characters of a title",
    "max_nesting_depth": "the deepest level of a task; the first is 0",
    "max_task_count": "tasks",
    "max_input_length": "characters of a text",
    "indent_size": "spaces of a level",
    "direction_halt_length": "a direction whose first line has no more characters than this halts",
}


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
        _sentences(SENTENCES),
        "\n## What is warned of\n",
        table(
            ("code", "field", "message"), [(_code(c), _code(f), _open(m)) for c, (f, m) in WARNINGS.items()]
        ),
        "\n## What the validator finds\n",
        _told({**CODES, SCOPE_CASE: "a warning: the scope has capital letters"}),
        "\n## Why a plan is not written or changed\n",
        _sentences(REFUSALS),
        "\n## What a conversion reports\n",
        _told(NOTES),
    )


def _words(config: Config) -> tuple[str, str, str]:
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
