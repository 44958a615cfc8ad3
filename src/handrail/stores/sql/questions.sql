-- What is asked about all runs is given, last, the ids of the projects to ask about as JSON, or NULL for all.

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
  AND r.k >= ?12
  AND (?2 = '' OR p.root = ?2 OR p.name = ?2)
  AND (?3 = '' OR r.face = ?3)
  AND (?4 = '' OR r.workflow_name = ?4)
  AND (?5 = '[]' OR r.state IN (SELECT value FROM json_each(?5)))
  AND (
    ?6 = '' OR r.execution_id LIKE ?6 ESCAPE '\' OR r.goal LIKE ?6 ESCAPE '\'
    OR r.workflow_name LIKE ?6 ESCAPE '\' OR r.current_step LIKE ?6 ESCAPE '\' OR p.name LIKE ?6 ESCAPE '\')
  AND (?7 = '' OR r.started_at >= ?7)
  AND (?8 = '' OR r.started_at < ?8)
  AND (?10 IS NULL OR r.project_id IN (SELECT value FROM json_each(?10)))
  AND (?11 = '' OR r.principal = ?11 OR EXISTS (SELECT 1 FROM steps WHERE run = r.k AND agent_name = ?11))
ORDER BY r.k DESC
LIMIT ?9

-- name: reached
SELECT k, execution_id FROM runs
WHERE k < CASE WHEN ?1 = '' THEN 9223372036854775807 ELSE (SELECT k FROM runs WHERE execution_id = ?1) END
ORDER BY k DESC
LIMIT 2 OFFSET ?2 - 1

-- name: reached_in
SELECT k, execution_id FROM runs INDEXED BY runs_by_project
WHERE
  project_id IN (SELECT value FROM json_each(?3))
  AND k < CASE WHEN ?1 = '' THEN 9223372036854775807 ELSE (SELECT k FROM runs WHERE execution_id = ?1) END
ORDER BY k DESC
LIMIT 2 OFFSET ?2 - 1

-- name: needing
-- Of the live ones and of those that failed the last started are read: neither grows with what there ever was.
WHERE r.k IN (
  SELECT k FROM (
    SELECT l.k FROM (
      SELECT k FROM runs INDEXED BY runs_live
      WHERE state IN ('running', 'paused') AND (?5 IS NULL OR project_id IN (SELECT value FROM json_each(?5)))
      ORDER BY k DESC LIMIT ?3
    ) AS n CROSS JOIN runs AS l ON l.k = n.k
    WHERE l.state = 'paused' OR l.waiting = 1 OR l.active_at < ?1
    UNION ALL
    SELECT f.k FROM runs AS f
    WHERE
      f.k > (SELECT max(k) FROM runs) - ?3 AND f.state = 'failed' AND f.completed_at >= ?2
      AND (?5 IS NULL OR f.project_id IN (SELECT value FROM json_each(?5)))
      AND NOT EXISTS (SELECT 1 FROM runs AS c WHERE c.k > f.k AND c.parent_execution_id = f.execution_id))
  ORDER BY k DESC LIMIT ?4)
ORDER BY r.k DESC

-- name: under_way
SELECT state, count(*) FROM runs INDEXED BY runs_live WHERE state IN ('running', 'paused') GROUP BY state

-- name: under_way_in
SELECT state, count(*) FROM runs INDEXED BY runs_live
WHERE state IN ('running', 'paused') AND project_id IN (SELECT value FROM json_each(?1))
GROUP BY state

-- name: one
WHERE r.execution_id = ?

-- name: named
SELECT execution_id FROM runs
WHERE
  execution_id >= ?1 AND execution_id < ?1 || char(1114111)
  AND (?3 IS NULL OR project_id IN (SELECT value FROM json_each(?3)))
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
-- SQLite gives NULL for a part of an empty BLOB.
SELECT
  r.execution_id, coalesce(substr(CAST(a.content AS BLOB), 1, ?1), x''), a.number, a.artifact_id, a.step_name, a.agent_name,
  a.artifact_type, a.title, coalesce(a.description, ''), a.is_final, a.created_at, length(CAST(a.content AS BLOB))
FROM artifacts AS a JOIN runs AS r ON r.k = a.run

-- name: of_run
WHERE r.execution_id = ?2 ORDER BY a.number LIMIT ?3 OFFSET ?4

-- name: of_step
WHERE r.execution_id = ?2 AND a.step_name = ?3 ORDER BY a.number DESC LIMIT ?4 OFFSET ?5

-- name: of_type
-- The narrow copy by time is read until there are enough, not the artifacts.
WHERE (a.run, a.number) IN (
  SELECT b.run, b.number FROM artifacts AS b
  WHERE b.artifact_type = ?2 AND (?5 IS NULL OR EXISTS (
    SELECT 1 FROM json_each(?5) AS j CROSS JOIN runs AS m INDEXED BY runs_by_project
    ON m.project_id = j.value AND m.k = b.run))
  ORDER BY b.created_at DESC, b.run DESC, b.number DESC LIMIT ?3 OFFSET ?4)
ORDER BY +a.created_at DESC, a.run DESC, a.number DESC

-- name: recent
WHERE ?4 IS NULL OR EXISTS (
  SELECT 1 FROM json_each(?4) AS j CROSS JOIN runs AS m INDEXED BY runs_by_project
  ON m.project_id = j.value AND m.k = a.run)
ORDER BY a.created_at DESC, a.run DESC, a.number DESC LIMIT ?2 OFFSET ?3

-- name: all_final
WHERE a.is_final = 1 AND (?4 IS NULL OR EXISTS (
  SELECT 1 FROM json_each(?4) AS j CROSS JOIN runs AS m INDEXED BY runs_by_project
  ON m.project_id = j.value AND m.k = a.run))
ORDER BY a.created_at DESC, a.run DESC, a.number DESC LIMIT ?2 OFFSET ?3

-- name: final_of
WHERE r.execution_id = ?2 AND a.is_final = 1 ORDER BY a.number DESC LIMIT ?3 OFFSET ?4

-- name: final_in
WHERE r.project_id = ?2 AND r.state = 'completed'
ORDER BY r.completed_at DESC, r.k DESC, a.number DESC LIMIT ?3 OFFSET ?4

-- name: types_of
SELECT DISTINCT artifact_type FROM artifacts
WHERE run = (SELECT k FROM runs WHERE execution_id = ?)
ORDER BY artifact_type LIMIT ?

-- name: types
SELECT DISTINCT artifact_type FROM (
  SELECT a.artifact_type FROM artifacts AS a
  WHERE ?2 IS NULL OR EXISTS (
    SELECT 1 FROM json_each(?2) AS j CROSS JOIN runs AS m INDEXED BY runs_by_project
    ON m.project_id = j.value AND m.k = a.run)
  ORDER BY a.created_at DESC LIMIT 1000)
ORDER BY artifact_type LIMIT ?1

-- name: live
SELECT r.execution_id
FROM runs AS r INDEXED BY runs_live CROSS JOIN projects AS p ON p.project_id = r.project_id
WHERE
  r.state IN ('running', 'paused') AND p.root IN (SELECT value FROM json_each(?1))
  AND substr(r.execution_id, 1, length(?2)) = ?2
  AND (?4 IS NULL OR r.project_id IN (SELECT value FROM json_each(?4)))
ORDER BY r.k DESC LIMIT ?3

-- name: live_runs
-- The projects are given by their ids, the nearest first; the runs of the first that has any are at the front.
SELECT
  r.execution_id, r.workflow_name, r.state, coalesce(r.current_step, ''), r.face, r.authority, p.root, r.goal,
  r.active_at, r.waiting, r.record, d.text, (
    SELECT e.metadata FROM events AS e
    WHERE e.run = r.k AND e.event_type = 'error_occurred' AND e.step_name = r.current_step
    ORDER BY e.id DESC LIMIT 1)
FROM
  runs AS r INDEXED BY runs_live CROSS JOIN json_each(?1) AS j ON j.value = r.project_id
  CROSS JOIN projects AS p ON p.project_id = r.project_id
  LEFT JOIN definitions AS d ON d.digest = r.digest
WHERE
  r.state IN ('running', 'paused')
  AND (?3 IS NULL OR r.project_id IN (SELECT value FROM json_each(?3)))
ORDER BY j.key, r.active_at DESC, r.k DESC
LIMIT ?2

-- name: completed
SELECT DISTINCT r.execution_id
FROM (
  SELECT a.run FROM artifacts AS a
  WHERE a.is_final = 1 AND (?2 IS NULL OR EXISTS (
    SELECT 1 FROM json_each(?2) AS j CROSS JOIN runs AS m INDEXED BY runs_by_project
    ON m.project_id = j.value AND m.k = a.run))
  ORDER BY a.created_at DESC, a.run DESC, a.number DESC LIMIT ?1
) AS f CROSS JOIN runs AS r ON r.k = f.run
ORDER BY r.k DESC

-- name: project
SELECT project_id, name, root, coalesce(active_task_id, ''), created_at FROM projects WHERE project_id = ?

-- name: project_of
SELECT project_id FROM runs WHERE execution_id = ?

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
WHERE e.id > ?1 AND e.id <= ?4 AND (?3 IS NULL OR r.project_id IN (SELECT value FROM json_each(?3)))
ORDER BY e.id
LIMIT ?2

-- name: remarks_of
SELECT ?1, id, revision, created_at, event_type, step_name, agent_name, metadata
FROM events
WHERE
  run = (SELECT k FROM runs WHERE execution_id = ?1) AND event_type IN ('comment_written', 'comment_told')
ORDER BY id DESC
LIMIT ?2

-- name: refusals_of
SELECT ?1, id, revision, created_at, event_type, step_name, agent_name, metadata
FROM events
WHERE run = (SELECT k FROM runs WHERE execution_id = ?1) AND event_type = 'error_occurred'
ORDER BY id DESC
LIMIT ?2
