-- Every query that the source of the steps prints, word for word: what people and dashboards ask.

-- name: current_step
SELECT
  we.execution_id,
  we.state,
  we.current_step,
  ws.step_name,
  ws.agent_name,
  ws.status,
  ws.started_at
FROM workflow_executions we
LEFT JOIN workflow_steps ws ON we.execution_id = ws.execution_id AND ws.status = 'running'
WHERE we.execution_id = ?;

-- name: current_artifacts
-- Also fetch artifacts for current step:
SELECT * FROM workflow_artifacts
WHERE execution_id = ? AND step_name = ?
ORDER BY created_at DESC;

-- name: execution
-- Full execution with all steps:
SELECT * FROM workflow_executions WHERE execution_id = ?;

-- name: steps_of
SELECT * FROM workflow_steps WHERE execution_id = ? ORDER BY started_at;

-- name: artifacts_of
SELECT * FROM workflow_artifacts WHERE execution_id = ? ORDER BY created_at;

-- name: recent
-- Pattern: recent
SELECT * FROM workflow_artifacts
ORDER BY created_at DESC
LIMIT 50;

-- name: final
-- Pattern: final
SELECT * FROM workflow_artifacts
WHERE is_final = 1
ORDER BY created_at DESC;

-- name: final_of
-- Pattern: final/{execution_id}
SELECT * FROM workflow_artifacts
WHERE execution_id = ? AND is_final = 1
ORDER BY created_at DESC;

-- name: of_type
-- Pattern: type/{type}
SELECT * FROM workflow_artifacts
WHERE artifact_type = ?
ORDER BY created_at DESC
LIMIT 100;

-- name: by_state
-- Total workflows by state
SELECT state, COUNT(*) as count
FROM workflow_executions
GROUP BY state;

-- name: average_duration
-- Average duration by workflow type
SELECT
  workflow_name,
  AVG(duration_ms) as avg_duration_ms,
  COUNT(*) as executions
FROM workflow_executions
WHERE state = 'completed'
GROUP BY workflow_name
ORDER BY avg_duration_ms DESC;

-- name: completion_rate
-- Completion rate by workflow
SELECT
  workflow_name,
  COUNT(CASE WHEN state = 'completed' THEN 1 END) * 100.0 / COUNT(*) as completion_rate
FROM workflow_executions
GROUP BY workflow_name;

-- name: step_duration
-- Average step duration
SELECT
  step_name,
  agent_name,
  AVG(duration_ms) as avg_duration_ms,
  COUNT(*) as executions
FROM workflow_steps
WHERE status = 'completed'
GROUP BY step_name, agent_name
ORDER BY avg_duration_ms DESC;

-- name: step_failure_rate
-- Step failure rate
SELECT
  step_name,
  COUNT(CASE WHEN status = 'failed' THEN 1 END) * 100.0 / COUNT(*) as failure_rate
FROM workflow_steps
GROUP BY step_name
ORDER BY failure_rate DESC;

-- name: events_by_type
-- Event counts by type (last 24h)
SELECT
  event_type,
  COUNT(*) as count
FROM telemetry_events
WHERE created_at > datetime('now', '-24 hours')
GROUP BY event_type
ORDER BY count DESC;

-- name: token_expiry_rate
-- Token expiry rate
SELECT
  COUNT(CASE WHEN event_type = 'token_expired' THEN 1 END) * 100.0 /
  COUNT(CASE WHEN event_type IN ('token_generated', 'token_validated', 'token_expired') THEN 1 END)
  as expiry_rate
FROM telemetry_events;

-- name: errors_by_type
-- Error frequency by type
SELECT
  json_extract(metadata, '$.error_type') as error_type,
  COUNT(*) as count
FROM telemetry_events
WHERE event_type = 'error_occurred'
GROUP BY error_type
ORDER BY count DESC;

-- name: active_workflows
-- Active workflows (last 7 days)
SELECT DATE(started_at) as date, COUNT(*) as workflows
FROM workflow_executions
WHERE started_at > datetime('now', '-7 days')
GROUP BY DATE(started_at)
ORDER BY date;

-- name: abandonment
-- Abandonment analysis
SELECT
  workflow_name,
  COUNT(*) as abandoned_count,
  AVG(julianday(updated_at) - julianday(started_at)) * 24 * 60 as avg_minutes_before_abandon
FROM workflow_executions
WHERE state = 'abandoned'
GROUP BY workflow_name;

-- name: most_used
-- Most used workflows
SELECT workflow_name, COUNT(*) as count
FROM workflow_executions
GROUP BY workflow_name
ORDER BY count DESC;

-- name: average_days
-- Average workflow duration
SELECT workflow_name, AVG(julianday(completed_at) - julianday(started_at)) as avg_duration_days
FROM workflow_executions
WHERE state = 'completed'
GROUP BY workflow_name;

-- name: abandonment_rate
-- Abandonment rate
SELECT
  workflow_name,
  COUNT(CASE WHEN state = 'abandoned' THEN 1 END) * 100.0 / COUNT(*) as abandonment_rate
FROM workflow_executions
GROUP BY workflow_name;

-- name: step_days
-- Step completion times
SELECT step_name, AVG(julianday(completed_at) - julianday(started_at)) as avg_duration_days
FROM workflow_steps
WHERE status = 'completed'
GROUP BY step_name;
