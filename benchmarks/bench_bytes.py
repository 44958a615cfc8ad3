"""What an agent's context pays: the bytes of `tools/list` of each face, and of all replies of a whole run.

Counted, so no clock is asked. In pictures four bytes are taken as a token, which is rough.
"""

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.reply_sizes import DELIVERED, LISTED, count_bytes, count_delivered_bytes
from helpers.servers import Pipe, create_place
from rounds import bar, report
from walks import runs


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for face, most in LISTED.items():
            with Pipe(create_place(folder / f"list-{face}"), "--face", face, era="legacy") as pipe:
                listed = count_bytes(pipe.ask("tools/list")["result"])
            bar("tools/list of a face, tokens", face, listed / 4)
            report(f"bytes_of_tools_list_{face}", listed, most)
        for workflow, replies in runs(folder):
            count = sum(map(count_delivered_bytes, replies))
            bar("All replies of a run, tokens", f"{workflow}, {len(replies)} calls", count / 4)
            report(f"bytes_of_a_run_{workflow.replace('-', '_')}", count, DELIVERED)


if __name__ == "__main__":
    main()
