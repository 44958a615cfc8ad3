-- name: projects
SELECT root FROM projects ORDER BY root

-- name: projected
SELECT k, projected, chain, revision FROM runs WHERE execution_id = ?

-- name: projected_alone
SELECT k, projected, chain, revision FROM runs WHERE execution_id = ?

-- name: mark
UPDATE runs SET projected = ? WHERE k = ?

-- name: open_step
INSERT INTO steps (run, number, step_name, agent_name, status, started_at) VALUES (?, ?, ?, ?, 'running', ?)
ON CONFLICT DO NOTHING

-- name: adopt_step
INSERT INTO steps (run, number, step_name, agent_name, status, started_at) VALUES (?, ?, ?, '', 'running', ?)
ON CONFLICT DO NOTHING

-- name: close_step
UPDATE steps SET status = ?, completed_at = ?, duration_ms = ? WHERE run = ? AND number = ?

-- name: keep_paper
INSERT INTO artifacts (
  run, number, artifact_id, step_name, agent_name, artifact_type, title, description, created_at, content)
SELECT
  ?1, (SELECT coalesce(max(number), 0) + 1 FROM artifacts WHERE run = ?1), ?2, ?3, ?4, ?5, ?6, ?7,
  (SELECT updated_at FROM runs WHERE k = ?1), ?8
WHERE NOT EXISTS (SELECT 1 FROM artifacts WHERE run = ?1 AND artifact_id = ?2)

-- name: mirrored
SELECT event_type, revision, step_name, agent_name, metadata, created_at
FROM events WHERE run = ? ORDER BY id

-- name: forget_mark
INSERT INTO events (event_type, revision, metadata, created_at)
SELECT 'state_repaired', 0, json_object('rebuilt', execution_id), updated_at FROM runs WHERE k = ?
