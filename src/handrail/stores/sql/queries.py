"""Answer questions about runs, steps, artifacts and journals from the tables. Writes nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, assert_never

from msgspec.structs import astuple

from handrail.engine.model import Authority, Lifecycle
from handrail.runtime.ports import queries as ports
from handrail.runtime.records import JournalEntry, project_id
from handrail.stores.sql import rows
from handrail.stores.sql.rows import dump_json, format_time, parse_json, parse_time
from handrail.stores.sql.schema import ReadableDatabase

# The statement for each filter. It receives the filter's fields, the limit, and how many to skip.
_STATEMENT_BY_FILTER: Final[Mapping[type[ports.ArtifactFilter], str]] = {
    ports.ArtifactsOfRun: "of_run",
    ports.ArtifactsOfStep: "of_step",
    ports.ArtifactsOfType: "of_type",
    ports.RecentArtifacts: "recent",
    ports.AllFinalArtifacts: "all_final",
    ports.FinalArtifactsOfRun: "final_of",
    ports.FinalArtifactsOfProject: "final_in",
}
# How characters are escaped in a LIKE pattern, so that they match literally.
_LIKE_ESCAPES: Final = str.maketrans({"\\": r"\\", "%": r"\%", "_": r"\_"})


class SqlRunQueries:
    """`RunQueries` over the tables of a database. With `roots`, runs of other projects are invisible."""

    def __init__(self, database: ReadableDatabase, roots: Callable[[], Sequence[str]] | None = None) -> None:
        self.database = database
        self._roots = roots
        self._sql = database.sql("questions.sql")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Answer every question of this thread in the block as of one moment. Blocks cannot be nested."""
        with self.database.snapshot():
            yield

    def runs(
        self, wanted: ports.RunFilter, after: str = "", most: int = ports.PAGE_SIZE
    ) -> tuple[ports.RunRow, ...]:
        """Return the matching runs, last started first, after the run `after`; none if that is unknown."""
        literal = wanted.text.translate(_LIKE_ESCAPES)
        given = (
            *(after, wanted.project, wanted.face, wanted.workflow, dump_json(wanted.lifecycles)),
            f"%{literal}%" if literal else "",
            format_time(wanted.since) if wanted.since else "",
            format_time(wanted.until) if wanted.until else "",
            most,
            self._visible_projects(),
            wanted.agent,
            self._find_reach(wanted.reach, after)[0] if wanted.reach else 0,
        )
        if after and not self._is_visible_run(after):
            return ()
        statement = f"{self._sql['run_columns']}\n{self._sql['wanted']}"
        return tuple(map(_read_run_row, self._fetch(statement, given)))

    def find_last_in_reach(self, reach: int, after: str = "") -> str:
        """Return the last run that a query with this reach looks at; empty if none come after it."""
        return self._find_reach(reach, after)[1] if not after or self._is_visible_run(after) else ""

    def _find_reach(self, reach: int, after: str) -> tuple[int, str]:
        """Return the key of the last run within this reach, and its id if others come after it."""
        within = self._visible_projects()
        name, inside = ("reached", ()) if within is None else ("reached_in", (within,))
        found = self._fetch(self._sql[name], (after, reach, *inside))
        return (found[0][0], str(found[0][1])) if len(found) > 1 else (0, "")

    def list_needing_attention(
        self, quiet: datetime, failed: datetime, most: int = ports.PAGE_SIZE
    ) -> tuple[ports.RunRow, ...]:
        """Return the runs that may need a person, last started first."""
        since = (format_time(quiet), format_time(failed))
        given = (*since, ports.MAX_RECENT_RUNS, most, self._visible_projects())
        statement = f"{self._sql['run_columns']}\n{self._sql['needing']}"
        return tuple(_read_run_row(row) for row in self._fetch(statement, given))

    def count_active(self) -> Mapping[Lifecycle, int]:
        """Return how many runs are running and paused."""
        within = self._visible_projects()
        inside = () if within is None else (within,)
        found = dict(self._fetch(self._sql["under_way_in" if inside else "under_way"], inside))
        return {lifecycle: found.get(lifecycle, 0) for lifecycle in (Lifecycle.RUNNING, Lifecycle.PAUSED)}

    def find_ids(self, prefix: str) -> tuple[str, ...]:
        """Return the ids with this prefix, in order, at most `MAX_PREFIX_MATCHES`."""
        given = (prefix, ports.MAX_PREFIX_MATCHES, self._visible_projects())
        return tuple(row[0] for row in self._fetch(self._sql["named"], given))

    def run(self, run: str) -> ports.RunRow | None:
        """Return one run, or None."""
        found = self._fetch_of_run(run, f"{self._sql['run_columns']}\n{self._sql['one']}", (run,))
        return _read_run_row(found[0]) if found else None

    def steps(self, run: str, after: int = 0, most: int = ports.PAGE_SIZE) -> tuple[ports.StepRow, ...]:
        """Return its steps in order, after step number `after`."""
        found = self._fetch_of_run(run, self._sql["steps"], (run, after, most))
        return tuple(map(rows.read_step_row, found))

    def last_completed_steps(self, run: str, most: int) -> tuple[ports.StepRow, ...]:
        """Return its last completed steps in order, at most `most`."""
        found = self._fetch_of_run(run, self._sql["last_done"], (run, most))
        return tuple(map(rows.read_step_row, reversed(found)))

    def open_steps(self, run: str) -> tuple[ports.StepRow, ...]:
        """Return its open steps in order."""
        return tuple(map(rows.read_step_row, self._fetch_of_run(run, self._sql["open_steps"], (run,))))

    def artifacts(
        self, run: str, after: int = 0, most: int = ports.PAGE_SIZE
    ) -> tuple[ports.ArtifactRow, ...]:
        """Return its artifacts in order, after artifact number `after`."""
        found = self._fetch_of_run(run, self._sql["artifacts"], (run, after, most))
        return tuple(map(_read_artifact_row, found))

    def content(self, run: str, artifact: int) -> str | None:
        """Return the text of an artifact, or None."""
        found = self._fetch_of_run(run, self._sql["content"], (run, artifact))
        return str(found[0][0]) if found else None

    def excerpts(
        self, choice: ports.ArtifactFilter, most: int = ports.PAGE_SIZE, skip: int = 0
    ) -> tuple[ports.Excerpt, ...]:
        """Return the matching artifacts with the beginning of their texts, without the first `skip`."""
        statement = f"{self._sql['excerpt_columns']}\n{self._sql[_STATEMENT_BY_FILTER[type(choice)]]}"
        given = (ports.MAX_EXCERPT_BYTES, *astuple(choice), most, skip)
        match choice:
            case ports.RecentArtifacts() | ports.AllFinalArtifacts() | ports.ArtifactsOfType():
                found = self._fetch(statement, (*given, self._visible_projects()))
            case ports.FinalArtifactsOfProject(project):
                found = self._fetch(statement, given) if self._is_visible_project(project) else []
            case ports.ArtifactsOfRun(run) | ports.ArtifactsOfStep(run) | ports.FinalArtifactsOfRun(run):
                found = self._fetch_of_run(run, statement, given)
            case _:
                assert_never(choice)
        # A character that is cut in the middle at the end is dropped.
        return tuple(
            ports.Excerpt(run, _read_artifact_row(artifact), begins.decode("utf-8", "ignore"))
            for run, begins, *artifact in found
        )

    def artifact_types(self, run: str = "") -> tuple[str, ...]:
        """Return the artifact types of a run, or of the last thousand artifacts; at most `PAGE_SIZE`."""
        if run:
            found = self._fetch_of_run(run, self._sql["types_of"], (run, ports.PAGE_SIZE))
        else:
            found = self._fetch(self._sql["types"], (ports.PAGE_SIZE, self._visible_projects()))
        return tuple(row[0] for row in found)

    def list_active_ids(self, roots: Sequence[str], prefix: str = "") -> tuple[str, ...]:
        """Return at most `PAGE_SIZE` ids with this prefix of active runs, last started first."""
        given = (dump_json(roots), prefix, ports.PAGE_SIZE, self._visible_projects())
        return tuple(row[0] for row in self._fetch(self._sql["live"], given))

    def live_runs(self, roots: Sequence[str], most: int = ports.MAX_LIVE_RUNS) -> tuple[ports.LiveRun, ...]:
        """Return the active runs of the first of these projects that has any, last called first."""
        given = (dump_json(list(map(project_id, roots))), most, self._visible_projects())
        found = tuple(map(_read_live_row, self._fetch(self._sql["live_runs"], given)))
        return tuple(run for run in found if run.project == found[0].project)

    def list_completed_ids(self) -> tuple[str, ...]:
        """Return the ids of the runs with the last `PAGE_SIZE` final artifacts, last started first."""
        found = self._fetch(self._sql["completed"], (ports.PAGE_SIZE, self._visible_projects()))
        return tuple(row[0] for row in found)

    def project(self, project: str) -> ports.ProjectRow | None:
        """Return a project by its id, or None."""
        found = self._fetch(self._sql["project"], (project,)) if self._is_visible_project(project) else []
        if not found:
            return None
        id_, name, root, active, created = found[0]
        return ports.ProjectRow(id_, name, root, active, parse_time(created))

    def journal(self, after: int = 0, most: int = ports.PAGE_SIZE, run: str = "") -> tuple[JournalEntry, ...]:
        """Return entries of one run, or of all runs, in order, after entry number `after`."""
        if run:
            found = self._fetch_of_run(run, self._sql["journal_of"], (run, after, most))
        else:
            given = (after, most, self._visible_projects(), self.database.last_settled_entry())
            found = self._fetch(self._sql["journal"], given)
        return tuple(rows.read_entry_row(row[0], row[1:]) for row in found)

    def last_entry_number(self) -> int:
        """Return the last entry number below which no entry can appear any more; 0 if there is none."""
        return self.database.last_settled_entry()

    def refusals(self, run: str, most: int = 3) -> tuple[JournalEntry, ...]:
        """Return the last entries of a run about a refusal or a failure, newest first."""
        found = self._fetch_of_run(run, self._sql["refusals_of"], (run, most))
        return tuple(rows.read_entry_row(row[0], row[1:]) for row in found)

    def comment_entries(self, run: str, most: int = ports.MAX_COMMENT_ENTRIES) -> tuple[JournalEntry, ...]:
        """Return the last comments on a run, and the entries that they were delivered, in order."""
        found = self._fetch_of_run(run, self._sql["remarks_of"], (run, most))
        return tuple(rows.read_entry_row(row[0], row[1:]) for row in reversed(found))

    def _visible_projects(self) -> str | None:
        """Return the ids of the visible projects as JSON for a statement; None for all."""
        return None if self._roots is None else dump_json(list(map(project_id, self._roots())))

    def _is_visible_project(self, project: str | None) -> bool:
        return self._roots is None or project in {project_id(root) for root in self._roots()}

    def _is_visible_run(self, run: str) -> bool:
        """True if the run is in a visible project. A run never changes its project."""
        if self._roots is None:
            return True
        found = self._fetch(self._sql["project_of"], (run,))
        return bool(found) and self._is_visible_project(found[0][0])

    def _fetch_of_run(self, run: str, statement: str, given: Sequence[Any]) -> list[Any]:
        """Return the rows of a statement about one run; none if the run is not visible."""
        return self._fetch(statement, given) if self._is_visible_run(run) else []

    def _fetch(self, statement: str, given: Sequence[Any]) -> list[Any]:
        with self.database.read() as execute:
            return execute(statement, given).fetchall()


