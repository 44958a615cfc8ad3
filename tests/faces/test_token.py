"""`handrail token` and `handrail project`: a secret is shown once, and what is wrong names its repair."""

from pathlib import Path

import pytest

from program import Said, handrail


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "web").mkdir()
    return tmp_path


def said(here: Path, *words: str) -> Said:
    return handrail(*words, "--store", here / "store.db", HOME=str(here / "home"), cwd=here)


def test_a_token_is_made_listed_and_revoked(here: Path) -> None:
    assert said(here, "project", "add", "web", "web").status == 0
    scopes = ("--scope", "run:read", "--scope", "run:write")
    made = said(here, "token", "create", "ada", *scopes, "--project", "web", "--expires", "never")
    secret = made.out.strip()
    assert (made.status, secret[:3], len(secret)) == (0, "hr_", 46)

    (listed,) = said(here, "token", "list", "--json").data["tokens"]
    assert listed["id"] in made.err
    kept = ("principal", "scopes", "projects", "standing", "expires", "used")
    assert [listed[name] for name in kept] == ["ada", ["run:read", "run:write"], ["web"], "good", None, None]
    assert secret not in said(here, "token", "list").out

    assert said(here, "token", "revoke", listed["id"]).status == 0
    assert said(here, "token", "list").out.split("\t")[4] == "revoked"
    again = said(here, "token", "revoke", listed["id"])
    assert (again.status, "handrail token list" in again.err) == (3, True)


def test_programs_get_the_secret_as_json(here: Path) -> None:
    made = said(here, "token", "create", "ci@host", "--scope", "run:read", "--json").data["token"]

    assert made["secret"].startswith("hr_")
    assert (made["projects"], made["standing"]) == (None, "good")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a b", "--scope", "run:read"), "write one that matches [A-Za-z0-9]"),
        (("", "--scope", "run:read"), "write one that matches"),
        (("ada",), "Missing option '--scope'"),
        (("ada", "--scope", "everything"), "'run:read', 'run:write', 'gate:approve', 'admin'"),
        (("ada", "--scope", "run:read", "--project", "web"), "handrail project add web ROOT"),
        (("ada", "--scope", "run:read", "--expires", "soon"), "nor `never`"),
        (("ada", "--scope", "run:read", "--expires", "0d"), "nor `never`"),
        (("ada", "--scope", "run:read", "--expires", "999999999w"), "at most ten years"),
    ],
)
def test_what_is_no_token_is_not_made(here: Path, words: tuple[str, ...], told: str) -> None:
    made = said(here, "token", "create", *words)

    assert made.status != 0
    assert told in made.err
    assert made.out == ""


def test_projects_are_named_listed_and_forgotten(here: Path) -> None:
    assert said(here, "project", "add", "web", "web").status == 0
    assert said(here, "project", "list").out == f"web\t{here / 'web'}\n"
    assert said(here, "project", "list", "--json").data["projects"] == [
        {"name": "web", "root": str(here / "web")}
    ]
    assert said(here, "project", "remove", "web").status == 0
    assert said(here, "project", "list").out == ""
    gone = said(here, "project", "remove", "web")
    assert (gone.status, "handrail project list" in gone.err) == (3, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a/b", "web"), "write one that matches"),
        (("web", "/"), "/ is no project"),
        (("web", "home"), "home is no project"),
        (("web", "nowhere"), "does not exist"),
        (("taken", "other"), "is taken already"),
    ],
)
def test_what_is_no_project_is_not_named(here: Path, words: tuple[str, ...], told: str) -> None:
    for folder in ("home", "other"):
        (here / folder).mkdir()
    assert said(here, "project", "add", "taken", "web").status == 0

    named = said(here, "project", "add", *words)

    assert named.status != 0
    assert told in named.err
    assert said(here, "project", "list").out == f"taken\t{here / 'web'}\n"
