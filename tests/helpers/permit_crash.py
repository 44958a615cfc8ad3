"""A word that needs a permit, said by a process that is killed at every call that takes the permit.

After each kill the word has counted or the permit is still good: never both, and never neither.
"""

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from handrail.clients import permits as kept
from handrail.clients.permits import Permits, leave_permit
from helpers.hooks import HookProject, store_key

CALLS = frozenset({"rename", "unlink", "flock", "open", "close"})
"""What changes something, or who has it."""


class Countdown:
    """Counts what takes, uses and puts back permits, and the turn itself; at one of them it dies."""

    def __init__(self, last: int) -> None:
        self.seen, self._last = 0, last

    def __call__(self, frame: FrameType, event: str, called: object) -> None:
        """Something is called, or has ended."""
        above = frame.f_back.f_code.co_filename if frame.f_back else ""
        ours = kept.__file__ in {frame.f_code.co_filename, above}
        acts = event == "c_call" and ours and getattr(called, "__name__", "") in CALLS
        turns = event in {"call", "return"} and frame.f_code.co_name == "_permitted"
        if acts or turns:
            self.seen += 1
            if self.seen == self._last:
                os.kill(os.getpid(), signal.SIGKILL)


def say_word(shop: HookProject, last: int) -> int:
    """How many points there are until the word is said; it ends at one of them."""
    count = Countdown(last)
    sys.setprofile(count)
    try:
        shop.say("Accio", Permits)
    finally:
        sys.setprofile(None)
    return count.seen


def create_project(folder: Path) -> HookProject:
    """A project with a plan that the next word leaves, and a permit for that."""
    for name in ("home", "shop"):
        shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(folder / "began", folder / "home")
    shutil.copytree(folder / "task", folder / "shop")
    leave_permit(store_key(), str(folder / "shop"), "Accio", time.time())
    return HookProject(folder / "shop")


def prepare_project(folder: Path) -> None:
    """What every round begins with."""
    for name, below in (("HOME", ""), ("XDG_DATA_HOME", "data"), ("XDG_STATE_HOME", "state")):
        os.environ[name] = str(folder / "home" / below)
    (folder / "shop").mkdir()
    HookProject(folder / "shop").say("Accio")
    (folder / "shop" / ".ai" / "task" / "plan.md").write_text(
        "## Acceptance Criteria\n\n- [ ] It is greeted\n"
    )
    shutil.copytree(folder / "home", folder / "began")
    shutil.copytree(folder / "shop", folder / "task")


def find_errors(shop: HookProject) -> str:
    """What is not as it must be after a kill."""
    moved = shop.say("Lumos")["state"] != "GATHER_EDITING"
    again = "code" not in shop.say("Accio", Permits)
    return "" if moved != again else f"moved {moved}, permit good {again}"


def main(folder: Path) -> None:
    """Kill at each point, and say what came of it."""
    prepare_project(folder)
    points = say_word(create_project(folder), 0)
    found = []
    for point in range(1, points + 1):
        shop = create_project(folder)
        child = os.fork()
        if not child:
            say_word(shop, point)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        found += [
            f"{point}: {'not killed' if not killed else why}"
            for why in [find_errors(shop)]
            if why or not killed
        ]
    sys.stdout.write(json.dumps({"points": points, "wrong": found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
