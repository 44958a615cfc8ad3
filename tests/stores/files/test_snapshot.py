"""A snapshot reads each file once, notices what others change, and remembers what it writes itself."""

import pytest

from handrail.runtime.errors import DiskFull, UnsafePath
from handrail.stores.files.snapshot import Snapshot
from helpers.simulated_disk import FOLDER, LINK, SimulatedWorkspace


class Counting(SimulatedWorkspace):
    """Notes each file that is read and each folder that is listed."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[str] = []

    def read(self, path: str) -> bytes | None:
        self.noted.append(path)
        return super().read(path)

    def names(self, folder: str) -> tuple[str, ...]:
        self.noted.append(f"{folder}/")
        return super().names(folder)

    def stamp(self, path: str) -> object:
        before = list(self.noted)
        found = super().stamp(path)
        self.noted = before
        return found

    def taken(self) -> list[str]:
        """What was noted since this was last asked."""
        noted, self.noted = self.noted, []
        return noted


@pytest.fixture
def workspace() -> Counting:
    made = Counting()
    made.put_odd("notes", FOLDER)
    made.put("plan.md", b"plan")
    made.put("notes/a.md", b"a")
    return made


@pytest.fixture
def snapshot(workspace: Counting) -> Snapshot:
    return Snapshot(workspace)


def test_a_file_and_a_folder_are_read_once_and_stay_what_they_were(
    workspace: Counting, snapshot: Snapshot
) -> None:
    assert (snapshot.read("plan.md"), snapshot.read("gone.md")) == (b"plan", None)
    assert snapshot.names("notes") == ("a.md",)
    workspace.put("plan.md", b"later")
    workspace.put("gone.md", b"later")
    workspace.put("notes/b.md", b"later")

    assert (snapshot.read("plan.md"), snapshot.read("gone.md")) == (b"plan", None)
    assert snapshot.names("notes") == ("a.md",)
    assert workspace.taken() == ["plan.md", "gone.md", "notes/"]


def test_a_file_is_opened_again_only_if_it_has_changed(workspace: Counting, snapshot: Snapshot) -> None:
    snapshot.read("plan.md")
    snapshot.read("gone.md")

    assert (snapshot.reread("plan.md"), snapshot.reread("gone.md")) == (b"plan", None)
    assert workspace.taken() == ["plan.md", "gone.md"]
    workspace.put("plan.md", b"nalp")
    workspace.put("gone.md", b"back")
    assert (snapshot.reread("plan.md"), snapshot.read("plan.md")) == (b"nalp", b"nalp")
    assert (snapshot.reread("gone.md"), snapshot.read("gone.md")) == (b"back", b"back")
    assert workspace.taken() == ["plan.md", "gone.md"]
    workspace.remove("gone.md")
    assert snapshot.reread("gone.md") is None


def test_a_file_that_changes_while_it_is_read_is_read_again(workspace: Counting) -> None:
    class Edited(Counting):
        """A person saves a file just before it is opened."""

        def stamp(self, path: str) -> object:
            return workspace.stamp(path)

        def read(self, path: str) -> bytes | None:
            if not self.noted:
                workspace.put(path, b"edit")
            self.noted.append(path)
            return workspace.read(path)

    edited = Edited()
    snapshot = Snapshot(edited)

    assert snapshot.read("plan.md") == b"edit"
    assert snapshot.reread("plan.md") == b"edit"
    assert edited.noted == ["plan.md", "plan.md"]
    assert snapshot.reread("plan.md") == b"edit"
    assert edited.noted == ["plan.md", "plan.md"]


def test_refreshing_forgets_what_has_changed_and_nothing_else(
    workspace: Counting, snapshot: Snapshot
) -> None:
    for path in ("plan.md", "notes/a.md"):
        snapshot.read(path)
    for folder in ("", "notes"):
        snapshot.names(folder)
    assert snapshot.refresh()
    workspace.put("plan.md", b"nalp")
    workspace.put("notes/b.md", b"b")
    workspace.taken()

    assert not snapshot.refresh()
    assert (snapshot.read("plan.md"), snapshot.read("notes/a.md")) == (b"nalp", b"a")
    assert (snapshot.names(""), snapshot.names("notes")) == (("notes", "plan.md"), ("a.md", "b.md"))
    assert workspace.taken() == ["plan.md", "notes/"]
    assert snapshot.refresh()


def test_what_is_written_is_not_read_back(workspace: Counting, snapshot: Snapshot) -> None:
    for path in ("plan.md", "notes/a.md", "log"):
        snapshot.read(path)
    for folder in ("", "notes"):
        snapshot.names(folder)
    snapshot.write("new.md", b"new")
    snapshot.append("log", b"1")
    snapshot.append("log", b"2")
    snapshot.rename("new.md", "plan.md")
    snapshot.unlink("notes/a.md")
    snapshot.mkdir("more")
    workspace.taken()

    held = {path: snapshot.read(path) for path in ("plan.md", "new.md", "log", "notes/a.md")}
    listed = {folder: snapshot.names(folder) for folder in ("", "notes")}

    assert workspace.taken() == []
    assert held == {"plan.md": b"new", "new.md": None, "log": b"12", "notes/a.md": None}
    assert listed == {"": ("log", "more", "notes", "plan.md"), "notes": ()}
    assert held == {path: workspace.read(path) for path in held}
    assert listed == {folder: workspace.names(folder) for folder in listed}


def test_what_was_never_read_is_not_known_by_changing_it(workspace: Counting, snapshot: Snapshot) -> None:
    snapshot.append("plan.md", b" more")
    snapshot.rename("notes/a.md", "b.md")
    workspace.taken()

    assert (snapshot.read("plan.md"), snapshot.read("b.md")) == (b"plan more", b"a")
    assert snapshot.names("") == ("b.md", "notes", "plan.md")
    assert workspace.taken() == ["plan.md", "b.md", "/"]


def test_after_a_change_that_failed_the_files_are_read_again(workspace: Counting, snapshot: Snapshot) -> None:
    def full(name: str) -> None:
        if name == "write plan.md":
            raise DiskFull("no room", "make some")

    snapshot.read("plan.md")
    snapshot.names("")
    workspace.before = full

    with pytest.raises(DiskFull):
        snapshot.write("plan.md", b"later")

    workspace.taken()
    assert (snapshot.read("plan.md"), snapshot.names("")) == (b"", ("notes", "plan.md"))
    assert workspace.taken() == ["plan.md", "/"]


def test_what_was_written_by_itself_is_looked_at_again_like_any_other_file(
    workspace: Counting, snapshot: Snapshot
) -> None:
    snapshot.write("plan.md", b"ours")
    workspace.put("plan.md", b"mine")

    assert snapshot.reread("plan.md") == b"mine"


def test_a_file_that_has_become_a_link_is_not_remembered(workspace: Counting, snapshot: Snapshot) -> None:
    snapshot.read("plan.md")
    workspace.put_odd("plan.md", LINK)

    for _ in range(2):
        with pytest.raises(UnsafePath):
            snapshot.reread("plan.md")
