"""What the benchmarks of a store walk through: a workflow of twelve states, runs of it, and their calls."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from handrail.engine.model import Authority, Event, Workflow
from handrail.runtime.records import Origin
from handrail.runtime.system import LocalFeed, RandomIds, SystemClock
from handrail.runtime.turn import Call, NewRun, Outcome, Reply, take_turn
from handrail.runtime.world import World
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.pg_runs import PgRuns
from handrail.stores.sql.runs import BaseSqlRuns, SqliteRuns
from handrail.stores.sql.sqlite import SqliteDatabase
from handrail.workflows.load import WorkflowSource, load_workflow
from peers.work import NOTE, OUTPUT, STATES


def workflow() -> Workflow:
    """Twelve states in a ring, two rows with a guard each between neighbours; about 500 B of variables."""
    lines = ["workflow: ring", "version: 1", "authority: sql", "vars:"]
    lines += ["  ready: {type: bool, default: true}", "  rounds: {type: int, default: 0}"]
    lines += [f"  note_{n}: {{type: string, default: '{NOTE * 2}'}}" for n in range(4)]
    lines.append("states:")
    lines += [
        f"  state_{n}: {{agent: worker, task: 'Do part {n} of what the run is for.', about: Part {n}}}"
        for n in range(STATES)
    ]
    lines += ["  over: {terminal: true}", "transitions:"]
    for n in range(STATES):
        lines += [
            f"  - {{id: A{n}, from: state_{n}, trigger: continue, when: ['run.vars.rounds > 9'], to: over}}",
            f"  - {{id: B{n}, from: state_{n}, trigger: continue, to: state_{(n + 1) % STATES},",
            "     when: [run.vars.ready], accept: ['output.confidence >= 0.5']}",
        ]
    loaded = load_workflow(WorkflowSource("ring.yaml", "\n".join(lines)))
    if loaded.workflow is None:
        raise SystemExit(f"the workflow of this benchmark must be sound: {loaded.problems}")
    return loaded.workflow


def render(outcome: Outcome) -> Reply:
    """A reply of about 2 KB, as a face would give it."""
    run = outcome.stored.run if outcome.stored else None
    step = run.open[0] if run and run.open else None
    return {
        "status": "ok",
        "execution_id": run.id if run else "",
        "new_step_token": next(iter((outcome.tokens or {}).values()), ""),
        "human_message": "You are a careful worker, and you say what you have seen. " * 28,
        "next_step_contract": {
            "step_name": step.state if step else "",
            "allowed_actions": ["read", "write"],
            "forbidden_actions": ["delete"],
            "required_output_format": "summary, artifacts, references, confidence",
        },
    }


@dataclass(slots=True)
class Cast:
    """Runs on any store, each with the token of its open step."""

    world: World
    ring: Workflow
    tokens: dict[str, str] = field(default_factory=dict)

    def start(self, runs: int) -> None:
        """This many more runs."""
        new = NewRun(self.ring, Origin("bench", Authority.SQL, goal="Go round"))
        for _ in range(runs):
            run = self.world.ids.new_id()
            call = Call(run, Event("start"), new=new)
            self.tokens[run] = str(take_turn(self.world, call, render)["new_step_token"])

    def turn(self, run: str) -> None:
        """One turn of a run."""
        reply = take_turn(self.world, Call(run, Event("continue", OUTPUT), token=self.tokens[run]), render)
        if reply["status"] != "ok" or not reply["new_step_token"]:
            raise SystemExit(f"the turn was refused: {reply}")
        self.tokens[run] = str(reply["new_step_token"])

    def picked(self, seed: int) -> Callable[[], str]:
        """A way to draw runs at random, the same every time."""
        names, draw = list(self.tokens), random.Random(seed)  # noqa: S311 - no secret is drawn
        return lambda: draw.choice(names)


@dataclass(slots=True, kw_only=True)
class Stage(Cast):
    """Runs in an SQLite file."""

    database: SqliteDatabase


@dataclass(slots=True, kw_only=True)
class PgStage(Cast):
    """Runs in a PostgreSQL database."""

    database: PgDatabase


def stage(database: SqliteDatabase, tokens: dict[str, str] | None = None) -> Stage:
    """A store with the runs whose tokens these are, or with none."""
    return Stage(*_world(SqliteRuns(database)), tokens or {}, database=database)


def pg_stage(database: PgDatabase, tokens: dict[str, str] | None = None) -> PgStage:
    """The same in PostgreSQL."""
    return PgStage(*_world(PgRuns(database)), tokens or {}, database=database)


def _world(store: BaseSqlRuns) -> tuple[World, Workflow]:
    ring = workflow()
    return World(
        store, SystemClock(), RandomIds(), LocalFeed(), store.load_token_key(), lambda *_: ring
    ), ring
