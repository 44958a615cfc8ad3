-- Integer keys, steps clustered by run, few indexes. The names of the source documents are views: people and
-- dashboards query those.
--
-- SQLite makes a temporary table of a list that it searches with IN, and does so again for each row that is written.
-- For the six rows of a turn that have such a list, this took a third of the time. So the checks of `steps` and
-- `events` compare word by word, the most frequent words first.

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

-- A question about live runs costs as much as there are live runs, not as much as there ever were.
CREATE INDEX runs_live ON runs (workflow_name, state) WHERE state IN ('running', 'paused');
-- Only the turn that completes a run writes to this.
CREATE INDEX runs_completed ON runs (project_id, completed_at) WHERE state = 'completed';
-- A narrow copy that says whether a run belongs to a project. Only the turn that begins a run writes to it.
CREATE INDEX runs_by_project ON runs (project_id);

CREATE TABLE steps (
  run INTEGER NOT NULL REFERENCES runs (k),
  number INTEGER NOT NULL CHECK (number > 0),
  step_name TEXT NOT NULL,
  agent_name TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status = 'running' OR status = 'completed' OR status = 'failed' OR status = 'pending'),
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

-- Artifacts and replies are long. A table WITHOUT ROWID keeps each row with its key, so SQLite reads whole rows that
-- it only passes on its way to another. The keys of these two tables are apart, and rows lie in the order they came.
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
);

CREATE INDEX artifacts_by_time ON artifacts (created_at, artifact_type, run, number);
-- Only the turn that completes a run writes to this.
CREATE INDEX artifacts_final ON artifacts (created_at, run, number) WHERE is_final = 1;

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  event_type TEXT NOT NULL CHECK (
    event_type = 'token_generated' OR event_type = 'token_validated' OR event_type = 'step_started'
    OR event_type = 'step_completed' OR event_type = 'artifact_stored' OR event_type = 'error_occurred'
    OR event_type = 'workflow_state_transition' OR event_type = 'step_stayed'
    OR event_type = 'step_waiting' OR event_type = 'step_failed' OR event_type = 'workflow_created'
    OR event_type = 'token_expired' OR event_type = 'comment_written' OR event_type = 'comment_told'
    OR event_type = 'workflow_abandoned' OR event_type = 'step_overridden' OR event_type = 'state_adopted'
    OR event_type = 'state_repaired'),
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
-- Every turn asks whether there are comments for its run.
CREATE INDEX events_remarks ON events (run) WHERE event_type IN ('comment_written', 'comment_told');
-- Every look at a run says what it was last refused, and a long run has many entries.
CREATE INDEX events_refused ON events (run) WHERE event_type = 'error_occurred';

CREATE TABLE replies (
  run INTEGER NOT NULL REFERENCES runs (k),
  revision INTEGER NOT NULL,
  token TEXT NOT NULL,
  request TEXT NOT NULL,
  reply BLOB NOT NULL,
  PRIMARY KEY (run, revision)
);

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

-- Sums over the journal, so that a number about all runs costs as much as there are names, not runs.
-- `folded` says up to which entry they count; readers add what lies behind it.

CREATE TABLE folded (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  event INTEGER NOT NULL
);

INSERT INTO folded (one, event) VALUES (1, 0);

CREATE TABLE summary_runs (
  workflow_name TEXT NOT NULL,
  state TEXT NOT NULL,
  runs INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  PRIMARY KEY (workflow_name, state)
) WITHOUT ROWID;

CREATE TABLE summary_days (
  day TEXT NOT NULL,
  workflow_name TEXT NOT NULL,
  runs INTEGER NOT NULL,
  PRIMARY KEY (day, workflow_name)
) WITHOUT ROWID;

CREATE TABLE summary_steps (
  step_name TEXT NOT NULL,
  agent_name TEXT NOT NULL,
  status TEXT NOT NULL,
  steps INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  PRIMARY KEY (step_name, agent_name, status)
) WITHOUT ROWID;

