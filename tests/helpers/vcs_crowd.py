"""Many processes that add to one text at once. Run as a program: kind, folder, home, how many, how often.

Each reads the number in the text and writes the next one, again and again until that was accepted. Says how
often somebody else was faster.
"""

import json
import os
import sys
from pathlib import Path

from handrail.runtime.errors import TextConflict
from handrail.runtime.ports.turn import Descriptions
from helpers.repositories import Repo


def _add(store: Descriptions) -> int:
    """Add one; how often that was tried in vain."""
    for tries in range(10_000):
        before = store.read()
        try:
            store.swap(before, f"{int(before.text or '0') + 1}\n")
        except TextConflict:
            continue
        return tries
    raise SystemExit("nobody let it write")


def _children(repo: Repo, processes: int, times: int) -> list[int]:
    """Start them together; what each ended with."""
    gate, opened = os.pipe()
    children = []
    for _ in range(processes):
        if not (child := os.fork()):
            os.close(opened)
            os.read(gate, 1)
            store = repo.store()
            os._exit(min(sum(_add(store) for _ in range(times)), 99))
        children.append(child)
    os.close(opened)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def main(kind: str, folder: str, home: str, processes: str, times: str) -> None:
    ended = _children(Repo(kind, Path(folder), Path(home)), int(processes), int(times))
    print(json.dumps(ended))  # noqa: T201 - what the test reads


if __name__ == "__main__":
    main(*sys.argv[1:])
