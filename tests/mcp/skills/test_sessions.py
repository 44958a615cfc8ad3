"""Which session a call is about: where it begins, what it is called, and nothing outside its project."""

from pathlib import Path
from threading import Event

import pytest

from handrail.engine.refusals import RefusalCode, TroubleCode
from handrail.runtime.errors import UnsafePath
from handrail.runtime.records import RunChange
from helpers.requirement import requirement
from helpers.skill_sessions import SESSION, TO_FIRST_ITEM, SkillAgent, open_skill_agent, write_design


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@requirement("skills:session.new")
def test_a_session_begins_with_its_first_skill_and_with_no_other(agent: SkillAgent) -> None:
    answer = agent.completes("gather-session-goals")

    assert answer.reply["code"] == RefusalCode.UNKNOWN_SESSION
    assert answer.reply["why"]["needed"] == [
        "a session; none exists yet",
        "or the skill `collab-start`, which begins a new one",
    ]
    named = {"project": str(agent.root), "session": "demo", "skill": "collab-start"}
    assert answer.reply["next"] == [{"tool": "complete_skill", "arguments": named, "who": "agent"}]
    assert not (agent.root / ".collab").exists()
    assert agent.walks("collab-start").reply["state"] == "gather-goals"


@requirement("skills:session.new")
def test_an_unknown_session_is_answered_with_those_that_exist(agent: SkillAgent) -> None:
    for name in ("beta", "alpha"):
        agent.completes("collab-start", session=name)
    agent.home("empty").mkdir()
    agent.writes("design.md", write_design(["code"]), "prepared")

    for answer in (agent.completes("collab-clear"), agent.looks(), agent.sets("a")):
        assert answer.reply["why"]["needed"][0] == "one of the sessions that exist: alpha, beta"
    assert sorted(path.name for path in agent.home().parent.iterdir()) == [
        "alpha",
        "beta",
        "empty",
        "prepared",
    ]


def test_of_many_sessions_the_first_are_named(agent: SkillAgent) -> None:
    for number in range(21):
        agent.completes("collab-start", session=f"s{number:02}")

    (there, _) = agent.looks(session="other").reply["why"]["needed"]
    assert there.endswith("s18, s19, …")


def test_sessions_of_one_project_do_not_know_each_other(agent: SkillAgent) -> None:
    agent.completes("collab-start", session="one")
    agent.completes("collab-start", session="two")
    agent.completes("gather-session-goals", session="two")

    assert agent.looks(session="one").reply["state"] == "gather-goals"
    assert agent.looks(session="two").reply["state"] == "clear-pre-item"


@requirement("skills:session.name")
@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "../demo",
        "/etc",
        "a b",
        "ä",
        "a\n",
        "x" * 65,
        "a\\b",
        "a:b",
        "%2e%2e",
        "~",
        "-\u202e",
    ],
)
def test_a_bad_session_name_is_refused_and_nothing_is_made(agent: SkillAgent, name: str) -> None:
    for answer in (agent.completes("collab-start", session=name), agent.looks(session=name)):
        assert answer.reply["code"] == RefusalCode.SESSION_NAME
    assert list(agent.root.iterdir()) == []


@requirement("skills:session.name")
@pytest.mark.parametrize("name", ["a", "A.b_c-9", "...", ".hidden", "-", "x" * 64, "con"])
def test_a_plain_name_is_the_name_of_its_folder(agent: SkillAgent, name: str) -> None:
    assert not agent.completes("collab-start", session=name).failed
    assert (agent.home(name) / "collab-state.json").is_file()


@requirement("skills:session.name")
def test_only_the_whole_path_of_a_root_names_a_project(tmp_path: Path) -> None:
    root, other, sibling = tmp_path / "proj", tmp_path / "other", tmp_path / "proj-evil"
    sibling.mkdir()
    (tmp_path / "link").symlink_to(root)
    with open_skill_agent(tmp_path, root, other) as agent:
        before = everything(tmp_path)
        wrong = [
            *(
                str(path)
                for path in (sibling, tmp_path, tmp_path / "link", root / "sub", root / ".." / "proj")
            ),
            *("proj", ".", "", "/", "~", f"{root}\x01", f"file://{root}", str(root).upper()),
        ]
        for project in wrong:
            answer = agent.completes("collab-start", project=project)
            assert answer.reply["code"] == RefusalCode.UNKNOWN_PROJECT, project
            assert answer.reply["why"]["needed"] == [f"one of {root}, {other}"]
        assert agent.completes("collab-start", project=f"{root}\0").reply["code"] == RefusalCode.ARGUMENTS
        assert {path for path in everything(tmp_path) if "store" not in path} == {
            path for path in before if "store" not in path
        }
        assert not agent.completes("collab-start", project=f"{root}/").failed
        assert not agent.completes("collab-start", project=str(other)).failed
    assert sorted(path.name for path in sibling.iterdir()) == []


