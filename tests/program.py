"""The real program, started as a person would start it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("handrail")


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it said on each stream."""

    status: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """Its one JSON object."""
        data = json.loads(self.out)
        assert isinstance(data, dict)
        return data


def handrail(*words: str | Path, cwd: Path | None = None, **env: str) -> Said:
    """Run `handrail` with these words; it must end within a minute."""
    done = subprocess.run(
        [PROGRAM, *words],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)
