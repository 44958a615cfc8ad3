"""A store behind a fence answers every question about what is outside as about what never was."""

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from handrail.app.app import open_app
from handrail.app.projects import FilteredFeed, FilteredRuns, Projects
from handrail.app.trust import TrustStore
from handrail.engine.model import Actor, Event, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.comments import write_comment
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.ports.queries import (
    AllFinalArtifacts,
    ArtifactsOfRun,
    ArtifactsOfStep,
    ArtifactsOfType,
    FinalArtifactsOfProject,
    FinalArtifactsOfRun,
    RecentArtifacts,
    RunFilter,
    RunQueries,
    iterate_pages,
)
from handrail.runtime.ports.turn import Feed, Runs
from handrail.runtime.records import Caller, RecordedCall, RunChange, StoredRun, Turn, project_id
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.runs import SqliteRuns
from helpers.resources import NOBODY, ROOT, build_spec_output
from helpers.turns import ORIGIN, TurnHarness, open_sqlite

OTHER: Final = "/srv/other"
NOW: Final = datetime(2026, 3, 1, 13, tzinfo=UTC)
LATER: Final = datetime(2100, 1, 1, tzinfo=UTC)
NOTED: Final = (Entry(EntryKind.ERROR_OCCURRED, data={"error_type": "tried"}),)


@pytest.fixture
def harness(tmp_path: Path) -> TurnHarness:
    return TurnHarness(open_sqlite(tmp_path / "store.db"))


@pytest.fixture
def runs(harness: TurnHarness) -> SqliteRuns:
    assert isinstance(harness.runs, SqliteRuns)
    return harness.runs


def played(turns: TurnHarness, root: str) -> tuple[str, str]:
    """A run that is over and one that is under way, in a project."""
    origin = replace(ORIGIN, project=root)
    ids = []
    for ends in (True, False):
        answer = turns.start(None, origin)
        ids.append(answer["run"])
        while ends and answer["lifecycle"] == Lifecycle.RUNNING:
            answer = turns.send(answer["run"], Event("continue", build_spec_output(root)), answer["token"])
    return ids[0], ids[1]


def methods(port: type) -> set[str]:
    return {name for name, one in vars(port).items() if inspect.isfunction(one) and not name.startswith("_")}


ASKED: Final[Mapping[str, Callable[[Any, str], object]]] = {
    "run": lambda records, run: records.run(run),
    "steps": lambda records, run: records.steps(run),
    "last_completed_steps": lambda records, run: records.last_completed_steps(run, 5),
    "open_steps": lambda records, run: records.open_steps(run),
    "artifacts": lambda records, run: records.artifacts(run),
    "content": lambda records, run: records.content(run, 1),
    "artifact_types": lambda records, run: records.artifact_types(run),
    "journal": lambda records, run: records.journal(run=run),
    "refusals": lambda records, run: records.refusals(run),
    "comment_entries": lambda records, run: records.comment_entries(run),
    "find_ids": lambda records, run: records.find_ids(run),
    "runs": lambda records, run: (records.runs(RunFilter(text=run)), records.runs(RunFilter(), after=run)),
    "list_active_ids": lambda records, run: records.list_active_ids((OTHER,), run),
    "excerpts": lambda records, run: [
        records.excerpts(one)
        for one in (ArtifactsOfRun(run), ArtifactsOfStep(run, "draft"), FinalArtifactsOfRun(run))
    ],
}
"""Questions about a run, by its id."""

ALL: Final[Mapping[str, Callable[[Any], object]]] = {
    "runs": lambda records: records.runs(RunFilter()),
    "artifact_types": lambda records: records.artifact_types(),
    "list_completed_ids": lambda records: records.list_completed_ids(),
    "journal": lambda records: records.journal(),
    "find_ids": lambda records: records.find_ids(""),
    "list_active_ids": lambda records: records.list_active_ids((ROOT, OTHER)),
    "live_runs": lambda records: (records.live_runs((ROOT,)), records.live_runs((OTHER, ROOT))),
    "find_last_in_reach": lambda records: records.find_last_in_reach(1),
    "list_needing_attention": lambda records: records.list_needing_attention(LATER, LATER),
    "count_active": lambda records: records.count_active(),
    "project": lambda records: records.project(project_id(ROOT)),
    "excerpts": lambda records: [
        records.excerpts(one)
        for one in (
            RecentArtifacts(),
            AllFinalArtifacts(),
            ArtifactsOfType("spec"),
            FinalArtifactsOfProject(project_id(ROOT)),
        )
    ],
}
"""Questions about everything."""


