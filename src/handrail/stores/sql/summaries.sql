-- A fold adds the entries between two numbers to the sums (?3 is 1), or takes those of one run out again (-1).

-- name: tail
SELECT event, coalesce((SELECT max(id) FROM events), 0) FROM folded

-- name: mark
SELECT event FROM folded

-- name: mark_if_free
SELECT event FROM folded

-- name: fold_runs
INSERT INTO summary_runs (workflow_name, state, runs, duration_ms)
SELECT workflow_name, state, CAST(?3 AS BIGINT) * sum(runs), ?3 * sum(duration_ms)
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
SELECT step_name, agent_name, status, CAST(?3 AS BIGINT) * sum(steps), ?3 * sum(duration_ms)
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
  SELECT workflow_name, state, runs, duration_ms FROM measured_runs WHERE id > (SELECT event FROM folded)) AS summed
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
  WHERE e.created_at >= ?1 AND e.created_at < ?2 AND e.event_type = 'workflow_created' AND e.revision = 1) AS summed
GROUP BY day, workflow_name
ORDER BY day, workflow_name

-- name: steps
SELECT step_name, agent_name, status, CAST(sum(steps) AS BIGINT), CAST(sum(duration_ms) AS BIGINT)
FROM (
  SELECT step_name, agent_name, status, steps, duration_ms FROM summary_steps
  UNION ALL
  SELECT step_name, agent_name, status, steps, duration_ms FROM measured_steps
  WHERE id > (SELECT event FROM folded)) AS summed
GROUP BY step_name, agent_name, status
HAVING sum(steps) <> 0
ORDER BY step_name, agent_name, status

-- name: hours
SELECT hour, event_type, CAST(sum(events) AS BIGINT)
FROM (
  SELECT hour, event_type, events FROM summary_hours WHERE hour >= ?1
  UNION ALL
  SELECT hour, event_type, events FROM measured_hours WHERE id > (SELECT event FROM folded) AND hour >= ?1) AS summed
GROUP BY hour, event_type
ORDER BY hour, event_type

-- name: kinds
SELECT event_type, CAST(sum(events) AS BIGINT) AS entries
FROM (
  SELECT event_type, events FROM summary_hours WHERE hour >= ?2
  UNION ALL
  SELECT event_type, events FROM measured_hours WHERE id > (SELECT event FROM folded) AND hour >= ?2
  UNION ALL
  SELECT event_type, 1 FROM events WHERE created_at >= ?1 AND created_at < ?2) AS summed
GROUP BY event_type
HAVING sum(events) <> 0
ORDER BY entries DESC, event_type

-- name: errors
SELECT coalesce(json_extract(metadata, '$.error_type'), '') AS code, count(*) AS entries
FROM events INDEXED BY events_errors
WHERE event_type = 'error_occurred' AND created_at >= ?
GROUP BY json_extract(metadata, '$.error_type')
ORDER BY entries DESC, code
