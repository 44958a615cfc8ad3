"""Files of other programs' settings: backed up, changed at once, put back to the byte."""

import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.clients.settings_files import (
    FileChange,
    SettingsFile,
    apply_change,
    locate_project_file,
    locate_user_file,
    plan_change,
    plan_undo,
)
from handrail.documents.settings_text import SettingsProblem, remove_json_member, set_json_member
from handrail.runtime.errors import Busy, Fault, Unreadable, UnsafePath
from handrail.stores.files.disk import DiskWorkspace

OURS = ("servers", "ours")


def _edit(text: str) -> str | SettingsProblem:
    return set_json_member(text, OURS, {"command": "it"})


_undo = partial(remove_json_member, path=OURS)


def _files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_file_that_was_not_there_is_made_and_goes_again(tmp_path: Path) -> None:
    file = locate_project_file(tmp_path, ".editor/settings.json")
    change = plan_change(file, _edit)

    assert (change.before, change.needed, apply_change(change)) == (None, True, None)
    assert (tmp_path / ".editor/settings.json").read_text() == file.text() == change.after
    assert apply_change(plan_undo(file, _edit, _undo)) is None
    assert _files(tmp_path) == {}
    assert not plan_undo(file, _edit, _undo).needed


def test_the_text_before_is_kept_beside_it_and_nothing_is_done_twice(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}')
    path.chmod(0o640)
    file = locate_project_file(tmp_path, "settings.json")

    backup = apply_change(plan_change(file, _edit))

    assert backup == tmp_path / "settings.json.handrail-backup"
    assert (backup.read_text(), stat.S_IMODE(backup.stat().st_mode)) == ('{"a": 1}', 0o640)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    again, before = plan_change(file, _edit), _files(tmp_path)
    assert (again.needed, again.difference(), apply_change(again)) == (False, "", None)
    assert _files(tmp_path) == before


def test_an_older_backup_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for number, name in enumerate(["a", "a.handrail-backup", "a.handrail-backup-x", "a.handrail-backup-7"]):
        (tmp_path / name).write_text(f'{{"n": {number}}}')

    assert (
        apply_change(plan_change(locate_project_file(tmp_path, "a"), _edit))
        == tmp_path / "a.handrail-backup-8"
    )
    path.write_text('{"n": 0}')
    assert apply_change(plan_change(locate_project_file(tmp_path, "a"), _edit)) is None
    assert _files(tmp_path)["a.handrail-backup"] == b'{"n": 1}'


def test_a_backup_that_is_no_text_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"n": 0}')
    (tmp_path / "a.handrail-backup").write_bytes(b"\xff")
    file = locate_project_file(tmp_path, "a")

    assert apply_change(plan_change(file, _edit)) == tmp_path / "a.handrail-backup-2"
    assert apply_change(plan_undo(file, _edit, _undo)) is None
    assert _files(tmp_path) == {"a": b'{"n": 0}', "a.handrail-backup": b"\xff"}


def test_what_somebody_changed_since_stays_when_ours_is_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text('{"a": 1}')
    file = locate_project_file(tmp_path, "a")
    apply_change(plan_change(file, _edit))
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))

    assert apply_change(plan_undo(file, _edit, _undo)) == tmp_path / "a.handrail-backup-2"
    assert path.read_text() == '{"a": 2}'


def test_a_file_without_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"a": 1}')

    assert not plan_undo(locate_project_file(tmp_path, "a"), _edit, _undo).needed


_blanks = st.sampled_from(["", " ", "\n", "\r\n\t", "// c\n", "/* c */"])
_small = st.sampled_from(["{}", "{ }", "{\n}", '{"servers": {}}', '{"servers":{ \n}, }', '{"a": [],\n}', ""])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.tuples(_blanks, _small, _blanks).map("".join))
def test_every_file_has_its_old_bytes_again_and_nothing_lies_beside_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(text.encode())
    file = locate_project_file(tmp_path, "a")

    apply_change(plan_change(file, _edit))
    assert path.read_bytes() != text.encode()
    apply_change(plan_undo(file, _edit, _undo))

    assert _files(tmp_path) == {"a": text.encode()}


def test_a_file_with_a_problem_is_left_alone_and_the_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{\n  "a": 1\n  "b": 2\n}')

    with pytest.raises(Unreadable) as caught:
        plan_change(locate_project_file(tmp_path, "a"), _edit)

    assert caught.value.message == f"{tmp_path}/a, line 3, column 3: `,` or `}}` is missing here"
    assert caught.value.repair == "mend that place, or move the file away"
    (tmp_path / "a").write_bytes(b"{\xff")
    with pytest.raises(Unreadable, match=r"a is not UTF-8 text: see byte 2"):
        plan_change(locate_project_file(tmp_path, "a"), _edit)


