"""Run `handrail` and note which functions of it are entered: SIGUSR1 begins a note, SIGUSR2 writes it.

`python traced_server.py NOTE serve --face steps …` runs a real server on stdin and stdout. The note has one
line for each function entered, in the order of entry over all threads: the module and the function.
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


def main() -> None:
    """Serve, traced."""
    note = Path(sys.argv.pop(1))
    entered: list[str] = []

    def enter(frame: FrameType, event: str, _: Any) -> None:  # noqa: ANN401 - what the interpreter passes
        code = frame.f_code
        if SOURCE and event == "call" and code.co_filename.startswith(SOURCE) and code.co_name != "<module>":
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
