"""Everything that pages and tools ask of a store, by name: for plans that are looked at, and times taken."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from handrail.engine.model import Lifecycle
from handrail.runtime.ports.queries import (
    AllFinalArtifacts,
    ArtifactsOfRun,
    ArtifactsOfStep,
    ArtifactsOfType,
    FinalArtifactsOfProject,
    FinalArtifactsOfRun,
    RecentArtifacts,
    RunFilter,
)
from handrail.runtime.records import project_id
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.pg_runs import PgRuns
from handrail.stores.sql.queries import SqlRunQueries
from handrail.stores.sql.summaries import SqlMeasures
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
    records, within = SqlRunQueries(database), SqlRunQueries(database, lambda: ROOTS[3:4])
    middle = filled(runs // 2)
    return {
        "runs": lambda: records.runs(RunFilter()),
        "runs_after": lambda: records.runs(RunFilter(), middle),
        "runs_of_project": lambda: records.runs(RunFilter(project=ROOTS[3])),
        "runs_running": lambda: records.runs(RunFilter(lifecycles=(Lifecycle.RUNNING,))),
        "runs_with_text": lambda: records.runs(RunFilter(text="round")),
        "runs_since": lambda: records.runs(RunFilter(since=NOW - DAY)),
        "named": lambda: records.find_ids("000000"),
        "live": lambda: records.list_active_ids(ROOTS[3:4]),
        "live_runs": lambda: records.live_runs(ROOTS[2:5]),
        "completed": records.list_completed_ids,
        "journal": lambda: records.journal(runs * 5),
        "within_runs": lambda: within.runs(RunFilter()),
        "within_journal": lambda: within.journal(runs * 5),
        "within_recent": lambda: within.excerpts(RecentArtifacts()),
        "within_final": lambda: within.excerpts(AllFinalArtifacts()),
        "within_types": within.artifact_types,
        "within_completed": within.list_completed_ids,
        "quiet": lambda: PgRuns(database).list_quiet_runs(Lifecycle.PAUSED, NOW - DAY),
    }


def page(database: PgDatabase, runs: int) -> Mapping[str, Ask]:
    """What the page of a run asks, and the excerpts of artifacts."""
    records, run = SqlRunQueries(database), filled(runs // 2)
    return {
        "run": lambda: records.run(run),
        "steps": lambda: records.steps(run),
        "last_done": lambda: records.last_completed_steps(run, 3),
        "open_steps": lambda: records.open_steps(run),
        "artifacts": lambda: records.artifacts(run),
        "content": lambda: records.content(run, 1),
        "journal_of": lambda: records.journal(run=run),
        "refusals": lambda: records.refusals(run),
        "of_run": lambda: records.excerpts(ArtifactsOfRun(run)),
        "of_step": lambda: records.excerpts(ArtifactsOfStep(run, "step_5")),
        "final_of": lambda: records.excerpts(FinalArtifactsOfRun(run)),
        "types_of": lambda: records.artifact_types(run),
        "of_type": lambda: records.excerpts(ArtifactsOfType("notes")),
        "recent": lambda: records.excerpts(RecentArtifacts()),
        "all_final": lambda: records.excerpts(AllFinalArtifacts()),
        "final_in": lambda: records.excerpts(FinalArtifactsOfProject(project_id(ROOTS[3]))),
        "types": records.artifact_types,
    }


def numbers(database: PgDatabase) -> Mapping[str, Ask]:
    """The numbers of the dashboard."""
    summaries = SqlMeasures(database)
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
        "tail": summaries.count_unfolded,
    }
