"""`handrail project`: what is served over HTTP has a name, and what cannot be served names its repair."""

from pathlib import Path

import pytest

from helpers.program import CommandResult, run_command
from helpers.tenants import create_repository


@pytest.fixture(autouse=True)
def roots(tmp_path: Path) -> None:
    for name in ("one", "two", "one/inner", "repo/a", "repo/b"):
        (tmp_path / name).mkdir(parents=True)


def said(tmp_path: Path, *words: str | Path) -> CommandResult:
    return run_command(*words, "--store", tmp_path / "store" / "handrail.db", cwd=tmp_path)


def test_a_project_is_added_listed_and_removed_and_its_runs_are_kept(tmp_path: Path) -> None:
    made = said(tmp_path, "project", "add", "first", "one")
    assert (made.status, made.err) == (0, f"project first is served from {tmp_path / 'one'}\n")
    assert said(tmp_path, "project", "add", "Second.2", tmp_path / "two" / ".", "--json").data["project"][
        "root"
    ] == str(tmp_path / "two")

    listed = said(tmp_path, "project", "list", "--json").data["projects"]
    assert [(one["name"], one["root"]) for one in listed] == [
        ("Second.2", str(tmp_path / "two")),
        ("first", str(tmp_path / "one")),
    ]
    assert said(tmp_path, "project", "list").out.splitlines()[1].startswith(f"first\t{tmp_path / 'one'}\t20")

    gone = said(tmp_path, "project", "remove", "first")
    assert gone.err == (
        f"project first is served no longer; its runs are kept: handrail runs list --project {tmp_path}/one\n"
    )
    assert said(tmp_path, "project", "remove", "Second.2", "--json").data["project"]["name"] == "Second.2"
    assert said(tmp_path, "project", "list", "--json").data["projects"] == []
    again = said(tmp_path, "project", "remove", "first")
    assert (again.status, "handrail project list" in again.err) == (3, True)


@pytest.mark.parametrize(
    ("words", "message", "repair"),
    [
        (("a b", "two"), "`a b` is no name of a project", "write one that matches [A-Za-z0-9]"),
        (("-x", "two"), "no such option", ""),
        (("../x", "two"), "`../x` is no name of a project", "write one that matches"),
        (("", "two"), "`` is no name of a project", "write one that matches"),
        (("x" * 65, "two"), "is no name of a project", "{0,63}"),
        (("new", "nowhere"), "there is no folder nowhere", "make it, or name the one that is meant"),
        (("new", "store/handrail.db"), "there is no folder store/handrail.db", "make it"),
        (("new", "/"), "/ is no project", "name the folder of a project"),
        (("first", "two"), "`first` is the project in ", "handrail project remove first"),
        (("new", "one"), "it is the same folder", "use `first` for both"),
        (("new", "one/inner"), "one is inside the other", "use `first` for both"),
        (("new", "."), "one is inside the other", "handrail project remove first"),
    ],
)
def test_what_cannot_be_a_project_is_not_added_and_names_its_repair(
    tmp_path: Path, words: tuple[str, str], message: str, repair: str
) -> None:
    assert said(tmp_path, "project", "add", "first", "one").status == 0

    refused = said(tmp_path, "project", "add", *words)

    assert refused.status != 0
    assert message.lower() in refused.err.lower()
    assert repair in refused.err
    assert len(said(tmp_path, "project", "list", "--json").data["projects"]) == 1


def test_the_home_of_a_person_is_no_project_and_a_path_must_be_text(tmp_path: Path, home: Path) -> None:
    assert f"{home} is no project" in said(tmp_path, "project", "add", "new", home).err
    odd = tmp_path / "odd\udcff"
    odd.mkdir()
    answer = said(tmp_path, "project", "add", "new", odd)
    assert "is not UTF-8" in answer.err
    assert "give the folder another name" in answer.err


def test_projects_that_share_a_repository_would_share_a_plan(tmp_path: Path) -> None:
    create_repository(tmp_path / "repo", {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert said(tmp_path, "project", "add", "a", "repo/a").status == 0

    refused = said(tmp_path, "project", "add", "b", "repo/b")

    assert "they are in one repository" in refused.err
    assert "use `a` for both, or: handrail project remove a" in refused.err


def test_a_link_is_served_as_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "one")

    made = said(tmp_path, "project", "add", "first", "link", "--json").data["project"]

    assert made["root"] == str(tmp_path / "one")


def test_a_token_is_for_projects_that_are_there_or_for_all(tmp_path: Path) -> None:
    words = ("token", "create", "ada", "--scope", "run:read")
    unknown = said(tmp_path, *words, "--project", "first")
    assert (unknown.status, unknown.out) == (3, "")
    assert "no project is called `first`" in unknown.err
    assert "handrail project add" in unknown.err
    for name in ("one", "two"):
        said(tmp_path, "project", "add", name, name)

    narrow = said(tmp_path, *words, "--project", "two", "--project", "one", "--json").data["token"]
    wide = said(tmp_path, *words, "--json").data["token"]

    assert (narrow["projects"], wide["projects"]) == (["one", "two"], None)
    listed = said(tmp_path, "token", "list").out.splitlines()
    assert sorted(line.split("\t")[-1] for line in listed) == ["all", "one two"]


@pytest.mark.parametrize("given", [("127.0.0.1:0", "--auth", "token"), ("192.0.2.1:80",)])
def test_where_tokens_are_asked_for_only_what_has_a_name_is_served(
    tmp_path: Path, given: tuple[str, ...]
) -> None:
    by_path = said(tmp_path, "serve", "--http", *given, "--project", "one")
    assert by_path.status == 1
    assert "handrail project add NAME one, then leave --project and HANDRAIL_PROJECT out" in by_path.err
    said(tmp_path, "token", "create", "ada", "--scope", "run:read")

    nothing = said(tmp_path, "serve", "--http", *given)

    assert nothing.status == 1
    assert "no project is served, so there is nothing to do" in nothing.err
    assert "handrail project add NAME ROOT" in nothing.err


def test_two_folders_of_one_name_are_told_apart_before_anything_is_served(tmp_path: Path) -> None:
    (tmp_path / "two" / "one").mkdir()
    words = ("serve", "--http", "127.0.0.1:0", "--project", "one", "--project", "two/one")

    refused = said(tmp_path, *words)

    assert refused.status == 1
    assert f"{tmp_path}/two/one and {tmp_path}/one would both be called `one`" in refused.err
    assert f"handrail project add NAME {tmp_path}/two/one" in refused.err
