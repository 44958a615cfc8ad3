-- The statements that PostgreSQL takes in other words than SQLite, or that must lock what they read.

-- name: revision
SELECT k, revision, chain FROM runs WHERE execution_id = ? FOR NO KEY UPDATE

-- name: hold
SELECT k FROM runs WHERE execution_id = ? FOR NO KEY UPDATE

-- name: insert_project
-- Whoever finds the project there does not wait for those who are just starting a run in it.
INSERT INTO projects (project_id, name, root, created_at)
SELECT ?1, ?2, ?3, ?4
WHERE NOT EXISTS (SELECT 1 FROM projects WHERE project_id = ?1)
ON CONFLICT DO NOTHING

-- name: activate
-- Of several runs that are started at once one is the active one; the others do not wait for it.
UPDATE projects SET active_task_id = ?1
WHERE project_id = (SELECT project_id FROM projects WHERE project_id = ?2 FOR NO KEY UPDATE SKIP LOCKED)

-- name: turn
-- A whole turn at once: nothing of it happens unless the run is moved from the revision that was seen. It costs
-- little also where the planner does not know how many of each there are: else it would plan every turn anew. So what
-- few turns do is left out of the others: the parts below follow in their order, and `turn_end` is last.
WITH moved AS (
  UPDATE runs
  SET
    state = ?1, completed_at = ?2, duration_ms = ?3, current_step = ?4, updated_at = ?5, metadata = ?6,
    revision = ?7, record = ?8, chain = sha256(chain || CAST(?9 AS BYTEA)), active_at = ?5, waiting = ?10,
    oldest = ?11, digest = ?12
  WHERE
    execution_id = ?13 AND revision = ?14
    AND (SELECT version FROM handrail_schema) = CAST(?15 AS BIGINT)
  RETURNING k
), closed AS (
  UPDATE steps AS s
  SET status = c.status, completed_at = ?5, duration_ms = c.took, output = c.output, token = NULL
  FROM
    moved, unnest(CAST(?16 AS BIGINT[]), CAST(?17 AS TEXT[]), CAST(?18 AS BIGINT[]), CAST(?19 AS TEXT[]))
    AS c (number, status, took, output)
  WHERE s.run = moved.k AND s.number = c.number
), opened AS (
  INSERT INTO steps (run, number, step_name, agent_name, status, started_at, token)
  SELECT moved.k, o.number, o.state, o.agent, 'running', ?5, o.token
  FROM
    moved, unnest(CAST(?20 AS BIGINT[]), CAST(?21 AS TEXT[]), CAST(?22 AS TEXT[]), CAST(?23 AS TEXT[]))
    AS o (number, state, agent, token)
), entered AS (
  INSERT INTO events (run, event_type, revision, step_name, agent_name, metadata, created_at)
  SELECT moved.k, e.kind, ?7, e.step, e.agent, e.metadata, ?5
  FROM
    moved, unnest(CAST(?35 AS TEXT[]), CAST(?36 AS TEXT[]), CAST(?37 AS TEXT[]), CAST(?38 AS TEXT[]))
    WITH ORDINALITY AS e (kind, step, agent, metadata, place)
  ORDER BY e.place
), answered AS (
  INSERT INTO replies (run, revision, token, request, reply)
  SELECT moved.k, ?14, ?39, ?40, ?41 FROM moved
)

-- name: turn_renews
, renewed AS (
  UPDATE steps AS s SET token = t.token
  FROM moved, unnest(CAST(?24 AS BIGINT[]), CAST(?25 AS TEXT[])) AS t (number, token)
  WHERE s.run = moved.k AND s.number = t.number
)

-- name: turn_makes
, made AS (
  INSERT INTO artifacts (
    run, number, artifact_id, step_name, agent_name, artifact_type, title, description, is_final, created_at, content)
  SELECT
    moved.k, b.last + a.place, a.id, a.step, a.agent, a.type, a.title, a.description, ?34, ?5, a.content
  FROM
    moved, LATERAL (SELECT coalesce(max(number), 0) AS last FROM artifacts WHERE run = moved.k) AS b, unnest(
      CAST(?26 AS TEXT[]), CAST(?27 AS TEXT[]), CAST(?28 AS TEXT[]), CAST(?29 AS TEXT[]), CAST(?30 AS TEXT[]),
      CAST(?31 AS TEXT[]), CAST(?32 AS TEXT[]))
    WITH ORDINALITY AS a (id, step, agent, type, title, description, content, place)
)

-- name: turn_forgets
, forgotten AS (
  DELETE FROM replies AS p USING moved WHERE p.run = moved.k AND p.revision <= ?33
)

-- name: turn_ends
, finalised AS (
  UPDATE artifacts AS a SET is_final = ?34 FROM moved WHERE a.run = moved.k
), left_active AS (
  UPDATE projects SET active_task_id = NULL FROM moved WHERE active_task_id = ?13
)

-- name: turn_end
-- How a turn ends, the last one too; what `check` says of who listens holds here as well.
SELECT k, NOT pg_try_advisory_xact_lock_shared(1213353011, 0) FROM moved

-- name: version
SELECT version FROM handrail_schema

-- name: check
-- The schema, and whether anybody listens: then one of them holds this lock alone. Whoever writes shares it with all
-- who do, until the end of the transaction: who comes to hold it sees whatever was committed without a notification.
SELECT version, NOT pg_try_advisory_xact_lock_shared(1213353011, 0) FROM handrail_schema

-- name: listen
LISTEN handrail

-- name: notify
NOTIFY handrail

-- name: lead
-- Whether this session holds the lock for all who listen from now on. Who it is, another lock decides, which nobody
-- waits for; so this one is waited for until those have committed who share it, and not until another leads no more.
SELECT pg_try_advisory_lock(1213353011, 1) AND pg_advisory_lock(1213353011, 0) IS NOT NULL

-- name: leave
-- Have another one lead: the locks are free at once, and with the end of the statement all others know.
SELECT pg_advisory_unlock_all(), pg_notify('handrail', 'leave')
