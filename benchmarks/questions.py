"""Everything that pages and tools ask of a store, by name: for plans that are looked at, and times taken."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from handrail.engine.model import Lifecycle
from handrail.shell.records import project_id
from handrail.shell.view import AllFinal, FinalIn, FinalOf, OfRun, OfStep, OfType, Recent, Wanted
from handrail.stores.sql.postgresql.database import PgDatabase
from handrail.stores.sql.postgresql.runs import PgRuns
from handrail.stores.sql.questions import SqlRecords
from handrail.stores.sql.summaries import Summaries
from pg_fill import ROOTS

Ask: TypeAlias = Callable[[], object]
NOW: Final = datetime.now(UTC)
DAY: Final = timedelta(days=1)
TODAY: Final = NOW.replace(hour=0, minute=0, second=0, microsecond=0)


def filled(number: int) -> str:
    """The id of a run that was filled in."""
    return f"{number:08x}-0000-4000-8000-000000000000"


def lists(database: PgDatabase, runs: int) -> Mapping[str, Ask]:
    """The lists of runs, all of them and those of some projects."""
    records, within = SqlRecords(database), SqlRecords(database, lambda: ROOTS[3:4])
    middle = filled(runs // 2)
    return {
        "runs": lambda: records.runs(Wanted()),
        "runs_after": lambda: records.runs(Wanted(), middle),
        "runs_of_project": lambda: records.runs(Wanted(project=ROOTS[3])),
        "runs_running": lambda: records.runs(Wanted(lifecycles=(Lifecycle.RUNNING,))),
        "runs_with_text": lambda: records.runs(Wanted(text="round")),
        "runs_since": lambda: records.runs(Wanted(since=NOW - DAY)),
        "named": lambda: records.named("000000"),
        "live": lambda: records.live(ROOTS[3:4]),
        "live_runs": lambda: records.live_runs(ROOTS[2:5]),
        "completed": records.completed,
        "journal": lambda: records.journal(runs * 5),
        "within_runs": lambda: within.runs(Wanted()),
        "within_journal": lambda: within.journal(runs * 5),
        "within_recent": lambda: within.excerpts(Recent()),
        "within_final": lambda: within.excerpts(AllFinal()),
        "within_types": within.types,
        "within_completed": within.completed,
        "quiet": lambda: PgRuns(database).quiet(Lifecycle.PAUSED, NOW - DAY),
    }


def page(database: PgDatabase, runs: int) -> Mapping[str, Ask]:
    """What the page of a run asks, and the excerpts of artifacts."""
    records, run = SqlRecords(database), filled(runs // 2)
    return {
        "run": lambda: records.run(run),
        "steps": lambda: records.steps(run),
        "last_done": lambda: records.last_done(run, 3),
        "open_steps": lambda: records.open_steps(run),
        "artifacts": lambda: records.artifacts(run),
        "content": lambda: records.content(run, 1),
        "journal_of": lambda: records.journal(run=run),
        "refusals": lambda: records.refusals(run),
        "of_run": lambda: records.excerpts(OfRun(run)),
        "of_step": lambda: records.excerpts(OfStep(run, "step_5")),
        "final_of": lambda: records.excerpts(FinalOf(run)),
        "types_of": lambda: records.types(run),
        "of_type": lambda: records.excerpts(OfType("notes")),
        "recent": lambda: records.excerpts(Recent()),
        "all_final": lambda: records.excerpts(AllFinal()),
        "final_in": lambda: records.excerpts(FinalIn(project_id(ROOTS[3]))),
        "types": records.types,
    }


def numbers(database: PgDatabase) -> Mapping[str, Ask]:
    """The numbers of the dashboard."""
    summaries = Summaries(database)
    return {
        "sum_runs": summaries.runs,
        "sum_days": lambda: summaries.days(TODAY - 30 * DAY),
        "sum_steps": summaries.steps,
        "sum_hours": lambda: summaries.hours(NOW - DAY),
        "sum_kinds": lambda: summaries.kinds(TODAY - 7 * DAY),
        "sum_errors": summaries.errors,
        "sum_states": summaries.states,
        "sum_run_times": summaries.run_times,
        "sum_step_times": summaries.step_times,
        "tail": summaries.tail,
    }
