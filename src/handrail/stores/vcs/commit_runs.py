"""Store one run in a commit description: `VcsCommitRuns` is the store.

The text decides the state of the run. The common SQL store, `common`, keeps the journal and the recorded
calls under the id of the commit's change. `open_description` finds the project's repository.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from handrail.engine.model import Authority, Lifecycle, Run, Step, Workflow
from handrail.runtime import records
from handrail.runtime.entries import Entry
from handrail.runtime.errors import Fault, NoRepository, SyncFailed, TextConflict
from handrail.runtime.journal import build_lifecycle_entry
from handrail.runtime.ports.queries import StepRow
from handrail.runtime.ports.turn import (
    GIT,
    JJ,
    ChangedFile,
    Changes,
    Description,
    Descriptions,
    IdSource,
    ProcessRunner,
    ProjectDescription,
    Runs,
)
from handrail.runtime.records import StoredRun, Turn
from handrail.runtime.resolve import ResolvedEffects
from handrail.runtime.system import RandomIds, SubprocessRunner
from handrail.runtime.turn import MAX_ATTEMPTS
from handrail.stores.vcs.commands import (
    DEFAULT_TIMEOUTS,
    VcsTimeouts,
    build_environment,
    derive_timeouts,
    find_repository,
    read_vcs_timeout,
)
from handrail.stores.vcs.git import GitDescriptions, GitDescriptionSync, build_remote_environment
from handrail.stores.vcs.jj import JjDescriptions
from handrail.workflows.registry import CHANGED_FILE_PATH, DESCRIPTION_PATH

# How often a turn is offered to the common store when other processes write there too.
_MAX_COMMIT_ATTEMPTS: Final = 5


def open_local_description(root: Path, kind: str = "") -> ProjectDescription:
    """Open the description of the nearest repository with the programs of this machine."""
    here, remote = (
        SubprocessRunner(make(os.environ)) for make in (build_environment, build_remote_environment)
    )
    return open_description(here, remote, root, RandomIds(), kind, limits=derive_timeouts(read_vcs_timeout()))


def open_description(  # noqa: PLR0913 - two runners, a place and options
    runner: ProcessRunner,
    far: ProcessRunner,
    root: Path,
    ids: IdSource,
    kind: str = "",
    *,
    limits: VcsTimeouts = DEFAULT_TIMEOUTS,
) -> ProjectDescription:
    """Open the description of the nearest repository, from the root upwards. Raises `NoRepository`.

    jj wins where a folder has both, unless `kind` forces one. `runner` needs the environment of
    `build_environment`, and `far`, which may talk to a remote, that of `build_remote_environment`.
    """
    found, folder = find_repository(root, (kind,) if kind else (JJ, GIT))
    if found == JJ:
        jj = JjDescriptions(runner, folder, limits)
        return ProjectDescription(JJ, folder, jj, jj, None)
    if found == GIT:
        git = GitDescriptions(runner, folder, ids, limits)
        return ProjectDescription(GIT, folder, git, git, GitDescriptionSync(git, far))
    begin = "jj git init" if kind == JJ else "git init"
    other = ", or force no kind of repository" if kind else ""
    raise NoRepository(
        f"`{root}` is in no repository of {kind or 'jj or git'}",
        f"run `{begin}` there, or name the folder that is meant{other}",
    )


class VcsCommitRuns:
    """`Runs` of one description, for one call: `commit` replaces exactly the text that `load` saw.

    It also is the `Files` that facts are read from. The run's id is derived from its folder, so a token stays
    valid when the first text is written or a new plan begins. A revision is derived from the text and from
    the number of turns in the common store, so a text that comes back is not mistaken for the earlier one.
    """

    def __init__(self, descriptions: Descriptions, common: Runs, folder: Path, workflow: Workflow) -> None:
        self._descriptions, self._common = descriptions, common
        self._folder, self._workflow = folder, workflow
        self._run = _derive_id(f"{folder.as_uri()}#{workflow.name}")
        self._seen, self._last = Description("", "", ""), False
        self._known: StoredRun | None = None
        self._changed: tuple[ChangedFile, ...] | None = None

    @property
    def text(self) -> str:
        """Return the description as it was last read."""
        return self._seen.text

    def load_with_changes(self, most: int) -> tuple[StoredRun, Changes]:
        """Return the run, and the changed files, at most `most`."""
        changes = self._descriptions.changes(most)
        self._seen, self._changed = changes.description, changes.files
        return self._build_run(), changes

    def read(self, path: str) -> bytes | None:
        """Return the description, or the path of the first changed file; None for any other path."""
        if path == DESCRIPTION_PATH:
            return self._seen.text.encode("utf-8", "surrogatepass")
        if path != CHANGED_FILE_PATH:
            return None
        if self._changed is None:  # the disk is read once, and only if needed
            self._changed = self._descriptions.changes(1).files
        return self._changed[0].path.encode("utf-8", "surrogatepass") if self._changed else None

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the description's path, the only one that can be listed."""
        return () if folder else (DESCRIPTION_PATH,)

    @contextmanager
    def hold_lock(self, run: str, attempt: int) -> Iterator[None]:  # noqa: ARG002 - there is only one run
        """Lock nothing on the first attempt; lock the repository, but not the common store, on later ones.

        On the last attempt a conflict is raised: a program that does not use our lock may have written.
        """
        self._last = attempt == MAX_ATTEMPTS - 1
        with self._descriptions.hold_lock() if attempt else nullcontext():
            yield

    def load(self, run: str) -> StoredRun:  # noqa: ARG002 - there is only one run
        """Return the run according to the current text."""
        self._seen, self._changed = self._descriptions.read(), None
        return self._build_run()

    def next_revision(self, stored: StoredRun, resolved: ResolvedEffects) -> int:  # noqa: ARG002 - the method `load` has read it
        """Return the revision after a turn with these effects."""
        text = self._seen.text if resolved.describes is None else resolved.describes
        return _derive_revision(text, 1 if resolved.anew else _count_turns(self._known) + 1)

    def commit(self, turn: Turn) -> bool:
        """Replace the text if it is still the one that was read; then record the turn.

        If recording or archiving fails, the turn still counts, and beginning the next plan archives the text.
        """
        text = self._seen.text if turn.describes is None else turn.describes
        try:
            with self._descriptions.hold_lock():
                if turn.anew:
                    self._seen = self._descriptions.begin_new(self._seen)
                self._seen = self._descriptions.swap(self._seen, text)
        except TextConflict:
            if self._last:
                raise
            return False
        try:
            self._record(turn)
            if self._completes(turn):
                self._descriptions.archive(self._seen)
        except SyncFailed:
            raise
        except Fault:
            return True
        return True

    def find_recorded_call(self, run: str, revision: int) -> records.RecordedCall | None:  # noqa: ARG002 - there is only one run
        """Return the recorded call of the turn that started from this revision, or None."""
        known, mark = _count_turns(self._common.load(self.mirror_id)), f"{revision:08x}:"
        for number in range(known - 1, max(known - records.MAX_RECORDED_CALLS, 0) - 1, -1):
            found = self._common.find_recorded_call(self.mirror_id, number)
            if found and found.token.startswith(mark):
                return replace(found, token=found.token.removeprefix(mark))
        return None

    def renew_tokens(
        self, stored: StoredRun, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Add the entries; tokens are valid for a revision. False if the revision has changed."""
        del tokens
        self.note(stored.run.id, at, entries)
        return self._build_run().revision == stored.revision

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Add entries that belong to no turn."""
        self._common.note(self.mirror_id if run else "", at, entries)

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[records.JournalEntry, ...]:  # noqa: ARG002 - one run
        """Return entries of the run, as far as the common store has them."""
        return self._common.entries(self.mirror_id, after, most)

    def steps(self, run: str) -> tuple[StepRow, ...]:  # noqa: ARG002 - there is only one run
        """Return every stage that the common store has recorded."""
        return self._common.steps(self.mirror_id)

    def definition(self, digest: str) -> records.Definition | None:  # noqa: ARG002 - no definitions are stored
        """Return None: the run follows the installed workflow."""
        return None

    def touch(self, run: str, at: datetime) -> None:
        """Do nothing: no sweep abandons such a run."""

    @property
    def mirror_id(self) -> str:
        """Return the run's id in the common store: derived from the change, so every clone has it too."""
        change = self._seen.change
        return _derive_id(f"change:{self._workflow.name}:{change}") if change else self._run

    def _build_run(self) -> StoredRun:
        known = self._known = self._common.load(self.mirror_id)
        flow = self._workflow
        origin = records.Origin(flow.name, Authority.DESCRIPTION, str(self._folder))
        new = Run(self._run, flow.name, flow.digest)
        revision = _derive_revision(self._seen.text, _count_turns(known))
        if known is None:
            return StoredRun(new, origin, revision)
        run = replace(new, lifecycle=Lifecycle.RUNNING, steps=known.run.steps)
        return StoredRun(
            run, known.origin, revision, known.started, known.updated, undelivered=known.undelivered
        )

    def _record(self, turn: Turn) -> None:
        """Add the turn to the common store, after whatever other processes have added."""
        spent = replace(turn.spent, token=f"{turn.before.revision:08x}:{turn.spent.token}")
        origin = replace(turn.before.origin, goal=self._seen.text.partition("\n")[0])
        run = replace(turn.run, id=self.mirror_id)
        mirrored = replace(turn, run=run, spent=spent, tokens={}, describes=None)
        known = self._known  # what `load` read: the store compares the revision
        for attempt in range(_MAX_COMMIT_ATTEMPTS):
            if attempt or known is None or known.run.id != mirrored.run.id:
                known = self._common.load(mirrored.run.id)
            before = known or StoredRun(mirrored.run, origin)
            staged = self._with_stage(replace(mirrored, before=before))
            if before.run.lifecycle is not staged.run.lifecycle:
                entry = build_lifecycle_entry(before, staged.run, turn.at, turn.caller)
                staged = replace(staged, entries=(*staged.entries, entry))
            if self._common.commit(staged):
                return

    def _completes(self, turn: Turn) -> bool:
        return self._workflow.states[turn.passages[-1].target].extra.get("complete") is True

    def _with_stage(self, turn: Turn) -> Turn:
        """Return the turn with its target stage as the open step, for people who look at runs."""
        target, before = turn.passages[-1].target, turn.before.run
        if before.open and before.open[0].state == target:
            return replace(turn, run=replace(turn.run, open=before.open, steps=before.steps))
        done = records.StepStatus.COMPLETED
        closed = tuple(records.ClosedStep(step.number, step.state, done) for step in before.open)
        if self._completes(turn):
            run = replace(turn.run, steps=before.steps, lifecycle=Lifecycle.COMPLETED)
            return replace(turn, run=run, closed=closed)
        number = before.steps + 1
        run = replace(turn.run, open=(Step(number, target, 1),), steps=number)
        return replace(turn, run=run, closed=closed, opened=(records.OpenedStep(number, target, ""),))


def _count_turns(known: StoredRun | None) -> int:
    return known.revision if known else 0


def _derive_id(what: str) -> str:
    return str(uuid5(NAMESPACE_URL, what))


def _derive_revision(text: str, turns: int) -> int:
    """Return the revision of a text after so many turns; 0 for an empty text without turns."""
    if not text and not turns:
        return 0
    digest = hashlib.sha256(f"{turns}\0{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big") | 1
