"""The memory of a server that has answered many calls over stdio, against that of a bare one of the SDK."""

import tempfile
from pathlib import Path

from rounds import report
from stdio import agent, bare


def main(calls: int = 300) -> None:
    """Print the figure; both run at the same time, so what they share is shared by both."""
    with tempfile.TemporaryDirectory() as name, bare(Path(name)) as line, agent(Path(name)) as mine:
        for _ in range(calls):
            line.no_op()
            mine.step()
            mine.read()
        theirs, ours = line.memory(), mine.line.memory()
    print(f"# {ours / 1024:.1f} MiB, the bare server {theirs / 1024:.1f} MiB")
    report("memory_x_bare", ours / theirs, 1.3)


if __name__ == "__main__":
    main()
