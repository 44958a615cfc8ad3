"""Plan documents made at random: texts by the grammar, and texts that were tampered with."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

_WORDS = st.sampled_from(["add", "the", "parser", "é", "x: y", "[1]", "a\u2028b", "\ufeff", "# h", "(x)"])
_TEXT = st.lists(_WORDS, min_size=1, max_size=4).map(" ".join)
_KEYS = st.sampled_from(["Do not", "Never", "Avoid", "Must not", "Must", "NO", "key"])
_PREFIXES = st.sampled_from(["Do not", "Never", "Avoid", "Decide against", "Must not", "Cannot", "Forbidden"])
_ODD = st.sampled_from(
    [
        "",
        " ",
        "\t",
        "- bullet",
        "- Key: Value",
        "* [x](a)",
        "[ ] near",
        "- [X]: near",
        "~~~ EXECUTE ~~~",
        "~~~ COMPLETE ~~~",
        "COMPLETE",
        "Constraints: none",
        "Constraints:",
        "Tasks [ ]:",
        "Tasks [X]:",
        "- [ ] summary: details",
        "  - [x]: task",
        "- Never: x",
        "abc",
    ]
)


def _tasks(form: str, most: int) -> SearchStrategy[list[str]]:
    task = st.tuples(st.integers(0, most), st.sampled_from("x "), _TEXT, st.integers(0, 99))
    return st.lists(task, max_size=6).map(
        lambda rows: [form.format("  " * level, box, f"{text} {number}") for level, box, text, number in rows]
    )


@st.composite
def planner_texts(draw: DrawFn) -> str:
    """A text that follows the grammar of `planner`, more or less."""
    scope = draw(st.sampled_from(["", "(x)", "(a-b)!", "(A)"]))
    lines = [f"{draw(st.sampled_from(['feat', 'fix', 'zap']))}{scope}: {draw(_TEXT)}", ""]
    lines += draw(st.lists(st.one_of(_TEXT, st.just("")), max_size=4))
    lines += [f"- {draw(_KEYS)}: {draw(_TEXT)}" for _ in range(draw(st.integers(0, 3)))]
    lines += draw(_tasks("{}- [{}]: {}", 5))
    lines += draw(st.lists(st.one_of(_TEXT, _ODD), max_size=3))
    return "\n".join(lines)


@st.composite
def commits_texts(draw: DrawFn) -> str:
    """A text that follows the grammar of `commits`, more or less."""
    scope = draw(st.sampled_from(["", "(x)", "(a-b)!", "(A)"]))
    lines = [f"{draw(st.sampled_from(['feat', 'fix', 'ci']))}{scope}: add it", ""]
    lines += draw(st.lists(st.one_of(_TEXT, st.just("")), max_size=3))
    lines += draw(st.sampled_from([[], ["Constraints: none"], ["Constraints:"]]))
    if lines[-1] == "Constraints:":
        lines += [f"- {draw(_PREFIXES)}: {draw(_TEXT)}" for _ in range(draw(st.integers(1, 3)))]
    tasks = draw(_tasks("{}- [{}] {}: details", 3))
    return "\n".join([*lines, *(["", "Tasks [ ]:", *tasks] if tasks else [])])


@st.composite
def tampered_texts(draw: DrawFn) -> str:
    """A text of either dialect with some of its lines gone, doubled, put in or tampered with."""
    lines = draw(st.one_of(planner_texts(), commits_texts())).split("\n")
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(lines)))
        deed = draw(st.integers(0, 3))
        if deed == 0:
            lines[at:at] = [draw(st.one_of(_ODD, _TEXT))]
        elif deed == 1:
            lines[at : at + 1] = []
        elif deed == 2:
            lines[at:at] = lines[at : at + 1]
        else:
            lines[at : at + 1] = [
                line.replace(" ", draw(st.text(max_size=2)), 1) for line in lines[at : at + 1]
            ]
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines) + draw(st.sampled_from(["", "\n", "\n\n "]))


TEXTS = st.one_of(planner_texts(), commits_texts(), tampered_texts(), st.text())
