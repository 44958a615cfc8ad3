"""What a user trusts is kept by content, survives a crash at any point, and is never guessed."""

import json
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from handrail.app.catalog import DefinitionKind
from handrail.app.trust import TextChange, TrustMark, TrustStore, UntrustedFile, format_root
from handrail.runtime.errors import Fault, NewerFormat, NotWritable, Unreadable, UnsafePath
from handrail.stores.files.disk import DiskWorkspace

ONE = TrustMark("/work/shop", "workflow", "bug-fix", "11")
TWO = TrustMark("/work/shop", "persona", "reviewer", "22")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "handrail"


def test_nothing_is_trusted_at_first_and_asking_makes_no_file(folder: Path) -> None:
    assert TrustStore(folder).marks() == ()
    assert not TrustStore(folder).is_trusted(ONE)
    assert not folder.parent.exists()


def test_what_is_trusted_is_known_to_everybody_and_only_as_it_was_said(folder: Path) -> None:
    TrustStore(folder).add([ONE])

    known = TrustStore(folder)
    assert known.is_trusted(ONE)
    others = [
        TrustMark("/work/shop2", "workflow", "bug-fix", "11"),
        TrustMark("/work/shop", "persona", "bug-fix", "11"),
        TrustMark("/work/shop", "workflow", "feature", "11"),
        TrustMark("/work/shop", "workflow", "bug-fix", "12"),
    ]
    assert [known.is_trusted(other) for other in others] == [False] * 4


def test_it_is_kept_in_the_data_folder_as_json_that_a_person_can_read(home: Path) -> None:
    TrustStore().add([ONE, TWO])

    path = home / ".local/share/handrail/trusted.json"
    assert TrustStore().path == path
    assert json.loads(path.read_text("utf-8")) == {
        "schema": 1,
        "trusted": [
            {"project": "/work/shop", "kind": "workflow", "name": "bug-fix", "digest": "11"},
            {"project": "/work/shop", "kind": "persona", "name": "reviewer", "digest": "22"},
        ],
    }


def test_only_the_user_may_read_it_with_any_umask(folder: Path) -> None:
    before = os.umask(0)
    try:
        TrustStore(folder).add([ONE])
    finally:
        os.umask(before)

    assert stat.S_IMODE((folder / "trusted.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_is_dropped_is_trusted_no_longer_and_the_rest_stays(folder: Path) -> None:
    trusted = TrustStore(folder)
    trusted.add([ONE, TWO])
    trusted.add([ONE])

    trusted.drop([ONE])

    assert trusted.marks() == (TWO,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "it is not JSON"),
        (b"{", "it is not JSON"),
        (b"[]", "it is JSON, but not an object"),
        (b"\xff", "it is not UTF-8 text"),
        (b"{}", "Object missing required field `schema`"),
        (b'{"schema": 1, "trusted": {}}', "Expected `array`, got `object`"),
        (b'{"schema": "1", "trusted": []}', "Expected `int`, got `str`"),
        (b'{"schema": 1, "trusted": [{"project": "/"}]}', "Object missing required field `kind`"),
        (b'{"schema": 1, "schema": 1, "trusted": []}', "a key stands twice in one object"),
    ],
)
def test_a_damaged_file_is_named_with_its_repair_and_left_as_it_is(
    text: bytes, why: str, folder: Path
) -> None:
    folder.mkdir(parents=True)
    (folder / "trusted.json").write_bytes(text)
    trusted = TrustStore(folder)

    for act in (lambda: trusted.is_trusted(ONE), lambda: trusted.add([ONE]), lambda: trusted.drop([ONE])):
        with pytest.raises(Unreadable) as raised:
            act()
        assert raised.value.message.startswith(f"`{folder / 'trusted.json'}` is damaged: {why}")
        assert raised.value.repair == (
            "move it away, and say `handrail trust` again in the projects whose files you trust"
        )
    assert (folder / "trusted.json").read_bytes() == text


def test_a_newer_file_is_not_guessed_at(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "trusted.json").write_text('{"schema": 2, "trusted": []}', "utf-8")

    with pytest.raises(NewerFormat):
        TrustStore(folder).marks()


