"""Words that only a person may say: a permit is left by the hook that saw one typed, and is good once."""

import json
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.clients.permits import Permits, leave_permit
from handrail.engine.refusals import RefusalCode
from handrail.runtime.system import state_folder
from helpers.crash import run_crash_program
from helpers.hooks import HookProject, get_added_context, store_key


@pytest.fixture
def shop(tmp_path: Path) -> HookProject:
    (tmp_path / "shop" / "src").mkdir(parents=True)
    shop = HookProject(tmp_path / "shop")
    shop.say("Accio")
    return shop


def permits() -> list[Path]:
    """The files that are there."""
    return sorted((state_folder() / "permits").iterdir())


def refused(reply: dict[str, object]) -> bool:
    """True if the word was refused for want of a permit; then the person is told what to do."""
    if reply.get("code") != RefusalCode.NOT_YOURS:
        return False
    assert str(reply["message_to_user"]).startswith(
        "Accio is not possible now: only you can say it, by typing it. Type the word alone in the chat"
    )
    assert reply["instructions_to_coding_agent"] == (
        "Do nothing: the run has not moved. Show the person the message."
    )
    return True


def test_a_word_that_nobody_typed_is_refused_and_one_that_was_typed_counts_once(shop: HookProject) -> None:
    assert refused(shop.say("Accio", Permits))

    assert get_added_context(shop.hook("prompt", prompt="Accio", cwd=str(shop.root / "src")))
    assert [stat.S_IMODE(path.stat().st_mode) for path in permits()] == [0o600]
    assert stat.S_IMODE(permits()[0].parent.stat().st_mode) == 0o700

    assert "code" not in shop.say("Accio", Permits)
    assert permits() == []
    assert refused(shop.say("Accio", Permits))


def test_who_only_looks_needs_no_permit_and_uses_none(shop: HookProject) -> None:
    shop.hook("prompt", prompt="Accio")

    assert "code" not in shop.say("Lumos", Permits)
    assert len(permits()) == 1


def test_a_word_that_is_refused_anyhow_leaves_the_permit(shop: HookProject) -> None:
    shop.hook("prompt", prompt="Reverto")

    assert shop.say("Reverto", Permits)["code"] == RefusalCode.REFUSED
    assert len(permits()) == 1


def test_a_call_sent_twice_is_answered_twice_and_uses_no_second_permit(shop: HookProject) -> None:
    plan = shop.root / ".ai" / "task" / "plan.md"
    plan.write_text("## Acceptance Criteria\n\n- [ ] Guests are greeted\n")
    token = shop.say("Lumos")["step_token"]
    shop.hook("prompt", prompt="Accio")
    first = shop.say("Accio", Permits, step_token=token)
    assert first["state"] == "ACHIEVE_TASK_DRAFTING"

    assert shop.say("Accio", Permits, step_token=token) == first
    shop.hook("prompt", prompt="Accio")
    assert shop.say("Accio", Permits, step_token=token) == first
    assert len(permits()) == 1


def left(shop: HookProject, word: str = "Accio", ago: float = 0, folder: str = "", key: bytes = b"") -> None:
    """Leave a permit that is not quite the right one."""
    leave_permit(key or store_key(), folder or str(shop.root), word, time.time() - ago)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda shop: left(shop, word="Finite"),
        lambda shop: left(shop, ago=601),
        lambda shop: left(shop, ago=-60),
        lambda shop: left(shop, folder=str(shop.root.parent)),
        lambda shop: left(shop, folder=f"{shop.root}-evil"),
        lambda shop: left(shop, key=b"another store's"),
    ],
    ids=["another word", "too old", "of the future", "above", "beside", "another store"],
)
def test_a_permit_for_something_else_is_none(shop: HookProject, spoil: Callable[[HookProject], None]) -> None:
    spoil(shop)

    assert refused(shop.say("Accio", Permits))


@pytest.mark.parametrize(
    "part", ["word", "folder", "issued", "nonce", "seal", "more", "none", "link", "name"]
)
def test_a_permit_that_somebody_wrote_or_changed_is_none(
    shop: HookProject, part: str, tmp_path: Path
) -> None:
    left(shop, word="Finite" if part == "word" else "Accio")
    (file,) = permits()
    data = json.loads(file.read_text())
    changed = {
        "word": "Accio",
        "folder": str(shop.root / "x"),
        "issued": time.time(),
        "nonce": "0",
        "seal": "0",
    }
    if part == "link":
        file.rename(tmp_path / "real")
        file.symlink_to(tmp_path / "real")
    elif part == "name":
        file.rename(file.with_name("0123456789abcdef.permit"))
    elif part == "none":
        file.write_text("[]")
    else:
        file.write_text(json.dumps({**data, part: changed.get(part, 1)}))

    assert refused(shop.say("Accio", Permits))


def test_permits_that_are_too_old_are_thrown_away(shop: HookProject) -> None:
    left(shop)
    leave_permit(store_key(), str(shop.root), "Accio", time.time() + 3600)

    assert len(permits()) == 1


def test_two_at_once_use_a_permit_once(shop: HookProject) -> None:
    left(shop)
    stored = Permits(store_key())

    with stored.take_permit(shop.root, "Accio", 1, time.time()) as mine:
        assert mine is not None
        with stored.take_permit(shop.root, "Accio", 1, time.time()) as theirs:
            assert theirs is None
        mine.used = True
    assert permits() == []


def test_a_turn_that_fails_puts_the_permit_back(shop: HookProject) -> None:
    left(shop)

    with pytest.raises(OSError, match="the disk"):
        _fail(shop)
    assert [path.suffix for path in permits()] == [".permit"]


def _fail(shop: HookProject) -> None:
    with Permits(store_key()).take_permit(shop.root, "Accio", 1, time.time()):
        raise OSError("the disk")


@pytest.mark.parametrize(("revision", "good"), [(1, True), (0, False)])
def test_what_a_server_took_that_lives_no_longer_is_good_if_the_run_has_not_moved(
    shop: HookProject, revision: int, *, good: bool
) -> None:
    left(shop)
    (file,) = permits()
    file.rename(file.with_name(f"{file.stem}.{revision}.taken"))

    assert refused(shop.say("Accio", Permits)) is not good
    assert permits() == []


def test_without_a_store_there_is_nothing_to_sign_with_and_no_permit(tmp_path: Path) -> None:
    assert get_added_context(HookProject(tmp_path).hook("prompt", prompt="Accio"))
    assert not (state_folder() / "permits").exists()


def test_whenever_the_server_is_killed_the_word_has_counted_or_the_permit_is_good(
    record_property: Callable[[str, object], None],
) -> None:
    said = run_crash_program("helpers/permit_crash.py")

    record_property("points", said["points"])
    assert said["points"] > 5
    assert said["wrong"] == []
