"""Have a resident server started, which outlives who starts it."""

import os
import subprocess
import sys
from typing import Final

from handrail.resident import place

IDLE: Final = 3600
"""After how many seconds without a session one ends that was started on demand."""


def start(*, on_demand: bool) -> None:
    """Start one; if there is one already, the new one ends at once."""
    idle = ("--idle", str(IDLE)) if on_demand else ()
    subprocess.Popen(  # noqa: S603 - this program
        [sys.executable, "-m", "handrail", "up", "--foreground", *idle],
        env={**os.environ, place.VARIABLE: "off"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