def test_a_server_without_a_project_says_so(tmp_path: Path) -> None:
    with open_skill_agent(tmp_path) as agent:
        agent.face._sessions._projects._roots = ()  # noqa: SLF001 - as where the server was started in no project
        assert agent.completes("collab-start").reply["code"] == RefusalCode.NO_PROJECT


@requirement("skills:session.name")
@pytest.mark.parametrize("place", [".collab", ".collab/sessions", ".collab/sessions/demo"])
def test_a_link_in_place_of_a_folder_is_refused_and_leads_nowhere(tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    (outside / "sessions" / "demo" / "documents").mkdir(parents=True)
    with open_skill_agent(tmp_path) as agent:
        link = agent.root / place
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(outside.joinpath(*Path(place).parts[1:]))
        before = sorted(outside.rglob("*"))
        with pytest.raises(UnsafePath):
            agent.completes("collab-start")
        with pytest.raises(UnsafePath):
            agent.looks()
        assert sorted(outside.rglob("*")) == before


@requirement("skills:session.name")
@pytest.mark.parametrize("file", ["documents", "documents/design.md", "collab-state.json", ".handrail"])
def test_a_link_inside_a_session_is_not_followed_either(tmp_path: Path, file: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "design.md").write_text(write_design(["code"]), "utf-8")
    (outside / "collab-state.json").write_text('{"state": "cleanup", "phase": "complete"}', "utf-8")
    with open_skill_agent(tmp_path) as agent:
        agent.walks("collab-start", "gather-session-goals")
        place = agent.home() / file
        if place.exists():
            place.rename(tmp_path / "kept")
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(outside / "design.md" if file.endswith("design.md") else outside / place.name)
        before = everything(outside)
        if file == "collab-state.json":
            assert agent.completes("collab-clear").reply["code"] == TroubleCode.DAMAGED
        else:
            with pytest.raises(UnsafePath):
                agent.completes("collab-clear")
        assert everything(outside) == before


@requirement("skills:state.old")
@pytest.mark.parametrize(
    ("phase", "state", "item"),
    [
        ("brainstorming", "clear-pre-item", None),
        ("rough-draft/interface", "rough-draft-interface", 2),
        ("rough-draft/pseudocode", "rough-draft-pseudocode", 2),
        ("rough-draft/skeleton", "rough-draft-skeleton", 2),
        ("rough-draft/build-task-graph", "build-task-graph", 2),
        ("rough-draft/handoff", "rough-draft-handoff", 2),
        ("implementation", "clear-pre-execute", None),
        ("complete", "workflow-complete", None),
    ],
)
def test_an_older_file_is_adopted_by_its_phase(
    agent: SkillAgent, phase: str, state: str, item: int | None
) -> None:
    agent.puts(
        phase=phase, lastActivity="2026-01-01T00:00:00Z", currentItem=2, hasSnapshot=True, theme="dark"
    )
    agent.writes("design.md", write_design(["code", "code", "task"], documented=[3]))

    shown = agent.looks()
    assert (shown.reply["state"], shown.reply["phase"]) == (state, phase)
    assert shown.reply["params"] == ({"item_number": item} if item else {})
    assert "taken as it stands" in shown.reply["note"]
    assert not (agent.home() / ".handrail").exists()
    answer = agent.completes(shown.reply["next_skill"])
    assert not answer.failed, answer.text
    stored = agent.state()
    assert (stored["hasSnapshot"], stored["theme"], stored["state"]) == (True, "dark", answer.reply["state"])
    assert list(stored)[:5] == ["phase", "lastActivity", "currentItem", "hasSnapshot", "theme"]
    assert stored["lastActivity"] == "2026-03-01T12:00:00.000Z"


@requirement("skills:state.old")
def test_an_older_file_of_an_unknown_phase_is_kept_and_a_person_is_asked(agent: SkillAgent) -> None:
    agent.puts(phase="dreaming", currentItem=None)
    before = agent.state()

    answer = agent.looks()
    assert answer.reply["code"] == TroubleCode.DAMAGED
    assert "handrail repair --adopt STATE" in answer.reply["why"]["needed"][0]
    assert agent.state() == before


@requirement("skills:state.file")
def test_a_state_file_edited_by_a_person_is_used_and_reported(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["code"]))
    agent.walks("collab-start")
    agent.puts(**{**agent.state(), "state": "clear-pre-item", "mine": [1]})

    again = agent.completes("collab-start")
    assert again.failed
    assert "`collab-clear` is expected" in again.reply["error"]
    answer = agent.walks("collab-clear")
    assert "changed since the last turn" in answer.reply["note"]
    assert agent.state()["mine"] == [1]


