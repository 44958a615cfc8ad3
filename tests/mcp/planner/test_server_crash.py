"""kill -9 of a server in the middle of a write: the old text or the new one, and the next call goes on."""

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from handrail.runtime.errors import FaultCode
from helpers.planner_agents import GOAL
from helpers.planner_servers import ProjectGroup, ServedProject, create_project_group
from helpers.repositories import Repo

WRITES = {"jj": "describe", "git": "update-ref"}
NUMBERED = "read -r N < {count}; N=$((N + 1)); echo $N > {count}"
WAYS = {
    "before": "if [ $N = {k} ]; then kill -9 $PPID; exit 1; fi",
    "while": "if [ $N = {k} ]; then kill -9 $PPID; fi",
    "after": 'if [ $N = {k} ]; then "$REAL" "$@"; S=$?; kill -9 $PPID; exit $S; fi',
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A project, the programs of its servers, and one server that lives on."""

    made: ProjectGroup
    repo: Repo
    stays: ServedProject

    @property
    def count(self) -> Path:
        return self.made.at.folder / "count"

    def started(self, way: str, k: int, title: str) -> list[str]:
        """What a new server starts that is killed at the k-th program, in this way, while it writes."""
        self.count.write_text("0\n")
        words = self.made.at.folder / "words"
        words.write_text("")
        answer = f'printf "%s\n" "$*" >> {words}'
        script = "\n".join((NUMBERED.format(count=self.count), answer, WAYS[way].format(k=k)))
        with self.made.server() as pipe, self.made.switch.doing(script):
            ServedProject(self.made, pipe, "plan").pipe.post(
                "tools/call",
                {"name": "set_overarching_goal", "arguments": {"goal": {**GOAL, "title": title}, **NAMED}},
            )
            answered = bool(pipe.line())
            assert answered is (k == 0)
            assert answered or pipe.wait_for_end() == -signal.SIGKILL
        return words.read_text().splitlines()


NAMED = {"project": "plan"}


@pytest.fixture(params=["colocated", "git"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    made = create_project_group(tmp_path / "group", "plan")
    repo = made.repo("plan", request.param)
    with made.server() as pipe:
        stays = ServedProject(made, pipe, "plan")
        stays.works()
        yield Scene(made, repo, stays)


def points(words: list[str], kind: str) -> list[tuple[str, int]]:
    """Before every program and after the last one; also while those run that write."""
    written = [k for k, line in enumerate(words) if f" {WRITES[kind]} " in f" {line} "]
    return [
        *(("before", k + 1) for k in range(len(words))),
        *(("while", k + 1) for k in written),
        ("after", len(words)),
    ]


def test_a_server_that_is_killed_while_it_writes_leaves_the_old_text_or_the_new_one(
    scene: Scene, record_property: Callable[[str, object], None]
) -> None:
    tried = points(scene.started("before", 0, "the first"), scene.repo.program)
    seen = set()
    for number, (way, k) in enumerate(tried):
        old, new = f"old {number}", f"new {number}"
        assert not scene.stays.writes(old).failed
        scene.started(way, k, new)

        text = scene.stays.calls("gather_requirements").reply["plan"]["text"]
        assert text in {f"feat(tea): {old}\n", f"feat(tea): {new}\n"}, (way, k)
        seen.add(text[11:14])
        going = scene.stays.writes("the next")
        if going.failed:
            assert going.reply["code"] == FaultCode.VCS_LOCKED, going.text
            Path(going.reply["why"]["needed"][0].split("`")[1]).unlink()
            assert not scene.stays.writes("the next").failed

    record_property("points", len(tried))
    assert len(tried) == {"jj": 7, "git": 6}[scene.repo.program]
    assert seen == {"old", "new"}
    assert scene.stays.calls("gather_requirements").reply["plan"]["text"] == "feat(tea): the next\n"
