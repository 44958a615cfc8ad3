-- The questions that PostgreSQL takes in other words than SQLite.

-- name: run_columns
SELECT
  r.execution_id, r.workflow_name, r.state, coalesce(r.current_step, ''), r.revision, r.face, r.authority,
  coalesce(p.root, ''), r.goal, r.principal, coalesce(r.parent_execution_id, ''), r.started_at, r.updated_at,
  greatest(r.active_at, coalesce((SELECT created_at FROM events WHERE run = r.k ORDER BY id DESC LIMIT 1), '')),
  r.completed_at, r.duration_ms, r.waiting, r.metadata
FROM runs AS r LEFT JOIN projects AS p ON p.project_id = r.project_id

-- name: wanted
WHERE
  r.k < CASE WHEN ?1 = '' THEN 9223372036854775807 ELSE (SELECT k FROM runs WHERE execution_id = ?1) END
  AND r.k >= ?12
  AND (?2 = '' OR p.root = ?2 OR p.name = ?2)
  AND (?3 = '' OR r.face = ?3)
  AND (?4 = '' OR r.workflow_name = ?4)
  AND (?5 = '[]' OR r.state IN (SELECT json_array_elements_text(CAST(?5 AS JSON))))
  AND (
    ?6 = '' OR r.execution_id ILIKE ?6 OR r.goal ILIKE ?6 OR r.workflow_name ILIKE ?6 OR r.current_step ILIKE ?6
    OR p.name ILIKE ?6)
  AND (?7 = '' OR r.started_at >= ?7)
  AND (?8 = '' OR r.started_at < ?8)
  AND (CAST(?10 AS TEXT) IS NULL OR r.project_id IN (SELECT json_array_elements_text(CAST(?10 AS JSON))))
  AND (?11 = '' OR r.principal = ?11 OR EXISTS (SELECT 1 FROM steps WHERE run = r.k AND agent_name = ?11))
ORDER BY r.k DESC
LIMIT ?9

-- name: reached
SELECT k, execution_id FROM runs
WHERE k < CASE WHEN ?1 = '' THEN 9223372036854775807 ELSE (SELECT k FROM runs WHERE execution_id = ?1) END
ORDER BY k DESC
LIMIT 2 OFFSET CAST(?2 AS BIGINT) - 1

-- name: reached_in
SELECT k, execution_id FROM runs
WHERE
  project_id IN (SELECT json_array_elements_text(CAST(?3 AS JSON)))
  AND k < CASE WHEN ?1 = '' THEN 9223372036854775807 ELSE (SELECT k FROM runs WHERE execution_id = ?1) END
ORDER BY k DESC
LIMIT 2 OFFSET CAST(?2 AS BIGINT) - 1

-- name: needing
WHERE r.k IN (
  SELECT k FROM (
    SELECT l.k FROM (
      SELECT k FROM runs
      WHERE
        state IN ('running', 'paused')
        AND (CAST(?5 AS TEXT) IS NULL OR project_id IN (SELECT json_array_elements_text(CAST(?5 AS JSON))))
      ORDER BY k DESC LIMIT ?3
    ) AS n JOIN runs AS l ON l.k = n.k
    WHERE l.state = 'paused' OR l.waiting = 1 OR l.active_at < ?1
    UNION ALL
    SELECT f.k FROM runs AS f
    WHERE
      f.k > (SELECT max(k) FROM runs) - CAST(?3 AS BIGINT) AND f.state = 'failed' AND f.completed_at >= ?2
      AND (CAST(?5 AS TEXT) IS NULL OR f.project_id IN (SELECT json_array_elements_text(CAST(?5 AS JSON))))
      AND NOT EXISTS (SELECT 1 FROM runs AS c WHERE c.k > f.k AND c.parent_execution_id = f.execution_id)) AS found
  ORDER BY k DESC LIMIT ?4)
ORDER BY r.k DESC

-- name: under_way
SELECT state, count(*) FROM runs WHERE state IN ('running', 'paused') GROUP BY state

-- name: under_way_in
SELECT state, count(*) FROM runs
WHERE state IN ('running', 'paused') AND project_id IN (SELECT json_array_elements_text(CAST(?1 AS JSON)))
GROUP BY state

-- name: named
SELECT execution_id FROM runs
WHERE
  execution_id >= ?1 AND execution_id < ?1 || chr(1114111)
  AND (CAST(?3 AS TEXT) IS NULL OR project_id IN (SELECT json_array_elements_text(CAST(?3 AS JSON))))
ORDER BY execution_id
LIMIT ?2

-- name: open_steps
SELECT s.number, s.step_name, s.agent_name, s.status, s.started_at, s.completed_at, s.duration_ms, s.output
FROM runs AS r JOIN steps AS s ON s.run = r.k AND s.number >= r.oldest
WHERE r.execution_id = ? AND s.status = 'running'
ORDER BY s.number

