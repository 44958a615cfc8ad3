"""The conformance suite of the protocol, started as its authors start it; its scenarios and findings."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from helpers.foreign_clients import COMPILED, PACKAGES, SECONDS, find_node

CLI: Final = PACKAGES / "conformance" / "dist" / "index.js"
_FOUND: Final = re.compile(r"server-(.+?)-\d{4}-\d\d-\d\dT[\d-]+Z")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a scenario looked at; the status is the suite's own word."""

    name: str
    status: str
    message: str


Checks: TypeAlias = Mapping[str, tuple[Check, ...]]
"""What was looked at, by the name of the scenario."""


def run_suite(url: str, revision: str, folder: Path) -> Checks:
    """What the suite finds at a server when it runs all it has for a revision of the protocol."""
    if not CLI.exists():
        pytest.fail(f"{CLI.parents[1].name} is missing: run tools/setup packages", pytrace=False)
    words = ("server", "--url", url, "--requirements", revision, "-o", str(folder))
    env = {**os.environ, **COMPILED}
    subprocess.run((find_node(), CLI, *words), env=env, capture_output=True, timeout=SECONDS, check=False)
    named = {found[1]: path for path in folder.iterdir() if (found := _FOUND.fullmatch(path.name))}
    return {name: _read(path / "checks.json") for name, path in named.items()}


def find_faults(checks: Checks, scenario: str) -> list[str]:
    """Why a scenario has not passed: what failed or was warned of, or that nothing was looked at."""
    found = checks.get(scenario, ())
    odd = [one for one in found if one.status not in {"SUCCESS", "INFO"}]
    bad = [f"{one.name}: {one.status} {one.message}" for one in odd]
    return bad or ([] if any(one.status == "SUCCESS" for one in found) else ["nothing was looked at"])


def _read(path: Path) -> tuple[Check, ...]:
    return tuple(
        Check(one["id"], one["status"], one.get("errorMessage", "")) for one in json.loads(path.read_text())
    )


_BOTH: Final = (
    "completion-complete",
    "dns-rebinding-protection",
    "prompts-get-embedded-resource",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-with-image",
    "prompts-list",
    "resources-list",
    "resources-read-binary",
    "resources-read-text",
    "resources-templates-read",
    "server-sse-multiple-streams",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-simple-text",
    "tools-call-with-progress",
    "tools-list",
)

REQUIRED: Final = {
    "2025-11-25": (
        *_BOTH,
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
        "logging-set-level",
        "ping",
        "resources-subscribe",
        "resources-unsubscribe",
        "server-initialize",
        "tools-call-elicitation",
        "tools-call-sampling",
        "tools-call-with-logging",
    ),
    "2026-07-28": (
        *_BOTH,
        "caching",
        "input-required-result-basic-elicitation",
        "input-required-result-basic-list-roots",
        "input-required-result-basic-sampling",
        "input-required-result-capability-check",
        "input-required-result-ignore-extra-params",
        "input-required-result-missing-input-response",
        "input-required-result-multi-round",
        "input-required-result-multiple-input-requests",
        "input-required-result-non-tool-request",
        "input-required-result-request-state",
        "input-required-result-result-type",
        "input-required-result-tampered-state",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
        "sep-2164-resource-not-found",
        "server-stateless",
    ),
}
"""Those that a server must pass to conform."""

FREE: Final = {
    "2025-11-25": (
        "completion-complete",
        "dns-rebinding-protection",
        "logging-set-level",
        "ping",
        "prompts-list",
        "resources-list",
        "resources-subscribe",
        "resources-unsubscribe",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-multiple-streams",
        "tools-list",
    ),
    "2026-07-28": (
        "caching",
        "completion-complete",
        "dns-rebinding-protection",
        "http-header-validation",
        "input-required-result-unsupported-methods",
        "prompts-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "server-sse-multiple-streams",
        "tools-list",
    ),
}
"""Those that ask for no fixture, and that every real face therefore passes as it is."""

UNTESTABLE: Final = {
    "2025-11-25": frozenset[str](),
    "2026-07-28": frozenset(
        {
            "sep-2575-http-server-no-independent-requests-on-stream",
            "sep-2575-missing-capability-http-400",
            "sep-2575-server-no-log-without-loglevel",
            "sep-2575-server-rejects-undeclared-capability",
            "sep-2575-server-sends-prompts-list-changed-on-subscription",
            "sep-2575-server-sends-tools-list-changed-on-subscription",
        }
    ),
}
"""What `server-stateless` looks at with a fixture; the rest of it asks for none."""