def test_no_link_of_a_project_is_followed(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (elsewhere / "mcp.json").write_text("{}")
    (project / ".editor").symlink_to(elsewhere)
    (project / "mcp.json").symlink_to(elsewhere / "mcp.json")

    for within in (".editor/mcp.json", "mcp.json"):
        with pytest.raises(UnsafePath):
            plan_change(locate_project_file(project, within), _edit)
    assert (elsewhere / "mcp.json").read_text() == "{}"


def test_a_link_of_the_user_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "rc.json").write_text("{}")
    (tmp_path / "rc.json").symlink_to("dotfiles/rc.json")
    file = locate_user_file(tmp_path / "rc.json")

    apply_change(plan_change(file, _edit))

    assert (tmp_path / "rc.json").is_symlink()
    assert sorted(_files(tmp_path / "dotfiles")) == ["rc.json", "rc.json.handrail-backup"]
    assert file.path == tmp_path / "dotfiles" / "rc.json"


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "rc.json").symlink_to("rc.json")

    with pytest.raises(UnsafePath):
        plan_change(locate_user_file(tmp_path / "rc.json"), _edit)


def test_what_a_killed_program_left_behind_is_removed(tmp_path: Path) -> None:
    for process in ("4194305", "9" * 30, "1", f"{os.getppid()}", "x"):
        (tmp_path / f".a.{process}.new").touch()

    apply_change(plan_change(locate_project_file(tmp_path, "a"), _edit))

    assert sorted(_files(tmp_path)) == sorted(["a", ".a.1.new", f".a.{os.getppid()}.new", ".a.x.new"])


def test_the_folders_of_a_users_file_are_made(tmp_path: Path) -> None:
    apply_change(plan_change(locate_user_file(tmp_path / ".a" / "b" / "c.json"), _edit))

    assert list(_files(tmp_path)) == [".a/b/c.json"]


def test_the_owner_stays(tmp_path: Path) -> None:
    """Only root may give files away: for others this is their own."""
    owner = (4321, 1234) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    path = tmp_path / "a"
    path.write_text("{}")
    os.chown(path, *owner)

    backup = apply_change(plan_change(locate_project_file(tmp_path, "a"), _edit))

    assert backup
    assert {(p.stat().st_uid, p.stat().st_gid) for p in (path, backup)} == {owner}


def test_a_file_that_changed_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("{}")
    change = plan_change(locate_project_file(tmp_path, "a"), _edit)
    path.write_text('{"theirs": 1}')

    with pytest.raises(Busy, match="was just changed by another program"):
        apply_change(change)

    assert _files(tmp_path) == {"a": b'{"theirs": 1}', "a.handrail-backup": b"{}"}


def test_the_difference_shows_only_what_changes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text('{\n  "secret": "s",\n  "b": 1\n}')

    assert plan_change(
        locate_project_file(tmp_path, "a"), partial(set_json_member, path=("c",), value=2)
    ).difference() == (f'--- {path}\n+++ {path}\n@@ -3 +3,2 @@\n-  "b": 1\n+  "b": 1,\n+  "c": 2\n')
    made = plan_change(locate_project_file(tmp_path, "new"), lambda _: "x")
    assert made.difference() == (
        f"--- /dev/null\n+++ {tmp_path}/new\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    )


class _Killed(Exception):  # noqa: N818 - what a kill is
    """The program ends here."""


def _at(point: int, seen: list[str]) -> Callable[[str], None]:
    def before(name: str) -> None:
        seen.append(name)
        if len(seen) == point:
            raise _Killed

    return before


def test_whenever_the_program_is_killed_the_file_is_the_old_or_the_new_one(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    old, points = '{"a": 1}', 0
    new = str(_edit(old))
    for point in range(1, 100):
        folder = tmp_path / str(point)
        folder.mkdir()
        (folder / "a").write_text(old)
        seen: list[str] = []
        file = SettingsFile(DiskWorkspace(folder, "", _at(point, seen)), "a", folder / "a")
        try:
            apply_change(plan_change(file, _edit))
        except _Killed:
            points += 1
        else:
            break
        assert (folder / "a").read_text() in {old, new}
        apply_change(plan_change(locate_project_file(folder, "a"), _edit))
        assert (folder / "a").read_text() == new
        assert old in {path.read_text() for path in folder.glob("a.handrail-backup*")}

    record_property("points", points)
    assert points > 5


def test_a_fault_of_the_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("{}")
    (tmp_path / "b").hardlink_to(tmp_path / "a")

    with pytest.raises(Fault):
        apply_change(FileChange(locate_project_file(tmp_path, "a"), "{}", "{ }"))

    assert _files(tmp_path) == {"a": b"{}", "b": b"{}"}
