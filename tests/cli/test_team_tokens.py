"""`handrail token`: a secret is shown once, and what is wrong names its repair."""

from pathlib import Path

import pytest

from helpers.program import CommandResult, run_handrail


def said(tmp_path: Path, *words: str) -> CommandResult:
    return run_handrail(*words, "--store", tmp_path / "store.db", HOME=str(tmp_path / "home"), cwd=tmp_path)


def test_a_token_is_made_listed_and_revoked(tmp_path: Path) -> None:
    scopes = ("--scope", "run:read", "--scope", "run:write")
    made = said(tmp_path, "token", "create", "ada", *scopes, "--expires", "never")
    secret = made.out.strip()
    assert (made.status, secret[:3], len(secret)) == (0, "hr_", 46)

    (listed,) = said(tmp_path, "token", "list", "--json").data["tokens"]
    assert listed["id"] in made.err
    stored = ("principal", "scopes", "standing", "expires", "used")
    assert [listed[name] for name in stored] == ["ada", ["run:read", "run:write"], "good", None, None]
    assert secret not in said(tmp_path, "token", "list").out

    assert said(tmp_path, "token", "revoke", listed["id"]).status == 0
    assert said(tmp_path, "token", "list").out.split("\t")[3] == "revoked"
    again = said(tmp_path, "token", "revoke", listed["id"])
    assert (again.status, "handrail token list" in again.err) == (3, True)


def test_programs_get_the_secret_as_json(tmp_path: Path) -> None:
    made = said(tmp_path, "token", "create", "ci@host", "--scope", "run:read", "--json").data["token"]

    assert made["secret"].startswith("hr_")
    assert (made["principal"], made["standing"]) == ("ci@host", "good")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a b", "--scope", "run:read"), "write one that matches [A-Za-z0-9]"),
        (("", "--scope", "run:read"), "write one that matches"),
        (("ada",), "Missing option '--scope'"),
        (("ada", "--scope", "everything"), "'run:read', 'run:write', 'gate:approve', 'admin'"),
        (("ada", "--scope", "run:read", "--expires", "soon"), "nor `never`"),
        (("ada", "--scope", "run:read", "--expires", "0d"), "nor `never`"),
        (("ada", "--scope", "run:read", "--expires", "999999999w"), "at most ten years"),
    ],
)
def test_what_is_no_token_is_not_made(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    made = said(tmp_path, "token", "create", *words)

    assert made.status != 0
    assert told in made.err
    assert made.out == ""
