-- More sums over the journal: how long runs and steps take, where runs are left, which steps are begun again,
-- which calls are refused, and why; and all entries by day, since a year has many hours. Errors were not summed
-- before this, nor was any of the others: what was folded is counted from the entries that are still here.
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

INSERT INTO summary_states (workflow_name, step_name, opened, reached, accepted, refused, abandoned)
SELECT workflow_name, step_name, sum(opened), sum(reached), sum(accepted), sum(refused), sum(abandoned)
FROM measured_states
WHERE id <= (SELECT event FROM folded)
GROUP BY workflow_name, step_name;

INSERT INTO summary_run_times (workflow_name, state, bucket, runs)
SELECT workflow_name, state, bucket, sum(runs)
FROM measured_run_times
WHERE id <= (SELECT event FROM folded)
GROUP BY workflow_name, state, bucket;

INSERT INTO summary_step_times (step_name, agent_name, bucket, steps)
SELECT step_name, agent_name, bucket, sum(steps)
FROM measured_step_times
WHERE id <= (SELECT event FROM folded)
GROUP BY step_name, agent_name, bucket;

INSERT INTO summary_errors (hour, code, events)
SELECT hour, code, sum(events)
FROM measured_errors
WHERE id <= (SELECT event FROM folded)
GROUP BY hour, code;

-- Entries of all kinds were summed by the hour, also those that are gone; only their codes are not known.
INSERT INTO summary_daily (day, event_type, code, events)
SELECT substr(hour, 1, 10), event_type, '', sum(events)
FROM summary_hours
WHERE event_type <> 'error_occurred'
GROUP BY substr(hour, 1, 10), event_type
HAVING sum(events) <> 0;

INSERT INTO summary_daily (day, event_type, code, events)
SELECT day, event_type, code, sum(events)
FROM (
  SELECT substr(hour, 1, 10) AS day, 'error_occurred' AS event_type, code, events FROM summary_errors
  UNION ALL
  SELECT substr(hour, 1, 10), event_type, '', events FROM summary_hours WHERE event_type = 'error_occurred'
  UNION ALL
  SELECT substr(hour, 1, 10), 'error_occurred', '', -events FROM summary_errors) AS counted
GROUP BY day, event_type, code
HAVING sum(events) <> 0;
