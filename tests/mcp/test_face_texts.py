"""The texts of a face: every refusal has its sentence, and no sentence is left over."""

from handrail.app.definitions import START_REFUSAL_CODES as STARTS
from handrail.app.faces import CALL_CODES as CALLS
from handrail.engine.refusals import REFUSAL_CODES
from handrail.mcp.faces.replies import load_face_texts
from handrail.runtime.records import RUN_REFUSAL_CODES as TURNS
from handrail.runtime.tokens import TOKEN_REFUSAL_CODES as TOKENS


def test_every_code_that_an_agent_can_be_given_has_a_sentence_and_no_other() -> None:
    codes = {*REFUSAL_CODES, *CALLS, *STARTS, *TOKENS, *TURNS} - {"forbidden", "internal"}

    assert set(load_face_texts("steps").errors) == codes


def test_a_code_of_a_store_is_explained_by_its_rule() -> None:
    assert load_face_texts("steps").error("diverged", "store") == "Refused by store."
