"""What clients were told, what a database holds of it, and whether that is the same."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import psycopg

from handrail.engine.model import Lifecycle


@dataclass(slots=True)
class Errand:
    """What a client has done for one goal: how often it sent the start, and which run it was told.

    What is in `done` it has handed in, and that was acknowledged.
    """

    goal: str
    starts: int = 0
    run: str = ""
    done: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a database holds of a run: what its steps and artifacts say, and the turns its entries tell of."""

    goal: str
    lifecycle: str
    revision: int
    steps: Sequence[str] = ()
    artifacts: Sequence[str] = ()
    completed: int = 0
    turns: Sequence[int] = ()


_KEPT = """
SELECT
  execution_id, goal, state, revision,
  ARRAY(
    SELECT CAST(output AS JSON) ->> 'summary' FROM steps WHERE run = k AND status = 'completed'
    ORDER BY number),
  ARRAY(SELECT content FROM artifacts WHERE run = k AND artifact_type = 'note' ORDER BY number),
  (SELECT count(*) FROM events WHERE run = k AND event_type = 'step_completed'),
  ARRAY(SELECT DISTINCT revision FROM events WHERE run = k AND revision > 0 ORDER BY revision)
FROM runs
"""


def kept_in(url: str) -> dict[str, Kept]:
    """Every run of a database."""
    with psycopg.connect(url) as connection:
        return {run: Kept(*rest) for run, *rest in connection.execute(_KEPT)}


def wrong(errands: Sequence[Errand], kept: Mapping[str, Kept]) -> Iterator[str]:
    """Everything that was acknowledged and is not there exactly once, or is there and nobody was told so."""
    for errand in errands:
        yield from _wrong_with(errand, kept.get(errand.run))
    told = {errand.run for errand in errands}
    unheard = Counter(one.goal for run, one in kept.items() if run not in told)
    sent = {errand.goal: errand.starts - 1 for errand in errands}
    for goal, count in unheard.items():
        if count > sent.get(goal, 0):
            yield f"{goal}: {count} runs that nobody was told of, of {sent.get(goal, 0)} repeated starts"
    for run, one in kept.items():
        if run not in told and (one.revision, one.steps, list(one.turns)) != (1, [], [1]):
            yield f"{one.goal}: a run that nobody was told of has moved"


def unheard_of(errands: Sequence[Errand], kept: Mapping[str, Kept]) -> int:
    """How many runs there are whose start was never acknowledged."""
    return len(kept.keys() - {errand.run for errand in errands})


def _wrong_with(errand: Errand, kept: Kept | None) -> Iterator[str]:
    if kept is None:
        yield f"{errand.goal}: its run {errand.run!r} is not there"
        return
    turns = len(errand.done) + 1
    expected = {
        "goal": (kept.goal, errand.goal),
        "lifecycle": (kept.lifecycle, str(Lifecycle.COMPLETED)),
        "revision": (kept.revision, turns),
        "steps": (list(kept.steps), errand.done),
        "artifacts": (list(kept.artifacts), errand.done),
        "completed": (kept.completed, len(errand.done)),
        "turns": (list(kept.turns), list(range(1, turns + 1))),
    }
    for name, (there, should) in expected.items():
        if there != should:
            yield f"{errand.goal}: {name} {there!r} instead of {should!r}"
