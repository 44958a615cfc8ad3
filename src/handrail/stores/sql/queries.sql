-- name: run
SELECT
  r.record, r.revision, r.started_at, r.updated_at, r.active_at, r.metadata, r.face, r.authority, r.goal,
  r.principal, r.parent_execution_id, coalesce(p.root, ''),
  EXISTS (
    SELECT 1 FROM events AS e WHERE e.run = r.k AND e.event_type IN ('comment_written', 'comment_told')),
  s.number, s.token, s.started_at
FROM runs AS r
LEFT JOIN projects AS p ON p.project_id = r.project_id
LEFT JOIN steps AS s ON s.run = r.k AND s.number >= r.oldest AND s.status = 'running'
WHERE r.execution_id = ?

-- name: revision
SELECT k, revision, chain FROM runs WHERE execution_id = ?

-- name: insert_run
INSERT INTO runs (
  state, completed_at, duration_ms, current_step, updated_at, metadata, revision, record, chain, active_at, waiting,
  oldest, digest, execution_id, workflow_name, started_at, face, authority, project_id, goal, principal,
  parent_execution_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
RETURNING k

-- name: update_run
UPDATE runs
SET
  current_step = ?, updated_at = ?, metadata = ?, revision = ?, record = ?, chain = ?, active_at = ?, waiting = ?,
  oldest = ?, digest = ?
WHERE k = ? AND revision = ?

-- name: settle_run
UPDATE runs SET state = ?, completed_at = ?, duration_ms = ? WHERE k = ?

-- name: close_step
UPDATE steps
SET status = ?, completed_at = ?, duration_ms = ?, output = ?, token = NULL
WHERE run = ? AND number = ?

-- name: open_step
INSERT INTO steps (run, number, step_name, agent_name, status, started_at, token)
VALUES (?, ?, ?, ?, 'running', ?, ?)

-- name: token
UPDATE steps SET token = ? WHERE run = ? AND number = ?

-- name: insert_artifact
INSERT INTO artifacts (
  run, number, artifact_id, step_name, agent_name, artifact_type, title, description, created_at, content)
VALUES (
  ?1, (SELECT coalesce(max(number), 0) + 1 FROM artifacts WHERE run = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: inherit_steps
INSERT INTO steps (
  run, number, step_name, agent_name, status, started_at, completed_at, duration_ms, output)
SELECT ?1, number, step_name, agent_name, status, started_at, completed_at, duration_ms, output
FROM steps
WHERE run = (SELECT k FROM runs WHERE execution_id = ?2) AND status = 'completed'

-- name: inherit_artifacts
INSERT INTO artifacts (
  run, number, artifact_id, step_name, agent_name, artifact_type, title, description, created_at, content)
SELECT ?1, number, artifact_id, step_name, agent_name, artifact_type, title, description, created_at, content
FROM artifacts AS a
WHERE
  run = (SELECT k FROM runs WHERE execution_id = ?2)
  AND NOT (
    artifact_type = 'synthesis' AND is_final = 1 AND number = (SELECT max(number) FROM artifacts WHERE run = a.run))

-- name: finalise
UPDATE artifacts SET is_final = ? WHERE run = ?

-- name: insert_event
INSERT INTO events (run, event_type, revision, step_name, agent_name, metadata, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: insert_reply
INSERT INTO replies (run, revision, token, request, reply) VALUES (?, ?, ?, ?, ?)

-- name: forget_reply
DELETE FROM replies WHERE run = ? AND revision <= ?

-- name: reply
SELECT p.token, p.request, p.reply
FROM replies AS p JOIN runs AS r ON r.k = p.run
WHERE r.execution_id = ? AND p.revision = ?

-- name: insert_definition
INSERT INTO definitions (digest, workflow_name, version, text) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING

-- name: definition
SELECT digest, workflow_name, version, text FROM definitions WHERE digest = ?

-- name: insert_project
INSERT INTO projects (project_id, name, root, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING

-- name: activate
UPDATE projects SET active_task_id = ? WHERE project_id = ?

-- name: deactivate
UPDATE projects SET active_task_id = NULL WHERE active_task_id = ?

-- name: touch
UPDATE runs SET active_at = ? WHERE execution_id = ? AND active_at < ?

-- name: entries
SELECT e.id, e.revision, e.created_at, e.event_type, e.step_name, e.agent_name, e.metadata
FROM events AS e JOIN runs AS r ON r.k = e.run
WHERE r.execution_id = ? AND e.id > ?
ORDER BY e.id
LIMIT ?

-- name: setting
SELECT value FROM settings WHERE name = ?

-- name: insert_setting
INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING

-- name: last_event
SELECT coalesce(max(id), 0) FROM events

-- name: changes
SELECT r.execution_id, r.revision, max(e.id) AS last
FROM events AS e JOIN runs AS r ON r.k = e.run
WHERE e.id > ? AND e.id <= ?
GROUP BY e.run, r.execution_id, r.revision
ORDER BY last

-- name: behind
SELECT count(*) FROM events AS e JOIN runs AS r ON r.k = e.run WHERE e.id > ?

-- name: quiet
SELECT r.execution_id
FROM runs AS r
WHERE
  r.state IN ('running', 'paused') AND r.state = ?1 AND r.authority = 'sql' AND r.waiting = 0 AND r.active_at < ?2
  AND NOT EXISTS (SELECT 1 FROM events AS e WHERE e.run = r.k AND e.created_at >= ?2)
LIMIT ?3
