"""No path of the server reaches a client: not in an answer, not in a refusal, not when the world fails."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.http_servers import FACES
from helpers.program import run_command
from helpers.servers import wait_until
from helpers.tenants import TenantServer, TenantUser, run_json_command, run_tenant_server, use_every_face

NONE = "unknown_workflow unknown_workflow arguments unknown_workflow"
CODES = {
    "alpha": "ok broken_workflow untrusted ok ok ok ok ok broken_workflow ok",
    "beta": "ok unknown_workflow arguments unknown_workflow ok ok ok ok unknown_workflow ok",
    "bare": f"{NONE} ok ok ok ok unknown_workflow vcs_missing_repo",
    "gone": f"{NONE} missing missing missing missing missing vcs_missing_repo",
    "linked": f"{NONE} unsafe_path unsafe_path unsafe_path unsafe_path unsafe_path vcs_missing_repo",
}
"""What four starts, three spells, two skills and a question about the plan come to."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantServer]:
    with run_tenant_server(Path(tmp_path_factory.mktemp("hidden")) / "place") as made:
        yield made


@pytest.fixture(scope="module")
def all_(house: TenantServer) -> TenantUser:
    """Somebody who may see all projects, of which three are in a bad way."""
    shelf = house.alpha / ".handrail"
    (shelf / "workflows" / "broken.yaml").write_text("workflow: broken\nversion: one\n", "utf-8")
    (shelf / "workflows" / "bug-fix.yaml").write_text("workflow: bug-fix\nversion: 1\n", "utf-8")
    (shelf / "agents" / "mute.md").write_bytes(b"\xff\xfe")
    for name in ("bare", "gone", "linked"):
        (house.at.folder / "srv" / name).mkdir()
        run_json_command(house.at, "project", "add", name, house.at.folder / "srv" / name)
    (house.at.folder / "srv" / "linked" / ".ai").symlink_to(house.at.folder)
    (house.at.folder / "srv" / "linked" / ".collab").symlink_to(house.at.folder)
    shutil.rmtree(house.at.folder / "srv" / "gone")
    person = house.person("kim")
    wait_until(lambda: "linked" in person.read("available-workflows://all"), "the new projects are served")
    return person


def leaks(house: TenantServer) -> list[str]:
    """What was said with a path of the server in it; what a client had sent itself is not counted."""
    return [text for text in house.heard if str(house.at.folder) in text]


@pytest.mark.parametrize("project", ["alpha", "beta", "bare", "gone", "linked"])
def test_no_tool_tells_where_a_project_is_whatever_state_it_is_in(
    house: TenantServer, all_: TenantUser, project: str
) -> None:
    names = ("brief", "broken", "bug-fix", "alpha-only")
    codes = [all_.step(template_name=name, project=project).code for name in names]
    cast = [all_.call("spells", tool, {"project": project}) for tool in ("lumos", "accio", "reparo")]
    named = {"project": project, "session": "one"}
    begun = all_.call("skills", "complete_skill", {**named, "skill": "collab-start"})
    graph = all_.call(
        "skills", "complete_skill", {**named, "session": "two", "skill": "x", "graph": "broken"}
    )
    looked = all_.call("planner", "gather_requirements", {"project": project})
    codes += [str(one.reply.get("code", "ok")) for one in (*cast, begun, graph, looked)]

    assert leaks(house) == []
    assert " ".join(codes) == CODES[project]


@pytest.mark.parametrize("face", FACES)
def test_no_resource_tells_where_a_project_is(house: TenantServer, all_: TenantUser, face: str) -> None:
    worked_in = [one["project_id"] for one in run_json_command(house.at, "project", "list")["projects"]]
    listed = [one["uri"] for one in all_.ask(face, "resources/list", {})["result"]["resources"]]
    for uri in (*listed, "persona://mute", *(f"project-context://{one}" for one in worked_in)):
        all_.read(uri, face)
    for method in ("tools/list", "prompts/list", "server/discover", "resources/templates/list"):
        all_.ask(face, method, {})

    assert leaks(house) == []
    answer = all_.read("available-workflows://all", face)
    assert "alpha/.handrail/workflows/broken.yaml" in answer
    assert "alpha/.handrail/workflows/bug-fix.yaml hides handrail/workflows/" in answer
    assert '"root":null' in answer


def test_a_path_is_no_name_of_a_project_and_is_answered_like_any_other(
    house: TenantServer, all_: TenantUser
) -> None:
    def told(project: str) -> str:
        return all_.step(template_name="brief", project=project).text.replace(project, "IT")

    nobody = told("nobody")
    for path in (house.alpha, house.beta, house.at.folder, "/", "/etc", house.alpha / "..", "alpha/"):
        assert told(str(path)) == nobody
    sent = [text for text in house.heard if str(house.at.folder) in text]
    for text in sent:
        house.heard.remove(text)


def test_a_store_that_cannot_be_written_says_so_without_its_path(
    house: TenantServer, all_: TenantUser
) -> None:
    use_every_face(house.person("ann", "alpha"), "alpha")
    trusted = house.at.folder / "home" / ".local" / "share" / "handrail" / "trusted.json"
    trusted.parent.mkdir(parents=True, exist_ok=True)
    trusted.write_text("{", "utf-8")

    answer = all_.step(template_name="bug-fix", project="alpha")
    trusted.unlink()

    assert answer.code == "unreadable"
    assert "the server's data/trusted.json" in answer.text
    assert leaks(house) == []


def test_a_server_of_ones_own_knows_its_projects_by_their_folders_too(
    house: TenantServer, tmp_path: Path
) -> None:
    clash = tmp_path / "alpha"
    clash.mkdir()
    words = ("serve", "--http", "127.0.0.1:0", "--project", clash, "--store", house.at.store)
    refused = run_command(*words, cwd=tmp_path)

    assert refused.status == 1
    assert f"{clash} and {house.alpha} would both be called `alpha`" in refused.err
    assert f"handrail project add NAME {clash}" in refused.err
