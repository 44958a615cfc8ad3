-- Sums over the journal, so that a number about all runs costs as much as there are names, not runs.
-- `folded` says up to which entry they count; what lies behind it is added by whoever reads.

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
