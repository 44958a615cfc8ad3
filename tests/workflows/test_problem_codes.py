"""Every code that is given is explained, and every one that is explained is given."""

import ast
from pathlib import Path

import handrail
from handrail.engine.soundness import FINDING_CODES
from handrail.workflows.load import LOADING_CODES

SOURCE = Path(handrail.__file__).parent
MAKERS = {"report_problem", "build_error", "build_warning", "Explanation", "_report", "_stop"}


def given(path: Path) -> set[str]:
    """The codes that stand first in a call that makes a problem."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            maker = ast.unparse(node.func).rpartition(".")[2]
            words = {
                word.value
                for word in ast.walk(node.args[0])
                if isinstance(word, ast.Constant) and isinstance(word.value, str)
            }
            found |= words if maker in MAKERS else set()
            found |= {f"unknown-{word}" for word in words} if maker == "report_unknown" else set()
    return found - {"unknown-", "tag"}


def test_the_loader_gives_the_codes_of_its_table_and_no_others() -> None:
    codes = set().union(*(given(path) for path in (SOURCE / "workflows").glob("*.py")))

    assert codes == set(LOADING_CODES)


def test_the_check_gives_the_codes_of_its_table_and_no_others() -> None:
    files = [SOURCE / "engine" / name for name in ("soundness.py", "paths.py")]
    codes = set().union(*map(given, files))

    assert codes == set(FINDING_CODES)


def test_every_code_is_explained_in_one_short_line() -> None:
    assert [
        code for code, about in {**LOADING_CODES, **FINDING_CODES}.items() if not 4 < len(about) < 110
    ] == []
    assert not LOADING_CODES.keys() & FINDING_CODES.keys()
    assert list(LOADING_CODES) == sorted(LOADING_CODES)
    assert list(FINDING_CODES) == sorted(FINDING_CODES)
