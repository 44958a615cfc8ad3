"""`handrail stats` as people read it."""

from pathlib import Path

from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.history import create_history
from helpers.program import run_handrail

PEOPLE = """\
Workflow performance
  lifecycle  runs
  running       2
  paused        1
  completed     1
  failed        1
  abandoned     1
  diverged      1

  workflow  runs  completion  mean time  half within  95 % within  abandonment
  bug-fix      6      16.7 %     13 min       13 min       13 min       16.7 %
  gate         1       0.0 %          -            -            -        0.0 %

Step performance
  step       persona      completed  mean time  half within  95 % within
  reproduce  debugger             4     10 min        9 min       13 min
  diagnose   debugger             3      1 min        1 min        1 min
  mend       implementer          2      1 min        1 min        1 min
  prove      tester               1      1 min        1 min        1 min

  step   times  failed    rate
  prove      2       1  50.0 %

  no run went round

  workflow  step       accepted  refused    rate
  bug-fix   reproduce         4        2  33.3 %

Telemetry since 2026-01-31T00:00:00.000Z
  entry                      times
  token_generated               17
  step_started                  16
  workflow_state_transition     12
  artifact_stored               11
  token_validated               11
  step_completed                10
  workflow_created               7
  error_occurred                 2
  step_failed                    1
  step_waiting                   1

Step tokens since 2026-01-31T00:00:00.000Z
  issued  found good  expired   rate
      17          11        0  0.0 %

Refused calls since 2026-01-31T00:00:00.000Z
  code      times  meaning
  contract      1  the step output breaks the step's contract
  no_row        1  this state does not know the trigger

Runs started since 2026-01-31T00:00:00.000Z
  day         runs
  2026-01-31     7

Runs abandoned
  workflow  abandoned    rate  mean time until then  half until then
  bug-fix           1  16.7 %                16 min           16 min

  workflow  step       by runs  abandoned    rate
  bug-fix   reproduce        6          1  16.7 %
"""


def test_people_read_short_tables_with_heads(tmp_path: Path) -> None:
    past = create_history(tmp_path / "store" / "handrail.db")

    said = run_handrail("stats", "--since", "2026-01-31", "--store", past.path)

    assert (said.status, said.err) == (0, "")
    assert said.out == PEOPLE


def test_a_store_without_runs_says_how_to_get_one(tmp_path: Path) -> None:
    SqliteDatabase(tmp_path / "store" / "handrail.db").close()

    said = run_handrail("stats", "--since", "2026-01-31", "--store", tmp_path / "store" / "handrail.db")

    further = "an earlier time looks further back, as in `handrail stats --since 30d`"
    assert said.out.splitlines() == [
        "Workflow performance",
        "  no run yet: connect an agent with `handrail serve`, and have it start one",
        "",
        "Step performance",
        "  no step was completed yet: `handrail runs list --lifecycle running` shows what is under way",
        "",
        "Telemetry since 2026-01-31T00:00:00.000Z",
        f"  nothing happened: {further}",
        "",
        "Step tokens since 2026-01-31T00:00:00.000Z",
        "  issued  found good  expired  rate",
        "       0           0        0     -",
        "",
        "Refused calls since 2026-01-31T00:00:00.000Z",
        "  none",
        "",
        "Runs started since 2026-01-31T00:00:00.000Z",
        f"  none: {further}",
        "",
        "Runs abandoned",
        "  no run was abandoned",
    ]


def test_a_store_that_is_not_there_is_status_3(tmp_path: Path) -> None:
    assert run_handrail("stats", "--store", tmp_path / "none.db").status == 3
