"""Facts are read once, from one look at the world, and only those that a row could ask for."""

from pathlib import Path

from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.model import Event, Run
from handrail.runtime.facts import FILE_READERS
from handrail.runtime.gather import FactContext, FileSnapshot, gather_facts
from handrail.stores.files.disk import DiskWorkspace
from helpers.turns import NOW
from helpers.workflows import GATED, load_valid_workflow, start_run

FLOW = """
workflow: looks
version: 1
authority: files
states: {Home: {}, Away: {}, Over: {terminal: true}}
transitions:
  - {id: a, from: Home, trigger: go, when: [plan.exists, tests.pass], to: Away}
  - {id: b, from: Away, trigger: go, when: task.exists, to: Home}
  - {id: end, from: Home, trigger: end, to: Over}
"""


class CountingDisk(DiskWorkspace):
    """The real files; each reading is noted."""

    __slots__ = ("reads",)

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.reads: list[str] = []

    def read(self, path: str) -> bytes | None:
        self.reads.append(path)
        return super().read(path)


def test_a_file_is_read_once_and_is_what_it_was(tmp_path: Path) -> None:
    disk = CountingDisk(tmp_path)
    sight = FileSnapshot(disk)
    assert sight.read("a") is None
    (tmp_path / "a").write_text("late")

    assert sight.read("a") is None
    assert disk.reads == ["a"]
    assert sight.names("") == ("a",)


def test_without_a_folder_there_are_no_files() -> None:
    sight = FileSnapshot(None)

    assert (sight.read("a"), sight.names("")) == (None, ())


def test_only_the_facts_that_rows_of_the_open_state_name_are_read(tmp_path: Path) -> None:
    flow, disk = load_valid_workflow(FLOW, GATED), CountingDisk(tmp_path)
    (tmp_path / "plan.md").write_text("")
    asked: list[str] = []

    def engine(_: FactContext, __: tuple[str, ...]) -> Value:
        asked.append("engine")
        return False

    idle = Run("r", flow.name, flow.digest)
    asks = FactContext(flow, FileSnapshot(disk), idle, Event("start"), NOW, "b0b")
    start = gather_facts(asks, {**FILE_READERS, "engine": engine}, {})
    assert (start.facts, disk.reads) == ({}, [])

    home = replace(asks, run=start_run(flow), event=Event("go"))
    found = gather_facts(home, {**FILE_READERS, "engine": engine}, {})
    assert found.facts == {"plan.exists": True, "tests.pass": False}
    assert (disk.reads, asked) == (["plan.md"], ["engine"])


def test_a_fact_without_a_reader_is_left_out(tmp_path: Path) -> None:
    flow = load_valid_workflow(FLOW, GATED)
    asked = FactContext(flow, FileSnapshot(DiskWorkspace(tmp_path)), start_run(flow), Event("go"), NOW, "b0b")
    found = gather_facts(asked, FILE_READERS, {})

    assert found.facts == {"plan.exists": False}
    assert found.values == {}
