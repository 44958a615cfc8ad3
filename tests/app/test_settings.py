"""The setting `spells.permit`: off unless the user has said otherwise, and obeyed by a real server."""

import json
import stat
import subprocess
from pathlib import Path

import pytest

from handrail.app.settings import Requirement, load_settings, require_permits, settings_path
from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import Unreadable
from helpers.program import run_handrail
from helpers.servers import Pipe, create_place


def test_nothing_is_set_unless_the_user_has_done_so() -> None:
    assert load_settings().spells.permit is Requirement.OPTIONAL
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text("\n")
    assert load_settings().spells.permit is Requirement.OPTIONAL


def test_permits_are_required_from_then_on() -> None:
    require_permits()
    require_permits()

    assert load_settings().spells.permit is Requirement.REQUIRED
    assert settings_path().read_text() == "spells: {permit: required}\n"
    assert stat.S_IMODE(settings_path().stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["spells: {permit: maybe}", "spell: {}", "[", "spells: {permit: off}"])
def test_a_malformed_settings_file_is_reported_with_its_repair(text: str) -> None:
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text(text)

    with pytest.raises(Unreadable) as wrong:
        load_settings()
    assert wrong.value.message.startswith(f"{settings_path()} is not as it must be: ")
    assert wrong.value.repair.startswith("write `spells: {permit: required}` or")


def test_a_file_that_says_otherwise_is_left_alone() -> None:
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text("spells: {permit: optional}\n")

    with pytest.raises(Unreadable, match="is there already, and says otherwise"):
        require_permits()
    assert settings_path().read_text() == "spells: {permit: optional}\n"


def test_a_server_asks_at_every_word_whether_it_needs_a_permit(tmp_path: Path) -> None:
    at = create_place(tmp_path)
    own = at.folder / "home" / ".config" / "handrail" / "settings.yaml"
    own.parent.mkdir(parents=True)

    with Pipe(at, "--face", "spells") as pipe:
        free = pipe.call({}, "accio")
        own.write_text("spells: {permit: required}\n")
        bound = pipe.call({}, "accio")

    assert (free.failed, free.reply["state"]) == (False, "GATHER_EDITING")
    assert (bound.failed, bound.reply["code"]) == (True, RefusalCode.NOT_YOURS)


def test_the_hook_that_was_installed_lets_a_typed_word_pass_once(tmp_path: Path) -> None:
    at = create_place(tmp_path)
    env = {**at.env, "HANDRAIL_STORE": str(at.store)}
    words = ("init", "--client", "claude", "--face", "spells", "--permit")
    assert run_handrail(*words, cwd=at.project, **env).status == 0
    hooks = json.loads((at.project / ".claude" / "settings.json").read_text())["hooks"]
    command = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    typed = {"prompt": "accio", "cwd": str(at.project), "hook_event_name": "UserPromptSubmit"}

    with Pipe(at, "--face", "spells") as pipe:
        before = pipe.call({}, "accio")
        said = subprocess.run(
            ["/bin/sh", "-c", command],
            env=env,
            input=json.dumps(typed).encode(),
            check=True,
            capture_output=True,
        )
        once, twice = pipe.call({}, "accio"), pipe.call({}, "accio")

    assert "Call the tool `accio`" in json.loads(said.stdout)["hookSpecificOutput"]["additionalContext"]
    assert [answer.failed for answer in (before, once, twice)] == [True, False, True]
    assert (before.reply["state"], once.reply["state"]) == ("GATHER_NEEDS_PLAN", "GATHER_EDITING")
