"""An entry for atheris: `python tests/helpers/plan_fuzz.py [-atheris_runs=N]`.

Atheris is not among our packages. Every text gets a state in every dialect, and what was read is written and
reads back equal.
"""

import sys
from importlib import import_module

from handrail.documents.plan.format import format_plan
from handrail.documents.plan.grammar import COMMITS, PRESETS
from handrail.documents.plan.model import PlanState
from handrail.documents.plan.parse import parse_any, parse_plan


def check_one_input(data: bytes) -> None:
    """Read one text in every way, and fail if something is lost."""
    text = data.decode("utf-8", "surrogateescape")
    parse_any(text)
    for config in (*PRESETS.values(), COMMITS):
        plan = parse_plan(text, config)
        if plan.state is PlanState.PARSED:
            written = format_plan(plan, config)
            if not isinstance(written, str) or parse_plan(written, config) != plan:
                raise AssertionError(f"lost in a round trip: {text!r}")


def main() -> None:
    """Run until something is found."""
    atheris = import_module("atheris")
    atheris.enabled_hooks.add("str")
    atheris.enabled_hooks.add("RegEx")
    atheris.instrument_all()
    atheris.Setup(sys.argv, check_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
