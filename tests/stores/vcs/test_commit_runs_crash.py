"""kill -9 at any moment of a write: the old text or the new one, and the way on."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from handrail.runtime.errors import Busy, TextConflict
from handrail.runtime.ports.turn import ProcessResult
from handrail.runtime.system import RandomIds, SubprocessRunner
from handrail.stores.files.disk import DiskWorkspace
from handrail.stores.vcs.commands import build_environment
from handrail.stores.vcs.commit_runs import open_description
from helpers.crash import Record
from helpers.repositories import KINDS, Repo, replace_program
from helpers.store_programs import kill_vcs_writers

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_or_its_program_that_is_killed_at_any_call_leaves_the_old_text_or_the_new_one(
    kind: str, record_property: Record
) -> None:
    found = kill_vcs_writers(kind)

    record_property("points", found["points"])
    assert sum(found["said"].values()) == found["points"]
    assert all(way.endswith("written") for way in found["said"]), found


class Mortal(SubprocessRunner):
    """Programs whose caller is killed before or after the k-th of them."""

    __slots__ = ("left",)

    def __init__(self, env: dict[str, str], k: int) -> None:
        super().__init__(env)
        self.left = k

    def run(
        self,
        words: tuple[str, ...],
        folder: str,
        seconds: float,
        stdin: str = "",
        files: tuple[int, ...] = (),
    ) -> ProcessResult:
        self._point()
        ended = super().run(words, folder, seconds, stdin, files)
        self._point()
        return ended

    def _point(self) -> None:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)


def _in_a_child(work: Callable[[], object]) -> int:
    """Do it in a process of its own; how that ended."""
    if not (child := os.fork()):
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_writer_that_is_killed_between_its_programs_leaves_the_old_text_or_the_new_one(
    repo: Repo, record_property: Record
) -> None:
    plain, points, seen = repo.store(), 0, set()
    while True:
        points += 1
        before = plain.swap(plain.read(), f"old {points}\n")
        mortal = Mortal(build_environment(repo.env), points)
        store = open_description(mortal, mortal, repo.folder, RandomIds()).descriptions
        status = _in_a_child(partial(store.swap, before, "new\n"))
        found = plain.read()
        if not status:
            break
        assert status == -signal.SIGKILL
        assert found.text in {f"old {points}\n", "new\n"}
        assert not found.divergent
        seen.add(found.text[:3])

    record_property("points", points - 1)
    around = 6 if repo.kind == "git" else 8
    assert (points - 1, seen, found.text) == (around, {"old", "new"}, "new\n")


def test_what_a_killed_writer_has_started_still_holds_the_lock(repo: Repo) -> None:
    fifo = repo.home / "fifo"
    os.mkfifo(fifo)
    command = "update-ref" if repo.kind == "git" else "describe"
    orphan = replace_program(repo, f'case "$*" in *{command}*) kill -9 $PPID; read -r _ < {fifo};; esac')
    plain = repo.store()
    before = plain.read()
    place = repo.folder / (".git" if repo.kind == "git" else ".jj/repo")

    assert _in_a_child(lambda: orphan.store().swap(before, "theirs\n")) == -signal.SIGKILL
    with pytest.raises(Busy), DiskWorkspace(place).lock("handrail-lock", 0):
        pass
    assert plain.read() == before
    with ThreadPoolExecutor(1) as threads:
        following = threads.submit(plain.swap, before, "mine\n")
        fifo.write_text("go on\n")
        with pytest.raises(TextConflict, match="now it begins `theirs`"):
            following.result(timeout=60)
    assert not plain.read().divergent
