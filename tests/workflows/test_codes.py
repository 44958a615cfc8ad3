"""Every code that is given is explained, and every one that is explained is given."""

import ast
from pathlib import Path

import handrail
from handrail.engine.check import FINDINGS
from handrail.workflows.codes import LOADING

SOURCE = Path(handrail.__file__).parent
MAKERS = {"problem", "error", "warning", "Explained", "_report", "_stop"}


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
            found |= {f"unknown-{word}" for word in words} if maker == "unknown" else set()
    return found - {"unknown-", "tag"}


def test_the_loader_gives_the_codes_of_its_table_and_no_others() -> None:
    codes = set().union(*(given(path) for path in (SOURCE / "workflows").glob("*.py")))

    assert codes == set(LOADING)


def test_the_check_gives_the_codes_of_its_table_and_no_others() -> None:
    files = [SOURCE / "engine" / name for name in ("check.py", "rows.py", "skills.py")]
    codes = set().union(*map(given, files))

    assert codes == set(FINDINGS)


def test_every_code_is_explained_in_one_short_line() -> None:
    assert [code for code, about in {**LOADING, **FINDINGS}.items() if not 4 < len(about) < 110] == []
    assert not LOADING.keys() & FINDINGS.keys()
    assert list(LOADING) == sorted(LOADING)
    assert list(FINDINGS) == sorted(FINDINGS)
