-- Runs, their steps, artifacts and journal. Integer keys, steps and artifacts clustered by run, few indexes.
-- The names of the source documents are views: what people and dashboards query.

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE definitions (
  digest TEXT PRIMARY KEY,
  workflow_name TEXT NOT NULL,
  version INTEGER NOT NULL,
  text BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE projects (
  project_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  root TEXT NOT NULL UNIQUE,
  active_task_id TEXT,
  created_at TEXT NOT NULL
);

CREATE TABLE runs (
  k INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL UNIQUE,
  workflow_name TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK (state IN ('idle', 'running', 'paused', 'completed', 'failed', 'abandoned', 'diverged')),
  current_step TEXT,
  started_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  completed_at TEXT,
  duration_ms INTEGER CHECK (duration_ms >= 0),
  metadata TEXT NOT NULL CHECK (json_valid(metadata)),
  revision INTEGER NOT NULL CHECK (revision > 0),
  record TEXT NOT NULL,
  chain BLOB NOT NULL,
  active_at TEXT NOT NULL,
  waiting INTEGER NOT NULL CHECK (waiting IN (0, 1)),
  oldest INTEGER,
  digest TEXT NOT NULL,
  face TEXT NOT NULL,
  authority TEXT NOT NULL CHECK (authority IN ('sql', 'files', 'description')),
  project_id TEXT REFERENCES projects (project_id),
  goal TEXT NOT NULL,
  principal TEXT NOT NULL,
  parent_execution_id TEXT,
  projected INTEGER NOT NULL DEFAULT 0,
  CHECK ((completed_at IS NULL) = (state IN ('idle', 'running', 'paused')))
);

-- Everything about live runs costs what is live, not what there ever was.
CREATE INDEX runs_live ON runs (workflow_name, state) WHERE state IN ('running', 'paused');

CREATE TABLE steps (
  run INTEGER NOT NULL REFERENCES runs (k),
  number INTEGER NOT NULL CHECK (number > 0),
  step_name TEXT NOT NULL,
  agent_name TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed')),
  started_at TEXT,
  completed_at TEXT,
  duration_ms INTEGER CHECK (duration_ms >= 0),
  output TEXT,
  token TEXT,
  PRIMARY KEY (run, number)
) WITHOUT ROWID;

-- The printed questions about the steps of many runs read this narrow copy, not the steps with their outputs.
-- Within a status it stands in the order of the steps, so that a turn writes two pages of it.
CREATE INDEX steps_measured ON steps (
  status, run, number, step_name, agent_name, duration_ms, started_at, completed_at);

CREATE TABLE artifacts (
  run INTEGER NOT NULL REFERENCES runs (k),
  number INTEGER NOT NULL CHECK (number > 0),
  artifact_id TEXT NOT NULL,
  step_name TEXT NOT NULL,
  agent_name TEXT NOT NULL,
  artifact_type TEXT NOT NULL,
  title TEXT NOT NULL,
  description TEXT,
  is_final INTEGER NOT NULL DEFAULT 0 CHECK (is_final IN (0, 1)),
  created_at TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE INDEX artifacts_by_time ON artifacts (created_at, artifact_type);

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  event_type TEXT NOT NULL CHECK (event_type IN (
    'workflow_created', 'workflow_state_transition', 'workflow_abandoned',
    'step_started', 'step_completed', 'step_failed', 'step_stayed', 'step_waiting', 'step_overridden',
    'token_generated', 'token_validated', 'token_expired',
    'artifact_stored', 'error_occurred', 'state_adopted', 'state_repaired')),
  run INTEGER REFERENCES runs (k),
  revision INTEGER NOT NULL CHECK (revision >= 0),
  step_name TEXT,
  agent_name TEXT,
  metadata TEXT NOT NULL,
  created_at TEXT NOT NULL
);

CREATE INDEX events_by_run ON events (run);
-- With the run, so that the printed questions about all entries, which join it, read this and not the entries.
CREATE INDEX events_by_time ON events (created_at, event_type, run);
CREATE INDEX events_errors ON events (json_extract(metadata, '$.error_type'))
  WHERE event_type = 'error_occurred';

CREATE TABLE replies (
  run INTEGER NOT NULL REFERENCES runs (k),
  revision INTEGER NOT NULL,
  token TEXT NOT NULL,
  request TEXT NOT NULL,
  reply BLOB NOT NULL,
  PRIMARY KEY (run, revision)
) WITHOUT ROWID;

CREATE VIEW workflow_executions AS
SELECT
  execution_id, workflow_name, state, current_step, started_at, updated_at, completed_at, duration_ms, metadata,
  revision, active_at, waiting, digest, face, authority, project_id, goal, principal, parent_execution_id
FROM runs;

CREATE VIEW workflow_steps AS
SELECT
  (s.run << 20) + s.number AS id,
  r.execution_id, s.step_name, s.agent_name, s.status, s.started_at, s.completed_at, s.duration_ms, s.output,
  s.token, s.number
FROM steps AS s LEFT JOIN runs AS r ON r.k = s.run;

CREATE VIEW workflow_artifacts AS
SELECT
  a.artifact_id, r.execution_id, a.step_name, a.agent_name, a.artifact_type, a.title, a.content, a.description,
  a.is_final, a.created_at, a.number
FROM artifacts AS a LEFT JOIN runs AS r ON r.k = a.run;

CREATE VIEW telemetry_events AS
SELECT e.id, e.event_type, r.execution_id, e.step_name, e.agent_name, e.metadata, e.created_at, e.revision
FROM events AS e LEFT JOIN runs AS r ON r.k = e.run;
