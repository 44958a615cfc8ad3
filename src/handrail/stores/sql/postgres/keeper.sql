-- The keeper's statements that PostgreSQL takes in other words, or that must lock what they read.

-- name: kept
SELECT
  r.k, r.execution_id, r.workflow_name, r.digest, r.state, r.current_step, r.waiting, r.revision,
  convert_to(r.record, 'UTF8'), r.chain, r.authority, d.digest IS NOT NULL
FROM runs AS r LEFT JOIN definitions AS d ON d.digest = r.digest
WHERE r.k > ?
ORDER BY r.k
LIMIT 100

-- name: chained
SELECT event_type, revision, step_name, agent_name, convert_to(metadata, 'UTF8'), created_at
FROM events
WHERE run = ? AND revision > 0
ORDER BY id

-- name: run
SELECT
  r.execution_id AS id, r.workflow_name AS workflow, r.state AS lifecycle, r.current_step AS state, r.revision,
  r.face, r.authority, p.root AS project, r.goal, r.principal, r.parent_execution_id AS parent,
  r.started_at AS started, r.updated_at AS updated, r.active_at AS active, r.completed_at AS ended, r.duration_ms,
  r.waiting, r.metadata, r.digest, upper(encode(r.chain, 'hex')) AS chain, r.record
FROM runs AS r LEFT JOIN projects AS p ON p.project_id = r.project_id
WHERE r.k = ?

-- name: definition
SELECT digest, workflow_name AS workflow, version, convert_from(text, 'UTF8') AS text
FROM definitions WHERE digest = ?

-- name: lock_run
SELECT k FROM runs WHERE k = ? FOR UPDATE
