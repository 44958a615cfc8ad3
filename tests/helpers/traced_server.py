"""Run `handrail` and note which functions of it are entered: SIGUSR1 begins a note, SIGUSR2 writes it.

`python traced_server.py NOTE serve --face steps …` runs a real server on stdin and stdout. The note has one
line for each function entered, in the order of entry over all threads: the module and the function. What the
writer does once the caller has its answer belongs to no call and is left out.
"""

import os
import runpy
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import handrail

SOURCE = os.path.dirname(handrail.__file__) + os.sep  # noqa: PTH120 - compared with the names that code objects have

OF_A_CALL = ("MainThread", "handrail-writer")
"""The threads that a call goes through."""

APART = {"FaceServer.look_after", "Writer._do_idle_work", "_run_unwatched", "App.sweep"}
"""The functions that belong to no call, nor does what they call."""


def main() -> None:
    """Serve, traced."""
    note = Path(sys.argv.pop(1))
    entered: list[str] = []

    def enter(frame: FrameType, event: str, _: Any) -> None:  # noqa: ANN401 - what the interpreter passes
        code = frame.f_code
        if (
            not SOURCE
            or event != "call"
            or not code.co_filename.startswith(SOURCE)
            or code.co_name == "<module>"
        ):
            return
        if not threading.current_thread().name.startswith(OF_A_CALL):
            return
        above: FrameType | None = frame
        while above is not None:
            if above.f_code.co_qualname in APART:
                return
            above = above.f_back
        entered.append(f"{code.co_filename.removeprefix(SOURCE)} {code.co_qualname}")

    def begin(*_: object) -> None:
        entered.clear()

    def write(*_: object) -> None:
        whole = note.with_suffix(".part")
        whole.write_text("\n".join(entered))
        whole.rename(note)

    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, write)
    threading.setprofile(enter)
    sys.setprofile(enter)
    runpy.run_module("handrail", run_name="__main__")


if __name__ == "__main__":
    main()
