"""`App` is the one object that every way in holds: what opening it makes, and how a person acts with it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from handrail.app.actions import AddComment, CompleteStep, Control, Fork
from handrail.app.app import App, open_app
from handrail.engine.model import Actor, Authority, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.ports.queries import RunFilter, RunRow
from handrail.runtime.records import Caller
from helpers.history import History, create_history

ANN = Caller(Actor.PERSON, "ann", "test")


@pytest.fixture
def past(tmp_path: Path) -> History:
    return create_history(tmp_path / "handrail.db")


@pytest.fixture
def app(past: History) -> Iterator[App]:
    with open_app(past.path) as opened:
        yield opened


def row(app: App, past: History, name: str) -> RunRow:
    found = app.runs.run(past.runs[name])
    assert found is not None
    return found


def test_an_app_that_is_only_asked_makes_nothing_for_turns_and_starts_no_thread(
    app: App, past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAIL_TOKEN_TTL", "nonsense")
    before = threading.active_count()

    assert len(app.runs.runs(RunFilter())) == len(past.runs)
    assert app.view(row(app, past, "running")).run.id == past.runs["running"]

    assert "world" not in vars(app)
    assert threading.active_count() == before


def test_an_action_runs_in_the_thread_that_writes(app: App, past: History) -> None:
    paused = app.act(row(app, past, "running"), Control("pause"), ANN)

    assert paused["lifecycle"] == Lifecycle.PAUSED
    assert any(thread.name.startswith("handrail-writer") for thread in threading.enumerate())


def test_a_fork_that_no_agent_could_make_is_made_when_it_is_confirmed(app: App, past: History) -> None:
    run, count = row(app, past, "abandoned"), len(past.runs)

    asked = app.act(run, Fork("prove"), ANN)
    assert list(asked) == ["warning"]
    assert len(app.runs.runs(RunFilter())) == count

    forked = app.act(run, Fork("prove", confirmed=True), ANN)
    assert (forked["parent"], forked["overrides"]) == (run.id, RefusalCode.LATER_STEP)
    assert len(app.runs.runs(RunFilter())) == count + 1


@pytest.mark.parametrize("action", [Control("pause"), CompleteStep({}), Fork()])
def test_a_run_that_the_store_only_mirrors_is_not_moved(
    app: App, past: History, tmp_path: Path, action: Control | CompleteStep | Fork
) -> None:
    mirrored = replace(row(app, past, "running"), authority=Authority.FILES, project=str(tmp_path))

    refused = app.act(mirrored, action, ANN)

    assert isinstance(refused["error"], dict)
    assert refused["error"]["code"] == "elsewhere"
    assert app.runs.run(mirrored.id) == row(app, past, "running")


def test_a_refused_comment_is_a_reply_too(app: App, past: History) -> None:
    refused = app.act(row(app, past, "running"), AddComment(""), ANN)

    assert isinstance(refused["error"], dict)
    assert refused["error"]["code"] in set(RefusalCode)
