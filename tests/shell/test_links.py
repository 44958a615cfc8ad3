"""The links of a plan in a turn: how many are new, which are handed on, and the list as it will be."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.model import Authority, Event
from handrail.shell.apply import digest
from handrail.shell.records import Final
from handrail.shell.workspace import Disk
from requirement import requirement
from shell.desks import Recording
from turns import ORIGIN, Desk, pinned

FLOW = """
workflow: enriches
version: 1
authority: files
tools: {look: {}, end: {}}
texts:
  none: No new links.
  some: |-
    {{links.new}} new
    {{refs.listed|bullets}}
states: {Home: {}, Over: {terminal: true}}
transitions:
  - {id: none, from: Home, trigger: look, when: [links.new == 0], say: none}
  - {id: some, from: Home, trigger: look, draft: {refs: links.refs}, accept: [refs.ok],
     do: [{write: atlassian/refs, from: refs.text}], say: some}
  - {id: end, from: Home, trigger: end, to: Over}
"""
ONE = "https://acme.atlassian.net/browse/AB-1"
TWO = "https://wiki.acme.com/display/DOC/Start"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(Recording(), more={"workspace": Disk(tmp_path), "lifetime": None})


def looked(desk: Desk) -> tuple[Mapping[str, Any], tuple[Final, ...], tuple[str, ...]]:
    """What a look answers, the files it makes and the texts it says."""
    assert isinstance(desk.runs, Recording)
    run = desk.start(pinned(FLOW), replace(ORIGIN, authority=Authority.FILES))["run"]
    before = len(desk.runs.turns)
    told = desk.send(run, Event("look"))
    finals = [final for turn in desk.runs.turns[before:] for final in turn.finals]
    texts = [text for said in desk.outcomes[-1].texts for text in said.values()]
    return told, tuple(finals), tuple(texts)


@requirement("spells:expecto.refs")
def test_the_list_is_made_with_the_new_links_and_they_are_told(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text(f"See {ONE}.\n\n## References\n\n- <{TWO}>\n- {ONE}\n")

    told, finals, texts = looked(desk)

    assert told["status"] == "ok"
    assert finals == (Final("atlassian/refs", None, f"{ONE}\n{TWO}\n".encode()),)
    assert texts == (f"2 new\n- {ONE} → 4f002aa9397f9432\n- {TWO} → 2ca1631fd896fc26",)


@requirement("spells:expecto.refs")
def test_what_is_in_the_list_is_not_new(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "atlassian").mkdir()
    (tmp_path / "atlassian/refs").write_bytes(f"# ours\r\n{ONE}".encode())
    (tmp_path / "plan.md").write_text(f"{ONE} {TWO}")

    _, (final,), texts = looked(desk)

    assert final.before == digest(f"# ours\r\n{ONE}".encode())
    assert final.after == f"# ours\r\n{ONE}\r\n{TWO}\r\n".encode()
    assert texts == (f"1 new\n- {TWO} → 2ca1631fd896fc26",)


@pytest.mark.parametrize("plan", [None, b"", b"no links", ONE.encode(), b"\xff\xfe https://jira/a\xff"])
def test_without_new_links_no_file_is_made(desk: Desk, tmp_path: Path, plan: bytes | None) -> None:
    (tmp_path / "atlassian").mkdir()
    (tmp_path / "atlassian/refs").write_text(ONE)
    if plan is not None:
        (tmp_path / "plan.md").write_bytes(plan)

    told, finals, texts = looked(desk)

    assert (told["status"], finals, texts) == ("ok", (), ("No new links.",))


def test_what_is_no_text_in_the_list_stays_as_it_is(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "atlassian").mkdir()
    (tmp_path / "atlassian/refs").write_bytes(b"\xff\xfe\0\n" + ONE.encode())
    (tmp_path / "plan.md").write_bytes(b"\xff " + f"{ONE} {TWO}".encode())

    _, (final,), _ = looked(desk)

    assert final.after == b"\xff\xfe\0\n" + f"{ONE}\n{TWO}\n".encode()


def test_a_flood_of_links_is_counted_whole_and_handed_on_in_parts(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text(" ".join(f"https://jira/browse/AB-{n}" for n in range(10_000, 18_000)))

    _, (final,), (text,) = looked(desk)

    assert text.startswith("8000 new\n- https://jira/browse/AB-10000 → ")
    assert (text.count("\n"), (final.after or b"").count(b"\n")) == (668, 668)