-- name: artifacts
SELECT
  number, artifact_id, step_name, agent_name, artifact_type, title, coalesce(description, ''), is_final, created_at,
  octet_length(content)
FROM artifacts
WHERE run = (SELECT k FROM runs WHERE execution_id = ?) AND number > ?
ORDER BY number
LIMIT ?

-- name: excerpt_columns
SELECT
  r.execution_id, substr(convert_to(a.content, 'UTF8'), 1, CAST(?1 AS INTEGER)), a.number, a.artifact_id,
  a.step_name, a.agent_name, a.artifact_type, a.title, coalesce(a.description, ''), a.is_final, a.created_at,
  octet_length(a.content)
FROM artifacts AS a JOIN runs AS r ON r.k = a.run

-- name: of_type
WHERE a.artifact_type = ?2
  AND (CAST(?5 AS TEXT) IS NULL OR r.project_id IN (SELECT json_array_elements_text(CAST(?5 AS JSON))))
ORDER BY a.created_at DESC, a.run DESC, a.number DESC LIMIT ?3 OFFSET ?4

-- name: recent
WHERE CAST(?4 AS TEXT) IS NULL OR r.project_id IN (SELECT json_array_elements_text(CAST(?4 AS JSON)))
ORDER BY a.created_at DESC, a.run DESC, a.number DESC LIMIT ?2 OFFSET ?3

-- name: all_final
WHERE a.is_final = 1
  AND (CAST(?4 AS TEXT) IS NULL OR r.project_id IN (SELECT json_array_elements_text(CAST(?4 AS JSON))))
ORDER BY a.created_at DESC, a.run DESC, a.number DESC LIMIT ?2 OFFSET ?3

-- name: types
-- The run of an artifact is looked up, not joined: else all of both may be read to join them.
SELECT DISTINCT artifact_type FROM (
  SELECT a.artifact_type FROM artifacts AS a
  WHERE
    CAST(?2 AS TEXT) IS NULL
    OR (SELECT project_id FROM runs WHERE k = a.run) IN (SELECT json_array_elements_text(CAST(?2 AS JSON)))
  ORDER BY a.created_at DESC LIMIT 1000) AS latest
ORDER BY artifact_type LIMIT ?1

-- name: live
SELECT r.execution_id
FROM runs AS r JOIN projects AS p ON p.project_id = r.project_id
WHERE
  r.state IN ('running', 'paused') AND p.root IN (SELECT json_array_elements_text(CAST(?1 AS JSON)))
  AND substr(r.execution_id, 1, length(?2)) = ?2
  AND (CAST(?4 AS TEXT) IS NULL OR r.project_id IN (SELECT json_array_elements_text(CAST(?4 AS JSON))))
ORDER BY r.k DESC LIMIT ?3

-- name: live_runs
SELECT
  r.execution_id, r.workflow_name, r.state, coalesce(r.current_step, ''), r.face, r.authority, p.root, r.goal,
  r.active_at, r.waiting, r.record, d.text, (
    SELECT e.metadata FROM events AS e
    WHERE e.run = r.k AND e.event_type = 'error_occurred' AND e.step_name = r.current_step
    ORDER BY e.id DESC LIMIT 1)
FROM
  json_array_elements_text(CAST(?1 AS JSON)) WITH ORDINALITY AS f (project, place)
  JOIN projects AS p ON p.project_id = f.project
  JOIN runs AS r ON r.project_id = p.project_id
  LEFT JOIN definitions AS d ON d.digest = r.digest
WHERE
  r.state IN ('running', 'paused')
  AND (CAST(?3 AS TEXT) IS NULL OR r.project_id IN (SELECT json_array_elements_text(CAST(?3 AS JSON))))
ORDER BY f.place, r.active_at DESC, r.k DESC
LIMIT ?2

-- name: completed
SELECT r.execution_id
FROM runs AS r
WHERE r.k IN (
  SELECT f.run FROM (
    SELECT a.run FROM artifacts AS a JOIN runs AS m ON m.k = a.run
    WHERE a.is_final = 1
      AND (CAST(?2 AS TEXT) IS NULL OR m.project_id IN (SELECT json_array_elements_text(CAST(?2 AS JSON))))
    ORDER BY a.created_at DESC, a.run DESC, a.number DESC LIMIT ?1) AS f)
ORDER BY r.k DESC

-- name: journal
SELECT
  coalesce(r.execution_id, ''), e.id, e.revision, e.created_at, e.event_type, e.step_name, e.agent_name, e.metadata
FROM events AS e LEFT JOIN runs AS r ON r.k = e.run
WHERE e.id > ?1 AND e.id <= ?4
  AND (CAST(?3 AS TEXT) IS NULL OR r.project_id IN (SELECT json_array_elements_text(CAST(?3 AS JSON))))
ORDER BY e.id
LIMIT ?2