def test_a_link_is_neither_read_nor_written_through(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    planted = tmp_path / "planted.json"
    planted.write_text('{"schema": 1, "trusted": []}', "utf-8")
    (folder / "trusted.json").symlink_to(planted)

    for act in (TrustStore(folder).marks, lambda: TrustStore(folder).add([ONE])):
        with pytest.raises(UnsafePath):
            act()
    assert planted.read_text("utf-8") == '{"schema": 1, "trusted": []}'


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file", "utf-8")

    with pytest.raises(Fault) as raised:
        TrustStore(tmp_path / "data" / "handrail").add([ONE])

    assert isinstance(raised.value, (UnsafePath, NotWritable))
    assert f"{tmp_path / 'data' / 'handrail'}" in raised.value.message


class Stopped(Exception):  # noqa: N818 - the process ends here; it is no error
    """Nothing happens after this."""


def _stopping(at: int, seen: list[str]) -> Callable[[Path], DiskWorkspace]:
    def before(name: str) -> None:
        seen.append(name)
        if len(seen) == at:
            raise Stopped(name)

    return lambda folder: DiskWorkspace(folder, before=before)


def test_a_crash_at_any_point_leaves_the_old_or_the_new(
    folder: Path, record_property: Callable[[str, object], None]
) -> None:
    TrustStore(folder).add([ONE])
    seen: list[str] = []
    TrustStore(folder, _stopping(0, seen)).add([TWO])
    points = len(seen)
    record_property("points", points)
    assert points > 5

    stored = []
    for at in range(1, points + 1):
        TrustStore(folder).drop([TWO])
        with pytest.raises(Stopped):
            TrustStore(folder, _stopping(at, [])).add([TWO])
        stored.append(TrustStore(folder).marks())

    assert set(stored) == {(ONE,), (ONE, TWO)}
    assert stored == sorted(stored, key=len)


def test_concurrent_marks_are_all_kept(folder: Path) -> None:
    marks = [TrustMark("/work/shop", "persona", f"p{number}", "1") for number in range(20)]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda mark: TrustStore(folder).add([mark]), marks))

    assert set(TrustStore(folder).marks()) == set(marks)


def test_a_project_is_known_by_where_it_really_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    monkeypatch.chdir(tmp_path / "real")

    assert {format_root(path) for path in (Path(), tmp_path / "link", tmp_path / "real")} == {
        f"{tmp_path}/real"
    }
    assert format_root(odd) == f"{tmp_path}/caf\\xe9"


def shown(*changes: TextChange) -> UntrustedFile:
    return UntrustedFile(DefinitionKind.PERSONA, "writer", Path("new"), Path("old"), "1", changes)


def test_the_lines_that_go_and_come_stand_among_their_neighbours() -> None:
    file = shown(TextChange("old.md", "new.md", "a\nb\nc\n", "a\nB\nc\n"))

    assert file.diff == "--- old.md\n+++ new.md\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n \n"
    assert file.whole == file.diff


def test_files_that_are_the_same_are_left_out_and_one_that_is_new_comes_whole() -> None:
    file = shown(
        TextChange("old.md", "new.md", "a", "a"),
        TextChange("", "more.md", "", "b"),
        TextChange("x.md", "", "", ""),
    )

    assert file.diff == (
        "--- nothing\n+++ more.md\n@@ -0,0 +1 @@\n+b\n--- x.md\n+++ nothing\n@@ -1 +0,0 @@\n-\n"
    )


def test_nothing_in_it_gives_orders_to_a_terminal_and_what_is_hidden_is_seen() -> None:
    file = shown(TextChange("old\x1b[2J.md", "new\u202e.md", "a\n", "\x1b[2J\u202egnp\u200b\r\nb\udcff\n"))

    assert file.diff == (
        "--- old\\u{1b}[2J.md\n"
        "+++ new\\u{202e}.md\n"
        "@@ -1,2 +1,3 @@\n"
        "-a\n"
        "+\\u{1b}[2J\\u{202e}gnp\\u{200b}\\u{d}\n"
        "+b\\u{dcff}\n"
        " \n"
    )


def test_other_line_ends_and_a_missing_last_one_are_differences() -> None:
    ends = shown(TextChange("o", "n", "a\nb\n", "a\r\nb\n")).diff
    last = shown(TextChange("o", "n", "a\n", "a")).diff

    assert ends.splitlines()[3:] == ["-a", "+a\\u{d}", " b", " "]
    assert last.splitlines()[3:] == [" a", "-"]


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\n" * 40, "b\n" * 40_000),
        ("", "é" * 50_000),
        ("x\ny\n" * 25_000, "y\nx\n" * 25_000),
        ("", "\u202e\n" * 2_000),
    ],
    ids=["many lines", "one long line", "every other line", "hidden characters"],
)
def test_a_long_difference_is_cut_at_a_line_and_says_where_the_rest_is(old: str, new: str) -> None:
    file = shown(TextChange("old.md", "new.md", old, new))

    assert len(file.diff.encode()) <= 8192
    assert file.diff.endswith("\n… cut here; `handrail trust writer` shows all of it\n")
    assert file.whole.startswith(file.diff.rpartition("…")[0])


def test_a_difference_of_just_eight_kilobytes_less_the_note_is_whole() -> None:
    note = len("… cut here; `handrail trust writer` shows all of it\n".encode())
    head = len("--- o\n+++ n\n@@ -1 +1 @@\n-\n+\n")
    fits, too_long = (shown(TextChange("o", "n", "", "x" * (8192 - note - head + more))) for more in (0, 1))

    assert fits.diff == fits.whole
    assert (len(fits.diff), "cut here" in too_long.diff) == (8192 - note, True)


def test_long_texts_are_not_compared_line_by_line() -> None:
    file = shown(TextChange("o", "n", "a\n" * 1_000, "a\n" * 999))

    assert file.whole == "--- o\n+++ n\n" + "-a\n" * 1_000 + "-\n" + "+a\n" * 999 + "+\n"
