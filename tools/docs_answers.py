"""The pages of docs/reference/ about what Handrail answers and enters; `docs.py` writes them."""

import json
from collections.abc import Iterable

import msgspec

from handrail.app.definitions import START_REFUSAL_CODES as STARTS
from handrail.app.faces import CALL_CODES as CALLS
from handrail.app.faces import SESSION_CODES
from handrail.engine.decide import decide
from handrail.engine.model import Accepted, Event, Refused, Run
from handrail.engine.refusals import REFUSAL_CODES
from handrail.runtime.entries import ENTRY_KIND_MEANINGS, EntryKind
from handrail.runtime.errors import FAULTS, Fault
from handrail.runtime.records import RUN_REFUSAL_CODES as TURNS
from handrail.runtime.tokens import TOKEN_REFUSAL_CODES as TOKENS
from tools.docs_pages import SAMPLE, built_in, loaded, page, sample, table


def refusals_page() -> str:
    """Every code of a refusal, and one refusal as it is."""
    return page(
        "Refusals",
        "A refusal is an answer: nothing has moved, and it says why. `code` is one of those below, `rule`",
        "the row, state or table that said no, `seen` the facts as they were read, `needed` what would",
        "have to be true, `next` what may be called instead and by whom, and `say` the text of a row that",
        "refuses.\n",
        _codes(REFUSAL_CODES.items()),
        "\n## About the step token\n",
        "Looked for in this order: `malformed`, `forged`, then whether the token was spent, whether the run",
        "is `running`, `superseded`, `expired`. A token that was spent on the same call gets the same answer",
        "again. A paused run has no token that is good: so `resume` takes any that was issued for it.\n",
        _codes(TOKENS.items()),
        "\n## About the run\n",
        _codes(TURNS.items()),
        "\n## About the call\n",
        "Said by the server that agents talk to, before anything is decided.\n",
        _codes(CALLS.items()),
        "\n## About a session of skills\n",
        _codes(SESSION_CODES.items()),
        "\n## About what is to be started\n",
        _codes(STARTS.items()),
        "\n## One as it is\n",
        f"An agent says that it is done with the first step of `{SAMPLE}`, and hands nothing in:\n",
        f"```json\n{json.dumps(_refusal(), indent=2, ensure_ascii=False)}\n```",
    )


def _codes(codes: Iterable[tuple[str, str]]) -> str:
    return table(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in sorted(codes)])


def journal_page() -> str:
    """Every kind of entry."""
    return page(
        "The journal",
        "What happens to a run is entered, in the same commit that makes it happen. A refusal is entered",
        "too, and changes nothing else. In SQL an entry is a row of `telemetry_events`, and its kind is the",
        "`event_type`.\n",
        table(("kind", "meaning"), [(f"`{kind}`", ENTRY_KIND_MEANINGS[kind]) for kind in EntryKind]),
    )


def faults_page() -> str:
    """Every fault, and how it differs from a refusal."""
    return page(
        "Faults",
        "A fault is an accident outside of Handrail: nothing was decided, and what was acknowledged before",
        "still stands. It has a code, a sentence and the repair.\n",
        _codes((fault.code, _meaning(fault)) for fault in FAULTS),
    )


def _meaning(fault: type[Fault]) -> str:
    """The docstring of a fault as the cell of a table: without a capital and without a full stop."""
    text = " ".join((fault.__doc__ or "").split())
    return text[:1].lower() + text[1:].removesuffix(".")


def _refusal() -> object:
    workflow = loaded(built_in(), sample())
    begun = decide(workflow, Run("r1", workflow.name, workflow.digest), Event("start", {"report": "?"}), {})
    run = begun.run if isinstance(begun, Accepted) else Run("", "", "")
    output = {"summary": "Done.", "artifacts": [], "references": [], "confidence": 0.9}
    refused = decide(workflow, run, Event("continue", output), {})
    return msgspec.to_builtins(refused) if isinstance(refused, Refused) else None
