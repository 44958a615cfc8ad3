"""Runs in every lifecycle, with tokens of every kind: what an honest agent did before a lying one comes."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from handrail.app.faces import StepsStatus
from handrail.engine.model import Lifecycle
from handrail.runtime.tokens import TokenClaims, decode_token, sign_token
from helpers.servers import InProcessClient, ToolAnswer, build_note_output

NOBODY: Final = "99999999-9999-4999-8999-999999999999"
"""The id of no run."""

PAPER: Final = """
workflow: paper
version: 1
authority: sql
about: Three steps
steps:
  - {name: draft, agent: writer, task: Write it., contract: {artifacts: [note]}}
  - {name: review, agent: reviewer, task: Read it., contract: {artifacts: [note]}}
  - {name: publish, agent: writer, task: Send it., contract: {artifacts: [note]}}
"""
AFTER: Final = {"pause": "paused", "diverge": "diverged", "abandon": "abandoned", "fail": "failed"}
"""The lifecycle after a call, where it is another."""

REASONED: Final = frozenset({"diverge", "abandon", "fail"})
REGIONS: Final = {"run": 0, "step": 16, "revision": 20, "issued": 24, "nonce": 32, "seal": 38}
"""Where each part of a token begins."""

MALFORMED: Final = ("", "no token", "A" * 71, "A" * 73, "!" * 72, "A" * 71 + "=", "é" * 72, " " * 72)


@dataclass(frozen=True, slots=True)
class TokenScene:
    """A run, the tokens a lying agent tries on it, and another run that has nothing to do with it."""

    run: str
    tokens: Mapping[str, str]
    other: str
    first: ToolAnswer | None = None
    """What the call was answered with when it was made for the first time."""


def build_arguments(form: str, token: str, summary: str = "Other.") -> dict[str, Any]:
    """The arguments of a call of this form, with a token."""
    if form == "continue":
        return {"step_token": token, "model_output_so_far": build_note_output(summary=summary)}
    return {"step_token": token, **_action(form, summary)}


def build_arguments_by_id(form: str, run: str) -> dict[str, Any]:
    match form:
        case "start":
            return {"template_name": "paper"}
        case "recover":
            return {"execution_id": run}
        case _:
            return {"execution_id": run, **_action(form, "Other.")}


def _action(form: str, summary: str) -> dict[str, Any]:
    more: dict[str, Any] = {"reason": "Because."} if form in REASONED else {}
    if form == "complete_step":
        more = {"model_output_so_far": build_note_output(summary=summary)}
    return {"action": form, **more}


@dataclass(frozen=True, slots=True)
class SceneBuilder:
    """Sets scenes at a desk; `foreign` is a token that another store has issued."""

    desk: InProcessClient
    foreign: str

    def scene(self, kind: str, form: str, lifecycle: str) -> TokenScene:
        if lifecycle == Lifecycle.IDLE:
            return self._nobody(kind)
        if kind == "same call":
            return self._repeated(form, lifecycle)
        return self._first(kind, lifecycle)

    def _first(self, kind: str, lifecycle: str) -> TokenScene:
        start = self.desk.start("paper")
        second = self.desk.continue_run(start.token)
        other = self.desk.start("paper")
        if kind == "superseded":
            self.desk.recover(start.run)
        self._bring(start.run, lifecycle)
        if kind == "expired":
            self.desk.clock.move(minutes=11)
        tokens = dict(self._tokens(kind, start.token, second.token, other.token))
        return TokenScene(start.run, tokens, other.run)

    def _tokens(self, kind: str, used: str, good: str, other: str) -> Iterator[tuple[str, str]]:
        match kind:
            case "good" | "expired" | "superseded":
                yield kind, good
            case "used":
                yield kind, used
            case "other run":
                yield kind, other
            case _:
                yield from self._made_up(kind, good)

    def _made_up(self, kind: str, good: str) -> Iterator[tuple[str, str]]:
        match kind:
            case "malformed":
                yield from ((f"{kind} {token!a}", token) for token in MALFORMED)
            case "forged":
                claims = decode_token(self.desk.app.world.key, good)
                assert isinstance(claims, TokenClaims)
                yield kind, sign_token(bytes(32), claims)
            case "flipped":
                yield from ((f"{kind} {name}", flip_token_bit(good, at)) for name, at in REGIONS.items())
            case "other store":
                yield kind, self.foreign

    def _bring(self, run: str, lifecycle: str) -> None:
        """Bring a running run into this lifecycle, without a token."""
        match lifecycle:
            case "paused":
                self.desk.control(run, "pause")
            case "completed":
                done = {"model_output_so_far": build_note_output()}
                while (
                    self.desk.control(run, "complete_step", **done).reply["status"] != StepsStatus.TASK_CLOSED
                ):
                    pass
            case "failed":
                self.desk.control(run, "fail", reason="Because.")
            case "abandoned":
                self.desk.control(run, "abandon", reason="Because.")
            case "diverged":
                self.desk.control(run, "diverge", reason="Because.")

    def _nobody(self, kind: str) -> TokenScene:
        """A run that is not there: its tokens are of this store, and it was removed since."""
        other = self.desk.start("paper")
        age = timedelta(minutes=11 if kind == "expired" else 0)
        claims = TokenClaims(NOBODY, 2, 2, self.desk.clock.now() - age, b"nonce!")
        good = sign_token(self.desk.app.world.key, claims)
        return TokenScene(NOBODY, dict(self._tokens(kind, good, good, other.token)), other.run)

    def _repeated(self, form: str, lifecycle: str) -> TokenScene:
        """A token that was spent on this very call."""
        start = self.desk.start("paper")
        token = self.desk.continue_run(start.token).token
        other = self.desk.start("paper")
        if form == "fork":
            self._bring(start.run, lifecycle)
        if form == "resume":
            self.desk.control(start.run, "pause")
        first = self.desk.call(build_arguments(form, token))
        assert first.reply["status"] == StepsStatus.OK, first
        now = lifecycle if form == "fork" else AFTER.get(form, "running")
        if now == Lifecycle.PAUSED != lifecycle:
            self.desk.control(start.run, "resume")
        if now != lifecycle:
            self._bring(start.run, lifecycle)
        return TokenScene(start.run, {"same call": token}, other.run, first)


def flip_token_bit(token: str, at: int) -> str:
    """The token with its bit at this byte turned over."""
    data = bytearray(urlsafe_b64decode(token))
    data[at] ^= 0x10
    return urlsafe_b64encode(bytes(data)).decode("ascii")


def read_expected_table(path: Path) -> dict[tuple[str, str, str], str]:
    """What is typed in a text table: what is expected by kind of token, call and lifecycle."""
    found: dict[tuple[str, str, str], str] = {}
    kind, columns = "", list[str]()
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("["):
            kind, _, rest = line[1:].partition("]")
            columns = rest.split()
        elif line and not line.startswith("#"):
            form, *cells = line.split()
            found |= {(kind, form, column): cell for column, cell in zip(columns, cells, strict=True)}
    return found