def test_a_state_that_no_run_can_stand_in_is_set_aside_and_a_person_is_asked(agent: SkillAgent) -> None:
    agent.walks("collab-start")
    agent.puts(**{**agent.state(), "state": "batch-router"})

    answer = agent.completes("gather-session-goals")

    assert answer.reply["code"] == TroubleCode.DIVERGED
    assert "batch-router" in answer.reply["why"]["seen"][0]
    assert list((agent.home() / ".handrail" / "quarantine").iterdir()) != []


@requirement("skills:diagram")
def test_the_status_draws_the_graph_with_the_state_marked_and_the_batches(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    agent.walks(*TO_FIRST_ITEM)
    shown = agent.looks().reply
    names = [
        line.partition("(")[0].strip()
        for line in shown["diagram"].splitlines()
        if "systematic-debugging" in line
    ]
    assert shown["diagram"].startswith("flowchart TD\n")
    assert f"class {names[0]} current" in shown["diagram"]
    assert "batches_diagram" not in shown

    agent.walks("systematic-debugging", "collab-clear", "ready-to-implement", "collab-clear")
    agent.sets("item-1", "failed")
    drawn = agent.looks().reply
    assert drawn["batches_diagram"] == (
        "flowchart LR\n"
        '    subgraph b0["batch-1, in_progress"]\n'
        '        t0("item-1")\n'
        "    end\n"
        "    classDef failed fill:#fee2e2,stroke:#dc2626,color:#1e293b\n"
        "    class t0 failed\n"
    )
    assert drawn["tasks"] == [{"id": "item-1", "status": "failed"}]
    assert "task `item-1` is failed" in drawn["blocked"]


def test_asking_writes_nothing(agent: SkillAgent) -> None:
    agent.walks("collab-start", "gather-session-goals")
    before = everything(agent.root)

    first, second = agent.looks(), agent.looks()

    assert everything(agent.root) == before
    assert {**first.reply, "step_token": ""} == {**second.reply, "step_token": ""}
    assert (
        agent.completes("collab-clear", step_token=first.reply["step_token"]).reply["code"]
        == RefusalCode.REFUSED
    )


@requirement("skills:feed")
def test_each_move_is_announced_and_its_entry_has_the_whole_move(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    heard: list[tuple[str, int]] = []
    last = Event()

    def hear(change: RunChange) -> None:
        heard.append((change.run, change.revision))
        if change.revision == 3:
            last.set()

    stop = agent.app.world.feed.listen(hear)
    agent.walks(*TO_FIRST_ITEM)
    agent.completes("collab-start")
    assert last.wait(60)
    stop()

    (run,) = {run for run, _ in heard}
    revisions = [revision for _, revision in heard]
    assert revisions == sorted({*revisions, 3})
    row = agent.app.runs.run(run)
    assert row is not None
    assert (row.project, row.face, row.goal) == (str(agent.root), "skills", SESSION)
    moves = [line.entry for line in agent.app.runs.journal(run=run) if "skill" in line.entry.data]
    assert [
        (entry.step, *(entry.data[name] for name in ("to", "skill", "params", "session", "with")))
        for entry in moves
    ] == [
        ("collab-start", "gather-goals", "gather-session-goals", {}, "demo", {"skill": "collab-start"}),
        ("gather-goals", "clear-pre-item", "collab-clear", {}, "demo", {"skill": "gather-session-goals"}),
        (
            "clear-pre-item",
            "systematic-debugging",
            "systematic-debugging",
            {"item_number": 1},
            "demo",
            {"skill": "collab-clear"},
        ),
    ]