CREATE TABLE summary_hours (
  hour TEXT NOT NULL,
  event_type TEXT NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (hour, event_type)
) WITHOUT ROWID;

-- What each entry adds to the sums. A run is idle until its first change of lifecycle, in the same turn or later.
CREATE VIEW measured_runs AS
SELECT e.id, r.workflow_name, 'idle' AS state, 1 AS runs, 0 AS duration_ms
FROM events AS e JOIN runs AS r ON r.k = e.run
WHERE e.event_type = 'workflow_created' AND e.revision = 1
UNION ALL
SELECT e.id, r.workflow_name, json_extract(e.metadata, '$.from'), -1, 0
FROM events AS e JOIN runs AS r ON r.k = e.run
WHERE e.event_type = 'workflow_state_transition'
UNION ALL
SELECT
  e.id, r.workflow_name, json_extract(e.metadata, '$.to'), 1, coalesce(json_extract(e.metadata, '$.duration_ms'), 0)
FROM events AS e JOIN runs AS r ON r.k = e.run
WHERE e.event_type = 'workflow_state_transition';

CREATE VIEW measured_days AS
SELECT e.id, substr(e.created_at, 1, 10) AS day, r.workflow_name, 1 AS runs
FROM events AS e JOIN runs AS r ON r.k = e.run
WHERE e.event_type = 'workflow_created' AND e.revision = 1;

CREATE VIEW measured_steps AS
SELECT
  id, step_name, coalesce(agent_name, '') AS agent_name, 'running' AS status,
  iif(event_type = 'step_started', 1, -1) AS steps, 0 AS duration_ms
FROM events
WHERE event_type IN ('step_started', 'step_completed', 'step_failed')
UNION ALL
SELECT
  id, step_name, coalesce(agent_name, ''), substr(event_type, 6), 1,
  coalesce(json_extract(metadata, '$.duration_ms'), 0)
FROM events
WHERE event_type IN ('step_completed', 'step_failed');

CREATE VIEW measured_hours AS
SELECT id, substr(created_at, 1, 13) AS hour, event_type, 1 AS events
FROM events;

-- More sums over the journal: how long runs and steps take, where runs are left, which steps are begun again, which
-- calls are refused, and why; and all entries by day, since a year has many hours.
--
-- A bucket holds the durations with the same two first digits and as many behind them: a hundred for each digit
-- behind, and the two. So buckets stand in the order of durations, and those of any two sums can be added.

CREATE TABLE summary_states (
  workflow_name TEXT NOT NULL,
  step_name TEXT NOT NULL,
  opened INTEGER NOT NULL,
  reached INTEGER NOT NULL,
  accepted INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  abandoned INTEGER NOT NULL,
  PRIMARY KEY (workflow_name, step_name)
) WITHOUT ROWID;

CREATE TABLE summary_run_times (
  workflow_name TEXT NOT NULL,
  state TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  runs INTEGER NOT NULL,
  PRIMARY KEY (workflow_name, state, bucket)
) WITHOUT ROWID;

CREATE TABLE summary_step_times (
  step_name TEXT NOT NULL,
  agent_name TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  PRIMARY KEY (step_name, agent_name, bucket)
) WITHOUT ROWID;

CREATE TABLE summary_errors (
  hour TEXT NOT NULL,
  code TEXT NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (hour, code)
) WITHOUT ROWID;

CREATE TABLE summary_daily (
  day TEXT NOT NULL,
  event_type TEXT NOT NULL,
  code TEXT NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (day, event_type, code)
) WITHOUT ROWID;

