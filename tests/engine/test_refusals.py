import ast
from pathlib import Path

from handrail.engine import refusals
from handrail.engine.refusals import REFUSAL_CODES

ENGINE = Path(refusals.__file__).parent
MAKERS = {"Refused", "refuse_unmet"}


def _codes(source: str) -> set[str]:
    """The codes that a file gives to what makes a refusal."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
            first = node.args[0]
            found |= {str(first.value)} if isinstance(first, ast.Constant) else set()
    return found


def test_every_code_a_refusal_can_have_is_explained_and_no_other() -> None:
    used = {code for path in ENGINE.glob("*.py") for code in _codes(path.read_text("utf-8"))}

    assert used == set(REFUSAL_CODES)


def test_a_code_that_nobody_explained_would_be_found() -> None:
    assert _codes('Refused("novel", "rule")\nrefuse_unmet("other", (), f)\nRefused(code, "x")') == {
        "novel",
        "other",
    }
