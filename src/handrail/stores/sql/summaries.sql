-- A fold adds the entries between two numbers to the sums (?3 is 1), or takes those of one run out again (-1).

-- name: tail
SELECT event, coalesce((SELECT max(id) FROM events), 0) FROM folded

-- name: mark
SELECT event FROM folded

-- name: mark_if_free
SELECT event FROM folded

-- name: fold_runs
INSERT INTO summary_runs (workflow_name, state, runs, duration_ms)
SELECT workflow_name, state, CAST(?3 AS BIGINT) * sum(runs), CAST(?3 AS BIGINT) * sum(duration_ms)
FROM measured_runs
WHERE id > ?1 AND id <= ?2 AND (CAST(?4 AS BIGINT) IS NULL OR id IN (SELECT id FROM events WHERE run = ?4))
GROUP BY workflow_name, state
ON CONFLICT (workflow_name, state) DO UPDATE
SET runs = summary_runs.runs + excluded.runs, duration_ms = summary_runs.duration_ms + excluded.duration_ms

-- name: fold_days
INSERT INTO summary_days (day, workflow_name, runs)
SELECT day, workflow_name, CAST(?3 AS BIGINT) * sum(runs)
FROM measured_days
WHERE id > ?1 AND id <= ?2 AND (CAST(?4 AS BIGINT) IS NULL OR id IN (SELECT id FROM events WHERE run = ?4))
GROUP BY day, workflow_name
ON CONFLICT (day, workflow_name) DO UPDATE SET runs = summary_days.runs + excluded.runs

-- name: fold_steps
INSERT INTO summary_steps (step_name, agent_name, status, steps, duration_ms)
SELECT step_name, agent_name, status, CAST(?3 AS BIGINT) * sum(steps), CAST(?3 AS BIGINT) * sum(duration_ms)
FROM measured_steps
WHERE id > ?1 AND id <= ?2 AND (CAST(?4 AS BIGINT) IS NULL OR id IN (SELECT id FROM events WHERE run = ?4))
GROUP BY step_name, agent_name, status
ON CONFLICT (step_name, agent_name, status) DO UPDATE
SET steps = summary_steps.steps + excluded.steps, duration_ms = summary_steps.duration_ms + excluded.duration_ms

-- name: fold_hours
INSERT INTO summary_hours (hour, event_type, events)
SELECT hour, event_type, CAST(?3 AS BIGINT) * sum(events)
FROM measured_hours
WHERE id > ?1 AND id <= ?2 AND (CAST(?4 AS BIGINT) IS NULL OR id IN (SELECT id FROM events WHERE run = ?4))
GROUP BY hour, event_type
ON CONFLICT (hour, event_type) DO UPDATE SET events = summary_hours.events + excluded.events

-- name: move_mark
UPDATE folded SET event = ?

-- name: runs
SELECT workflow_name, state, CAST(sum(runs) AS BIGINT), CAST(sum(duration_ms) AS BIGINT)
FROM (
  SELECT workflow_name, state, runs, duration_ms FROM summary_runs
  UNION ALL
  SELECT workflow_name, state, runs, duration_ms FROM measured_runs WHERE id > (SELECT event FROM folded)) AS counted
GROUP BY workflow_name, state
HAVING sum(runs) <> 0
ORDER BY workflow_name, state

-- name: days
SELECT day, workflow_name, CAST(sum(runs) AS BIGINT)
FROM (
  SELECT day, workflow_name, runs FROM summary_days WHERE day >= ?2
  UNION ALL
  SELECT day, workflow_name, runs FROM measured_days WHERE id > (SELECT event FROM folded) AND day >= ?2
  UNION ALL
  SELECT substr(e.created_at, 1, 10), r.workflow_name, 1
  FROM events AS e JOIN runs AS r ON r.k = e.run
  WHERE e.created_at >= ?1 AND e.created_at < ?2 AND e.event_type = 'workflow_created' AND e.revision = 1) AS counted
GROUP BY day, workflow_name
ORDER BY day, workflow_name

-- name: steps
SELECT step_name, agent_name, status, CAST(sum(steps) AS BIGINT), CAST(sum(duration_ms) AS BIGINT)
FROM (
  SELECT step_name, agent_name, status, steps, duration_ms FROM summary_steps
  UNION ALL
  SELECT step_name, agent_name, status, steps, duration_ms FROM measured_steps
  WHERE id > (SELECT event FROM folded)) AS counted
GROUP BY step_name, agent_name, status
HAVING sum(steps) <> 0
ORDER BY step_name, agent_name, status

-- name: hours
SELECT hour, event_type, CAST(sum(events) AS BIGINT)
FROM (
  SELECT hour, event_type, events FROM summary_hours WHERE hour >= ?1
  UNION ALL
  SELECT hour, event_type, events FROM measured_hours WHERE id > (SELECT event FROM folded) AND hour >= ?1) AS counted
GROUP BY hour, event_type
ORDER BY hour, event_type

-- name: kinds
SELECT event_type, CAST(sum(events) AS BIGINT) AS entries
FROM (
  SELECT event_type, events FROM summary_daily WHERE day >= ?3
  UNION ALL
  SELECT event_type, events FROM summary_hours WHERE hour >= ?2 AND hour < ?3
  UNION ALL
  SELECT event_type, events FROM measured_hours WHERE id > (SELECT event FROM folded) AND hour >= ?2
  UNION ALL
  SELECT event_type, 1 FROM events WHERE created_at >= ?1 AND created_at < ?2) AS counted
