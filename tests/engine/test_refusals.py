import ast
from pathlib import Path

from handrail.engine import refusals
from handrail.engine.refusals import REFUSAL_CODES, RefusalCode

ENGINE = Path(refusals.__file__).parent
MAKERS = {"Refused", "refuse_unmet"}


def _codes(source: str) -> set[RefusalCode]:
    """The codes that a file gives to what makes a refusal."""
    found: set[RefusalCode] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
            first = node.args[0]
            found |= {RefusalCode[first.attr]} if isinstance(first, ast.Attribute) else set()
    return found


def test_every_code_a_refusal_can_have_is_explained_and_no_other() -> None:
    used = {code for path in ENGINE.glob("*.py") for code in _codes(path.read_text("utf-8"))}

    assert used == set(REFUSAL_CODES)


def test_a_code_that_nobody_explained_would_be_found() -> None:
    source = 'Refused(RefusalCode.FORM, "rule")\nrefuse_unmet(RefusalCode.FORGED, (), f)\nRefused(code, "x")'

    assert _codes(source) == {RefusalCode.FORM, RefusalCode.FORGED}
