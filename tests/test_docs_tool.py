"""What writes docs/reference/: pages from the code, the same on every machine, and stale ones named."""

import json
import os
from pathlib import Path

import click
import msgspec
import pytest

from tools import docs, docs_examples, docs_pages

pytestmark = pytest.mark.unmeasured
FEW = {name: docs.PAGES[name] for name in ("facts.md", "filters.md", "journal.md")}


def test_what_was_written_is_not_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "deep" / "reference"

    assert docs.main([], folder, FEW) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert docs.main(["--check"], folder, FEW) == 0
    assert capsys.readouterr().out == ""


def test_a_check_names_what_is_missing_changed_or_left_over_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs.main([], tmp_path, FEW)
    (tmp_path / "facts.md").unlink()
    (tmp_path / "filters.md").write_text("# Mine\n")
    (tmp_path / "old.md").write_text("# Gone\n")
    capsys.readouterr()

    assert docs.main(["--check"], tmp_path, FEW) == 1
    assert [line.split()[0].split("/")[1] for line in capsys.readouterr().out.splitlines()] == [
        "facts.md",
        "filters.md",
        "old.md",
    ]
    assert (tmp_path / "filters.md").read_text() == "# Mine\n"
    assert not (tmp_path / "facts.md").exists()


def test_writing_mends_what_is_stale(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("old")
    (tmp_path / "b.md").write_text("left over")

    docs.write(tmp_path, {"a.md": "new", "c.md": "more"})

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.md": "new", "c.md": "more"}
    assert docs.stale(tmp_path, {"a.md": "new", "c.md": "more"}) == []


def test_a_folder_that_is_not_there_is_stale_in_every_page(tmp_path: Path) -> None:
    assert docs.stale(tmp_path / "none", {"b.md": "", "a.md": ""}) == ["a.md", "b.md"]


def test_pages_name_no_folder_of_this_machine_and_ignore_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: build() for name, build in docs.PAGES.items()}
    mine = tmp_path / "handrail" / "workflows"
    mine.mkdir(parents=True)
    (mine / f"{docs_pages.SAMPLE}.yaml").write_text("workflow: mine\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HANDRAIL_PROJECT", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.chdir(tmp_path)

    after = {name: build() for name, build in docs.PAGES.items()}

    assert before == after
    folders = (str(docs.REFERENCE.parent.parent), os.environ["HOME"], str(tmp_path))
    assert [name for name, page in after.items() if any(folder in page for folder in folders)] == []


def test_a_cell_cannot_break_its_table() -> None:
    assert docs_pages.table(("a", "b"), [("x|y", "one\ntwo")]).splitlines() == [
        "| a | b |",
        "| --- | --- |",
        "| x\\|y | one two |",
    ]


def test_how_bad_a_finding_is_comes_from_the_call_that_makes_it() -> None:
    source = (
        'yield build_error("a-b", place)\nx = [build_warning("c-d", place)]\n'
        'build_error(code)\nother("e-f")\n'
    )

    assert docs_pages.severities([source]) == {"a-b": "error", "c-d": "warning"}


def test_every_finding_has_a_severity_on_its_page() -> None:
    page = docs_pages.problems_page()

    assert "| `dead-end` | error | a run that comes here can neither go on nor end |" in page
    assert "| `loop-without-cap` | warning | the agent alone can go round for ever |" in page


def test_the_example_of_a_filter_is_what_the_filter_gives() -> None:
    page = docs_pages.filters_page()

    assert '| `{{files\\|bullets}}` | `["plan.md", "task.md"]` | `"- plan.md\\n- task.md"` |' in page
    assert '| `"src/save.py"` | `` "`src/save.py`" `` |' in page


def test_the_example_of_a_command_is_what_it_prints() -> None:
    command, printed = docs_examples.example("handrail workflows check", "bug-fix.yaml")

    assert command == "handrail workflows check bug-fix.yaml --json"
    assert [problem["code"] for problem in json.loads(printed)["problems"]] == ["unknown-key"]


def test_a_key_that_nobody_described_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = docs.MEANINGS.json["handrail workflows list"]
    fewer = {key: meaning for key, meaning in listed.items() if key != "workflows[].hidden"}
    described = {**docs.MEANINGS.json, "handrail workflows list": fewer}
    monkeypatch.setattr(docs, "MEANINGS", msgspec.structs.replace(docs.MEANINGS, json=described))

    with pytest.raises(ValueError, match=r"described and printed differ in \['workflows\[\]\.hidden'\]"):
        docs.cli_page()


def test_a_command_with_json_that_has_no_example_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    group = click.Group("handrail")
    group.add_command(click.Command("new", params=[click.Option(["--json", "as_json"], is_flag=True)]))
    monkeypatch.setattr(docs, "cli", group)

    with pytest.raises(KeyError, match="handrail new"):
        docs.cli_page()


def test_a_key_of_the_format_without_a_word_about_it_stops_the_generator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {"properties": {"novel": {"type": "string"}}, "$defs": {"name": {"pattern": "x"}}}
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "schema.json").write_text(json.dumps(schema))
    monkeypatch.setattr(docs, "SOURCE", tmp_path)

    with pytest.raises(ValueError, match=r"workflow\.novel has no description"):
        docs.format_page()


def test_what_may_stand_under_a_key_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: dict[str, dict[str, object]] = {
        "about": {"type": "string"},
        "do": {"type": "array", "items": {"$ref": "#/$defs/tool"}},
        "set": {"enum": ["a", "b"]},
        "next": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/name"}]},
        "draft": {"type": "object", "additionalProperties": {"type": "integer"}},
        "to": {},
    }
    kinds = {name: {**kind, "description": "Noted"} for name, kind in kinds.items()}
    schema = {"properties": kinds, "required": ["do"], "$defs": {"name": {"pattern": "x"}}}
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "schema.json").write_text(json.dumps(schema))
    monkeypatch.setattr(docs, "SOURCE", tmp_path)

    rows = [line for line in docs.format_page().splitlines() if "Noted" in line]

    assert rows == [
        "| `about` | text |  | Noted |",
        "| `do` | list of [tool](#tool) | yes | Noted |",
        "| `set` | `a` or `b` |  | Noted |",
        "| `next` | nothing or name |  | Noted |",
        "| `draft` | names, each with whole number |  | Noted |",
        "| `to` | any value |  | Noted |",
    ]


def test_a_library_without_the_sample_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs_pages, "SAMPLE", "no-such-workflow")

    with pytest.raises(LookupError, match="no built-in workflow is called no-such-workflow"):
        docs_pages.sample()