def _read_run_row(row: Sequence[Any]) -> ports.RunRow:
    run, workflow, lifecycle, state, revision, face, authority, project, goal, principal, parent = row[:11]
    started, updated, active, ended, duration, waiting, metadata = row[11:]
    return ports.RunRow(
        *(run, workflow, Lifecycle(lifecycle), state, revision, face, Authority(authority)),
        *(project, goal, principal, parent, parse_time(started), parse_time(updated), parse_time(active)),
        *(rows.read_time(ended), duration, bool(waiting), parse_json(metadata)),
    )


def _read_live_row(row: Sequence[Any]) -> ports.LiveRun:
    run, workflow, lifecycle, state, face, authority, project, goal, called, waiting, *more = row
    record, definition, refused = more
    return ports.LiveRun(
        *(run, workflow, Lifecycle(lifecycle), state, face, Authority(authority), project, goal),
        *(parse_time(called), bool(waiting), rows.decode_run(record), bytes(definition or b"")),
        parse_json(refused) if refused else {},
    )


def _read_artifact_row(row: Sequence[Any]) -> ports.ArtifactRow:
    number, id_, step, agent, type_, title, description, final, at, size = row
    return ports.ArtifactRow(
        number, id_, step, agent, type_, title, description, bool(final), parse_time(at), size
    )