-- A state is reached by a run when the run opens a step there for the first time; a run is abandoned where it
-- has opened its last step.
CREATE VIEW measured_states AS
SELECT
  e.id, r.workflow_name, coalesce(e.step_name, '') AS step_name,
  CASE WHEN e.event_type = 'step_started' THEN 1 ELSE 0 END AS opened,
  CASE
    WHEN e.event_type = 'step_started' AND NOT EXISTS (
      SELECT 1 FROM events AS o
      WHERE o.run = e.run AND o.id < e.id AND o.event_type = 'step_started' AND o.step_name = e.step_name)
      THEN 1
    ELSE 0 END AS reached,
  CASE
    WHEN e.event_type IN ('step_completed', 'step_failed', 'step_stayed', 'step_waiting') THEN 1
    ELSE 0 END AS accepted,
  CASE WHEN e.event_type = 'error_occurred' THEN 1 ELSE 0 END AS refused,
  0 AS abandoned
FROM events AS e JOIN runs AS r ON r.k = e.run
WHERE e.event_type IN (
  'step_started', 'step_completed', 'step_failed', 'step_stayed', 'step_waiting', 'error_occurred')
UNION ALL
SELECT
  e.id, r.workflow_name,
  coalesce(
    (SELECT o.step_name FROM events AS o
     WHERE o.run = e.run AND o.id < e.id AND o.event_type = 'step_started'
     ORDER BY o.id DESC
     LIMIT 1),
    ''),
  0, 0, 0, 0, 1
FROM events AS e JOIN runs AS r ON r.k = e.run
WHERE e.event_type = 'workflow_state_transition' AND json_extract(e.metadata, '$.to') = 'abandoned';

CREATE VIEW measured_run_times AS
SELECT
  t.id, t.workflow_name, t.state,
  CASE WHEN length(t.took) > 2 THEN 100 * (length(t.took) - 2) ELSE 0 END
    + CAST(substr(t.took, 1, 2) AS INTEGER) AS bucket,
  1 AS runs
FROM (
  SELECT
    e.id, r.workflow_name, json_extract(e.metadata, '$.to') AS state,
    CAST(CAST(json_extract(e.metadata, '$.duration_ms') AS INTEGER) AS TEXT) AS took
  FROM events AS e JOIN runs AS r ON r.k = e.run
  WHERE e.event_type = 'workflow_state_transition') AS t
WHERE t.took IS NOT NULL;

CREATE VIEW measured_step_times AS
SELECT
  t.id, t.step_name, t.agent_name,
  CASE WHEN length(t.took) > 2 THEN 100 * (length(t.took) - 2) ELSE 0 END
    + CAST(substr(t.took, 1, 2) AS INTEGER) AS bucket,
  1 AS steps
FROM (
  SELECT
    id, step_name, coalesce(agent_name, '') AS agent_name,
    CAST(CAST(json_extract(metadata, '$.duration_ms') AS INTEGER) AS TEXT) AS took
  FROM events
  WHERE event_type = 'step_completed') AS t
WHERE t.took IS NOT NULL;

CREATE VIEW measured_errors AS
SELECT
  id, created_at, substr(created_at, 1, 13) AS hour,
  coalesce(CAST(json_extract(metadata, '$.error_type') AS TEXT), '') AS code, 1 AS events
FROM events
WHERE event_type = 'error_occurred';

CREATE VIEW measured_daily AS
SELECT
  id, substr(created_at, 1, 10) AS day, event_type,
  CASE
    WHEN event_type = 'error_occurred' THEN coalesce(CAST(json_extract(metadata, '$.error_type') AS TEXT), '')
    ELSE '' END AS code,
  1 AS events
FROM events;

-- Who may come in over HTTP. The store keeps only the hash of a secret. A token is good for the projects that it
-- names, or for all where `projects` is NULL.

CREATE TABLE access_tokens (
  id TEXT PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  principal TEXT NOT NULL,
  scopes TEXT NOT NULL CHECK (json_valid(scopes)),
  created_at TEXT NOT NULL,
  expires_at TEXT,
  revoked_at TEXT,
  used_at TEXT,
  projects TEXT CHECK (projects IS NULL OR json_valid(projects))
) WITHOUT ROWID;

-- The projects that are served over HTTP, by name.

CREATE TABLE registered (
  name TEXT PRIMARY KEY,
  root TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL
) WITHOUT ROWID;
