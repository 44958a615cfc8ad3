"""Whether the rows of a run fit together."""

from handrail.stores.sql.runs import SqliteRuns


def unsound(runs: SqliteRuns, run: str) -> list[str]:
    """What does not fit together among the rows of a run that moves with every turn."""
    ask = runs.database.reader().execute
    stored = runs.load(run)
    if stored is None:
        return [f"{run} is not there"]
    steps = ask(
        "SELECT number, status FROM workflow_steps WHERE execution_id = ? ORDER BY number", (run,)
    ).fetchall()
    events = ask(
        "SELECT DISTINCT revision FROM telemetry_events WHERE execution_id = ? AND revision > 0 ORDER BY 1",
        (run,),
    ).fetchall()
    last = stored.run.steps
    found = []
    if [row[0] for row in events] != list(range(1, stored.revision + 1)):
        found.append(f"{run}: the journal has a gap")
    if steps != [(number, "completed") for number in range(1, last)] + [(last, "running")]:
        found.append(f"{run}: the steps are not in a row")
    if last != stored.revision:
        found.append(f"{run}: {last} steps at revision {stored.revision}")
    return found
