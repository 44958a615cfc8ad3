-- name: run_columns
SELECT
  r.execution_id, r.workflow_name, r.state, coalesce(r.current_step, ''), r.revision, r.face, r.authority,
  coalesce(p.root, ''), r.goal, r.principal, coalesce(r.parent_execution_id, ''), r.started_at, r.updated_at,
  max(r.active_at, coalesce((SELECT created_at FROM events WHERE run = r.k ORDER BY id DESC LIMIT 1), '')),
  r.completed_at, r.duration_ms, r.waiting, r.metadata
FROM runs AS r LEFT JOIN projects AS p ON p.project_id = r.project_id

-- name: wanted
WHERE
  r.k < CASE WHEN ?1 = '' THEN 9223372036854775807 ELSE (SELECT k FROM runs WHERE execution_id = ?1) END
  AND (?2 = '' OR p.root = ?2 OR p.name = ?2)
  AND (?3 = '' OR r.face = ?3)
  AND (?4 = '' OR r.workflow_name = ?4)
  AND (?5 = '[]' OR r.state IN (SELECT value FROM json_each(?5)))
  AND (
    ?6 = '' OR r.execution_id LIKE ?6 ESCAPE '\' OR r.goal LIKE ?6 ESCAPE '\'
    OR r.workflow_name LIKE ?6 ESCAPE '\' OR r.current_step LIKE ?6 ESCAPE '\' OR p.name LIKE ?6 ESCAPE '\')
  AND (?7 = '' OR r.started_at >= ?7)
  AND (?8 = '' OR r.started_at < ?8)
ORDER BY r.k DESC
LIMIT ?9

-- name: one
WHERE r.execution_id = ?

-- name: named
SELECT execution_id FROM runs
WHERE execution_id >= ?1 AND execution_id < ?1 || char(1114111)
ORDER BY execution_id
LIMIT ?2

-- name: steps
SELECT number, step_name, agent_name, status, started_at, completed_at, duration_ms, output
FROM steps
WHERE run = (SELECT k FROM runs WHERE execution_id = ?) AND number > ?
ORDER BY number
LIMIT ?

-- name: last_done
SELECT number, step_name, agent_name, status, started_at, completed_at, duration_ms, output
FROM steps
WHERE run = (SELECT k FROM runs WHERE execution_id = ?) AND status = 'completed'
ORDER BY number DESC
LIMIT ?

-- name: open_steps
SELECT s.number, s.step_name, s.agent_name, s.status, s.started_at, s.completed_at, s.duration_ms, s.output
FROM runs AS r CROSS JOIN steps AS s ON s.run = r.k AND s.number >= r.oldest
WHERE r.execution_id = ? AND s.status = 'running'
ORDER BY s.number

-- name: artifacts
SELECT
  number, artifact_id, step_name, agent_name, artifact_type, title, coalesce(description, ''), is_final, created_at,
  length(CAST(content AS BLOB))
FROM artifacts
WHERE run = (SELECT k FROM runs WHERE execution_id = ?) AND number > ?
ORDER BY number
LIMIT ?

-- name: content
SELECT content FROM artifacts WHERE run = (SELECT k FROM runs WHERE execution_id = ?) AND number = ?

-- name: excerpt_columns
SELECT
  r.execution_id, substr(CAST(a.content AS BLOB), 1, ?), a.number, a.artifact_id, a.step_name, a.agent_name,
  a.artifact_type, a.title, coalesce(a.description, ''), a.is_final, a.created_at, length(CAST(a.content AS BLOB))
FROM artifacts AS a JOIN runs AS r ON r.k = a.run

-- name: of_run
WHERE r.execution_id = ? ORDER BY a.number LIMIT ? OFFSET ?

-- name: of_step
WHERE r.execution_id = ? AND a.step_name = ? ORDER BY a.number DESC LIMIT ? OFFSET ?

-- name: of_type
-- The narrow copy by time is read until there are enough, not the artifacts.
WHERE (a.run, a.number) IN (
  SELECT run, number FROM artifacts WHERE artifact_type = ?
  ORDER BY created_at DESC, run DESC, number DESC LIMIT ? OFFSET ?)
ORDER BY +a.created_at DESC, a.run DESC, a.number DESC

-- name: recent
ORDER BY a.created_at DESC, a.run DESC, a.number DESC LIMIT ? OFFSET ?

-- name: all_final
WHERE a.is_final = 1 ORDER BY a.created_at DESC, a.run DESC, a.number DESC LIMIT ? OFFSET ?

-- name: final_of
WHERE r.execution_id = ? AND a.is_final = 1 ORDER BY a.number DESC LIMIT ? OFFSET ?

-- name: final_in
WHERE r.project_id = ? AND r.state = 'completed'
ORDER BY r.completed_at DESC, r.k DESC, a.number DESC LIMIT ? OFFSET ?

-- name: types_of
SELECT DISTINCT artifact_type FROM artifacts
WHERE run = (SELECT k FROM runs WHERE execution_id = ?)
ORDER BY artifact_type LIMIT ?

-- name: types
SELECT DISTINCT artifact_type FROM (SELECT artifact_type FROM artifacts ORDER BY created_at DESC LIMIT 1000)
ORDER BY artifact_type LIMIT ?

-- name: live
SELECT r.execution_id
FROM runs AS r INDEXED BY runs_live CROSS JOIN projects AS p ON p.project_id = r.project_id
WHERE
  r.state IN ('running', 'paused') AND p.root IN (SELECT value FROM json_each(?1))
  AND substr(r.execution_id, 1, length(?2)) = ?2
ORDER BY r.k DESC LIMIT ?3

-- name: completed
SELECT DISTINCT r.execution_id
FROM (
  SELECT run FROM artifacts WHERE is_final = 1 ORDER BY created_at DESC, run DESC, number DESC LIMIT ?
) AS f CROSS JOIN runs AS r ON r.k = f.run
ORDER BY r.k DESC

-- name: project
SELECT project_id, name, root, coalesce(active_task_id, ''), created_at FROM projects WHERE project_id = ?

-- name: journal_of
SELECT ?1, id, revision, created_at, event_type, step_name, agent_name, metadata
FROM events
WHERE run = (SELECT k FROM runs WHERE execution_id = ?1) AND id > ?2
ORDER BY id
LIMIT ?3

-- name: journal
SELECT
  coalesce(r.execution_id, ''), e.id, e.revision, e.created_at, e.event_type, e.step_name, e.agent_name, e.metadata
FROM events AS e LEFT JOIN runs AS r ON r.k = e.run
WHERE e.id > ?
ORDER BY e.id
LIMIT ?

-- name: refusals_of
SELECT ?1, id, revision, created_at, event_type, step_name, agent_name, metadata
FROM events INDEXED BY events_by_run
WHERE run = (SELECT k FROM runs WHERE execution_id = ?1) AND event_type = 'error_occurred'
ORDER BY id DESC
LIMIT ?2

-- name: pulse
PRAGMA data_version
