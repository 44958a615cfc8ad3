"""The texts of a face: every refusal has its sentence, and no sentence is left over."""

from handrail.engine.refusals import CODES
from handrail.faces.mcp.codes import CODES as CALLS
from handrail.faces.mcp.texts import texts
from handrail.shell.starting import CODES as STARTS
from handrail.shell.tokens import CODES as TOKENS
from handrail.shell.unfit import CODES as TURNS


def test_every_code_that_an_agent_can_be_given_has_a_sentence_and_no_other() -> None:
    codes = {*CODES, *CALLS, *STARTS, *TOKENS, *TURNS} - {"forbidden", "internal"}

    assert set(texts("steps").errors) == codes


def test_a_code_of_the_stores_own_is_told_by_its_rule() -> None:
    assert texts("steps").error("diverged", "store") == "Refused by store."
