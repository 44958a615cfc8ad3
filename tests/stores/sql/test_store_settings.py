"""Settings of the store and of its tokens, as the environment gives them."""

from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from handrail.app.app import open_app
from handrail.cli.main import cli
from handrail.runtime.errors import Unreadable
from handrail.runtime.sweep import IdleLimits, read_idle_limits
from handrail.stores.vcs import commands
from handrail.stores.vcs.commands import read_vcs_timeout
from helpers.requirement import requirement


@requirement("steps:token.expiry")
@pytest.mark.parametrize(
    ("given", "lifetime"),
    [(None, timedelta(minutes=10)), ("90", timedelta(seconds=90)), ("", timedelta(minutes=10))],
)
def test_a_token_is_good_for_ten_minutes_or_for_the_seconds_that_are_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None, lifetime: timedelta
) -> None:
    monkeypatch.delenv("HANDRAIL_TOKEN_TTL", raising=False)
    if given is not None:
        monkeypatch.setenv("HANDRAIL_TOKEN_TTL", given)

    with open_app(tmp_path / "store" / "handrail.db") as app:
        assert app.world.lifetime == lifetime


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "ten", " 5", "٣", "31536001"])
def test_what_is_no_number_of_seconds_is_told_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("HANDRAIL_TOKEN_TTL", given)

    done = CliRunner().invoke(cli, ["dashboard", "--no-open", "--store", str(tmp_path / "handrail.db")])

    assert done.exit_code == 1
    assert "HANDRAIL_TOKEN_TTL is" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("running", "paused", "found"),
    [
        ("", "", IdleLimits(timedelta(minutes=30), timedelta(hours=24))),
        ("90", "", IdleLimits(timedelta(seconds=90), timedelta(hours=24))),
        ("", "31536000", IdleLimits(timedelta(minutes=30), timedelta(days=365))),
    ],
)
def test_a_run_may_be_left_alone_as_long_as_ruled_or_for_the_seconds_that_are_set(
    monkeypatch: pytest.MonkeyPatch, running: str, paused: str, found: IdleLimits
) -> None:
    monkeypatch.setenv("HANDRAIL_IDLE_RUNNING", running)
    monkeypatch.setenv("HANDRAIL_IDLE_PAUSED", paused)

    assert read_idle_limits() == found


@pytest.mark.parametrize("variable", ["HANDRAIL_IDLE_RUNNING", "HANDRAIL_IDLE_PAUSED"])
@pytest.mark.parametrize("given", ["0", "-1", "1.5", "half an hour", "31536001"])
def test_a_limit_that_is_no_number_of_seconds_is_told(
    monkeypatch: pytest.MonkeyPatch, variable: str, given: str
) -> None:
    monkeypatch.setenv(variable, given)

    with pytest.raises(Unreadable, match=f"{variable} is '{given}', which is no number of seconds"):
        read_idle_limits()


def test_jj_and_git_have_as_long_as_the_setting_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    assert commands.derive_timeouts(read_vcs_timeout()) == commands.VcsTimeouts(
        read=10.0, write=30.0, lock=60.0
    )
    monkeypatch.setenv("HANDRAIL_VCS_SECONDS", "300")
    assert commands.derive_timeouts(read_vcs_timeout()) == commands.VcsTimeouts(
        read=10.0, write=300.0, lock=600.0
    )
    monkeypatch.setenv("HANDRAIL_VCS_SECONDS", "2")
    assert commands.derive_timeouts(read_vcs_timeout()) == commands.VcsTimeouts(
        read=2.0, write=2.0, lock=60.0
    )
    monkeypatch.setenv("HANDRAIL_VCS_SECONDS", "soon")
    with pytest.raises(Unreadable, match="HANDRAIL_VCS_SECONDS is 'soon', which is no number of seconds"):
        read_vcs_timeout()