def test_every_question_about_what_is_outside_is_answered_as_about_what_never_was(
    harness: TurnHarness, runs: SqliteRuns
) -> None:
    inside = played(harness, ROOT)
    alone = {name: ask(SqlRunQueries(runs.database)) for name, ask in ALL.items() if name != "journal"}
    outside = played(harness, OTHER)
    harness.send(outside[1], Event("nonsense"))
    assert write_comment(harness.world, outside[1], "Secret", Caller(Actor.PERSON)) is None
    records = SqlRunQueries(runs.database, lambda: (ROOT,))

    assert {*ASKED, *ALL, "snapshot", "last_entry_number"} == methods(RunQueries)
    for name, ask in ASKED.items():
        for run in outside:
            assert ask(records, run) == ask(records, NOBODY), name
        assert any(ask(SqlRunQueries(runs.database), run) != ask(records, NOBODY) for run in outside), name
        assert any(ask(records, run) != ask(records, NOBODY) for run in inside) or name in {
            "list_active_ids",
            "refusals",
            "comment_entries",
        }
    for name, answer in alone.items():
        assert ALL[name](records) == answer, name
    assert {line.run for line in iterate_pages(records.journal)} == set(inside)
    nothing = SqlRunQueries(runs.database, lambda: (OTHER,))
    assert nothing.project(project_id(ROOT)) is None
    assert nothing.excerpts(FinalArtifactsOfProject(project_id(ROOT))) == ()


def test_runs_outside_can_be_neither_read_nor_moved(harness: TurnHarness, runs: SqliteRuns) -> None:
    (_, mine), (over, theirs) = played(harness, ROOT), played(harness, OTHER)
    behind = FilteredRuns(runs, lambda: (ROOT,))
    stored, own = runs.load(theirs), runs.load(mine)
    assert stored is not None
    assert own is not None
    before = [len(runs.entries(run)) for run in (over, theirs)]

    asked: Mapping[str, Callable[[str], object]] = {
        "load": behind.load,
        "find_recorded_call": lambda run: behind.find_recorded_call(run, 0),
        "entries": behind.entries,
        "steps": behind.steps,
        "touch": lambda run: behind.touch(run, NOW),
        "note": lambda run: behind.note(run, NOW, NOTED),
    }
    apart = {"hold_lock", "commit", "renew_tokens", "definition"}
    assert {*asked, *apart} == methods(Runs)
    for name, ask in asked.items():
        for run in (over, theirs, ""):
            assert ask(run) == ask(NOBODY), name
    assert not behind.renew_tokens(stored, {}, NOW, ())
    assert TurnHarness(behind).send(theirs, Event("pause"))["code"] == RefusalCode.UNKNOWN_RUN
    nothing = RecordedCall("", "", b"")
    with pytest.raises(ValueError, match="outside the fence"):
        behind.commit(Turn(stored, stored.run, NOW, nothing))
    heir = StoredRun(replace(own.run, id=NOBODY), own.origin)
    assert not behind.commit(Turn(heir, heir.run, NOW, nothing, inherits=over))

    assert [len(runs.entries(run)) for run in (over, theirs)] == before
    assert runs.load(theirs) == stored
    assert behind.load(mine) == own
    assert len(behind.steps(mine)) == 1
    assert behind.definition(own.run.digest) == runs.definition(own.run.digest)


def test_a_feed_reports_only_what_is_inside(harness: TurnHarness, runs: SqliteRuns) -> None:
    (_, mine), (_, theirs) = played(harness, ROOT), played(harness, OTHER)
    assert methods(Feed) == {"announce", "listen"}
    feed = FilteredFeed(harness.feed, SqlRunQueries(runs.database, lambda: (ROOT,)))
    heard: list[str] = []
    end = feed.listen(lambda change: heard.append(change.run))

    for run in (theirs, mine, NOBODY):
        feed.announce(RunChange(run, 1))
    end()
    feed.announce(RunChange(mine, 2))

    assert heard == [mine]


def test_which_projects_are_inside_is_asked_anew_each_time(tmp_path: Path) -> None:
    class Changing(Projects):
        """Projects that a person registers and removes meanwhile."""

        @property
        def roots(self) -> tuple[Path, ...]:
            """Those of now."""
            return tuple(roots)

    roots = [Path(ROOT)]
    with open_app(tmp_path / "handrail.db") as app:
        behind = app.limit_to(Changing((), TrustStore()))
        turns = TurnHarness(app.world.runs)
        mine = turns.start(None, replace(ORIGIN, project=ROOT))["run"]
        assert behind.world.runs.load(mine) is not None
        roots.clear()

        assert behind.world.runs.load(mine) is None
        assert behind.runs.run(mine) is None
