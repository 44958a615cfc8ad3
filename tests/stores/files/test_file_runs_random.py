"""Turns, crashes, power losses and people's edits in any order, held against a model that is a dict."""

import json
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from handrail.runtime.records import ChangedContent
from helpers.run_folders import build_final, build_turn, check_chain, load_run, open_folder_runs
from helpers.simulated_disk import PowerLoss, SimulatedWorkspace, StopAtChange

pytestmark = pytest.mark.unmeasured
STATES = ("EDITING", "DRAFTING", "EXECUTED")
PATHS = ("a.md", "b.md", "deep/er/c.md")
Files: TypeAlias = dict[str, bytes]


@dataclass(frozen=True)
class Take:
    """A turn to a state that leaves these files so; the power or the process goes before the k-th change."""

    state: str
    files: dict[str, bytes | None]
    cut: int = 0
    power: int = 0


@dataclass(frozen=True)
class EditState:
    """A person puts another state into the state file."""

    state: str


@dataclass(frozen=True)
class EditFile:
    path: str
    data: bytes


Act: TypeAlias = Take | EditState | EditFile
DATA = st.sampled_from([b"", b"1", b"22", b"a longer text\n"])
ACTS: st.SearchStrategy[Act] = st.one_of(
    st.builds(
        Take,
        st.sampled_from(STATES),
        st.dictionaries(st.sampled_from(PATHS), st.none() | DATA, max_size=3),
        st.just(0) | st.integers(1, 60),
        st.integers(0, 40),
    ),
    st.builds(EditState, st.sampled_from(STATES)),
    st.builds(EditFile, st.sampled_from(PATHS[:2]), DATA),
)


@dataclass(frozen=True)
class Model:
    """What must be there."""

    state: str = ""
    revision: int = 0
    files: Files = field(default_factory=dict)

    def after(self, act: Take) -> "Model":
        files = {**self.files, **act.files}
        return Model(act.state, self.revision + 1, {path: d for path, d in files.items() if d is not None})


def seen(workspace: SimulatedWorkspace) -> Model:
    """What is there once it is recovered; reading told the same before."""
    runs = open_folder_runs(workspace, signs=())
    on_paper = load_run(runs)
    with runs.hold_lock("", 0):
        stored = load_run(runs)
    assert stored == on_paper
    assert stored.trouble is None
    tree = workspace.tree()
    document = json.loads(tree.pop("state.json", b'{"current_state": ""}'))
    assert [step.state for step in stored.run.open] == [document["current_state"]] * bool(stored.run.open)
    assert check_chain(workspace.everything().get(".handrail/history.jsonl", b"")) == [
        *range(1, stored.revision + 1)
    ]
    return Model(document["current_state"], stored.revision, tree)


def finals(workspace: SimulatedWorkspace, act: Take) -> tuple[ChangedContent, ...]:
    return tuple(build_final(path, workspace.read(path), data) for path, data in act.files.items())


def taken(workspace: SimulatedWorkspace, model: Model, act: Take) -> tuple[SimulatedWorkspace, Model]:
    """The workspace and the model after a turn, whole or cut short."""
    workspace.before = StopAtChange(act.cut)
    runs = open_folder_runs(workspace, signs=())
    try:
        with runs.hold_lock("", 0):
            assert runs.commit(build_turn(load_run(runs), act.state, finals(workspace, act)))
    except PowerLoss:
        images = list(workspace.images()) if act.power else [workspace.copy()]
        workspace = images[act.power % len(images)]
        found = seen(workspace)
        assert found in (model, model.after(act))
        event("cut: " + ("taken" if found == model.after(act) else "not taken"))
        return workspace, found
    workspace.before = StopAtChange(0)
    spent = runs.find_recorded_call("", model.revision)
    assert spent is not None
    assert spent.reply == f"reply {model.revision} to {act.state}".encode()
    return workspace, model.after(act)


def edited(workspace: SimulatedWorkspace, model: Model, act: EditState | EditFile) -> Model:
    if isinstance(act, EditFile):
        workspace.put(act.path, act.data)
        return Model(model.state, model.revision, {**model.files, act.path: act.data})
    document = json.loads(workspace.tree().get("state.json", b"{}"))
    workspace.put("state.json", json.dumps({**document, "current_state": act.state}).encode())
    return Model(act.state, model.revision, model.files)


@settings(max_examples=300)
@given(st.lists(ACTS, max_size=8))
def test_whatever_happens_the_folder_is_as_the_model_says(acts: list[Act]) -> None:
    workspace, model = SimulatedWorkspace(), Model()
    for act in acts:
        if isinstance(act, Take):
            workspace, model = taken(workspace, model, act)
        else:
            model = edited(workspace, model, act)
        assert seen(workspace) == model