GROUP BY event_type
HAVING sum(events) <> 0
ORDER BY entries DESC, event_type

-- name: errors
SELECT code, CAST(sum(events) AS BIGINT) AS entries
FROM (
  SELECT code, events FROM summary_daily WHERE day >= ?3 AND event_type = 'error_occurred'
  UNION ALL
  SELECT code, events FROM summary_errors WHERE hour >= ?2 AND hour < ?3
  UNION ALL
  SELECT code, events FROM measured_errors WHERE id > (SELECT event FROM folded) AND hour >= ?2
  UNION ALL
  SELECT code, events FROM measured_errors WHERE created_at >= ?1 AND created_at < ?2) AS counted
GROUP BY code
HAVING sum(events) <> 0
ORDER BY entries DESC, code

-- name: fold_daily
INSERT INTO summary_daily (day, event_type, code, events)
SELECT day, event_type, code, CAST(?3 AS BIGINT) * sum(events)
FROM measured_daily
WHERE id > ?1 AND id <= ?2 AND (CAST(?4 AS BIGINT) IS NULL OR id IN (SELECT id FROM events WHERE run = ?4))
GROUP BY day, event_type, code
ON CONFLICT (day, event_type, code) DO UPDATE SET events = summary_daily.events + excluded.events

-- name: fold_errors
INSERT INTO summary_errors (hour, code, events)
SELECT hour, code, CAST(?3 AS BIGINT) * sum(events)
FROM measured_errors
WHERE id > ?1 AND id <= ?2 AND (CAST(?4 AS BIGINT) IS NULL OR id IN (SELECT id FROM events WHERE run = ?4))
GROUP BY hour, code
ON CONFLICT (hour, code) DO UPDATE SET events = summary_errors.events + excluded.events

-- name: fold_states
INSERT INTO summary_states (workflow_name, step_name, opened, reached, accepted, refused, abandoned)
SELECT
  workflow_name, step_name, CAST(?3 AS BIGINT) * sum(opened), CAST(?3 AS BIGINT) * sum(reached), CAST(?3 AS BIGINT) * sum(accepted), CAST(?3 AS BIGINT) * sum(refused),
  CAST(?3 AS BIGINT) * sum(abandoned)
FROM measured_states
WHERE id > ?1 AND id <= ?2 AND (CAST(?4 AS BIGINT) IS NULL OR id IN (SELECT id FROM events WHERE run = ?4))
GROUP BY workflow_name, step_name
ON CONFLICT (workflow_name, step_name) DO UPDATE SET
  opened = summary_states.opened + excluded.opened,
  reached = summary_states.reached + excluded.reached,
  accepted = summary_states.accepted + excluded.accepted,
  refused = summary_states.refused + excluded.refused,
  abandoned = summary_states.abandoned + excluded.abandoned

-- name: fold_run_times
INSERT INTO summary_run_times (workflow_name, state, bucket, runs)
SELECT workflow_name, state, bucket, CAST(?3 AS BIGINT) * sum(runs)
FROM measured_run_times
WHERE id > ?1 AND id <= ?2 AND (CAST(?4 AS BIGINT) IS NULL OR id IN (SELECT id FROM events WHERE run = ?4))
GROUP BY workflow_name, state, bucket
ON CONFLICT (workflow_name, state, bucket) DO UPDATE SET runs = summary_run_times.runs + excluded.runs

-- name: fold_step_times
INSERT INTO summary_step_times (step_name, agent_name, bucket, steps)
SELECT step_name, agent_name, bucket, CAST(?3 AS BIGINT) * sum(steps)
FROM measured_step_times
WHERE id > ?1 AND id <= ?2 AND (CAST(?4 AS BIGINT) IS NULL OR id IN (SELECT id FROM events WHERE run = ?4))
GROUP BY step_name, agent_name, bucket
ON CONFLICT (step_name, agent_name, bucket) DO UPDATE SET steps = summary_step_times.steps + excluded.steps

-- name: states
SELECT
  workflow_name, step_name, CAST(sum(opened) AS BIGINT), CAST(sum(reached) AS BIGINT),
  CAST(sum(accepted) AS BIGINT), CAST(sum(refused) AS BIGINT), CAST(sum(abandoned) AS BIGINT)
FROM (
  SELECT workflow_name, step_name, opened, reached, accepted, refused, abandoned FROM summary_states
  UNION ALL
  SELECT workflow_name, step_name, opened, reached, accepted, refused, abandoned FROM measured_states
  WHERE id > (SELECT event FROM folded)) AS counted
GROUP BY workflow_name, step_name
HAVING sum(opened + accepted + refused + abandoned) <> 0
ORDER BY workflow_name, step_name

-- name: run_times
SELECT workflow_name, state, bucket, runs FROM summary_run_times
UNION ALL
SELECT workflow_name, state, bucket, runs FROM measured_run_times WHERE id > (SELECT event FROM folded)

-- name: step_times
SELECT step_name, agent_name, bucket, steps FROM summary_step_times
UNION ALL
SELECT step_name, agent_name, bucket, steps FROM measured_step_times WHERE id > (SELECT event FROM folded)
