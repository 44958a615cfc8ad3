-- name: kept
SELECT
  r.k, r.execution_id, r.workflow_name, r.digest, r.state, r.current_step, r.waiting, r.revision,
  CAST(r.record AS BLOB), r.chain, r.authority, d.digest IS NOT NULL
FROM runs AS r LEFT JOIN definitions AS d ON d.digest = r.digest
WHERE r.k > ?
ORDER BY r.k
LIMIT 100

-- name: chained
SELECT event_type, revision, step_name, agent_name, CAST(metadata AS BLOB), created_at
FROM events
WHERE run = ? AND revision > 0
ORDER BY id

-- name: running
SELECT number FROM steps WHERE run = ? AND status = 'running' ORDER BY number

-- name: replies
SELECT count(*) FROM replies WHERE run = ?

-- name: numbered
SELECT count(*), coalesce(max(number), 0) FROM artifacts WHERE run = ?

-- name: old
SELECT k FROM runs
WHERE
  completed_at < ?
  AND k < (SELECT max(k) FROM runs)
  AND k <> coalesce((SELECT run FROM events ORDER BY id DESC LIMIT 1), 0)
ORDER BY k

-- name: key
SELECT k FROM runs WHERE execution_id = ?

-- name: run
SELECT
  r.execution_id AS id, r.workflow_name AS workflow, r.state AS lifecycle, r.current_step AS state, r.revision,
  r.face, r.authority, p.root AS project, r.goal, r.principal, r.parent_execution_id AS parent,
  r.started_at AS started, r.updated_at AS updated, r.active_at AS active, r.completed_at AS ended, r.duration_ms,
  r.waiting, r.metadata, r.digest, hex(r.chain) AS chain, r.record
FROM runs AS r LEFT JOIN projects AS p ON p.project_id = r.project_id
WHERE r.k = ?

-- name: steps
SELECT
  number, step_name AS state, agent_name AS agent, status, started_at AS opened, completed_at AS closed, duration_ms,
  output
FROM steps
WHERE run = ?
ORDER BY number

-- name: artifacts
SELECT
  number, artifact_id AS id, step_name AS step, agent_name AS agent, artifact_type AS type, title, description,
  is_final AS final, created_at AS at, content
FROM artifacts
WHERE run = ?
ORDER BY number

-- name: events
SELECT
  id AS number, event_type AS kind, revision, step_name AS step, agent_name AS agent, created_at AS at,
  metadata AS data
FROM events
WHERE run = ?
ORDER BY id

-- name: definition
SELECT digest, workflow_name AS workflow, version, CAST(text AS TEXT) AS text FROM definitions WHERE digest = ?

-- name: lock_run
SELECT k FROM runs WHERE k = ?

-- name: last_event
SELECT max(id) FROM events WHERE run = ?

-- name: delete_replies
DELETE FROM replies WHERE run = ?

-- name: delete_steps
DELETE FROM steps WHERE run = ?

-- name: delete_artifacts
DELETE FROM artifacts WHERE run = ?

-- name: delete_events
DELETE FROM events WHERE run = ?

-- name: delete_run
DELETE FROM runs WHERE k = ?

-- name: delete_definition
DELETE FROM definitions WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE digest = ?1)
