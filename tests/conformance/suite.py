"""The conformance suite of the protocol, started as its authors start it, and what it found."""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from clients.foreign import PACKAGES, SECONDS, node

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


def judged(url: str, revision: str, folder: Path) -> Checks:
    """What the suite finds at a server when it runs all it has for a revision of the protocol."""
    if not CLI.exists():
        pytest.fail(f"{CLI.parents[1].name} is missing: run tools/setup packages", pytrace=False)
    words = ("server", "--url", url, "--requirements", revision, "-o", str(folder))
    subprocess.run((node(), CLI, *words), capture_output=True, timeout=SECONDS, check=False)
    named = {found[1]: path for path in folder.iterdir() if (found := _FOUND.fullmatch(path.name))}
    return {name: _read(path / "checks.json") for name, path in named.items()}


def faults(checks: Checks, scenario: str) -> list[str]:
    """Why a scenario has not passed: what failed or was warned of, or that nothing was looked at."""
    found = checks.get(scenario, ())
    odd = [one for one in found if one.status not in {"SUCCESS", "INFO"}]
    bad = [f"{one.name}: {one.status} {one.message}" for one in odd]
    return bad or ([] if any(one.status == "SUCCESS" for one in found) else ["nothing was looked at"])


def _read(path: Path) -> tuple[Check, ...]:
    return tuple(
        Check(one["id"], one["status"], one.get("errorMessage", "")) for one in json.loads(path.read_text())
    )
