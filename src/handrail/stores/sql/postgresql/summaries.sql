-- One process at a time moves the mark: it holds its row.

-- name: mark
SELECT event FROM folded FOR UPDATE

-- name: mark_if_free
SELECT event FROM folded FOR UPDATE SKIP LOCKED

-- name: errors
SELECT code, entries
FROM (
  SELECT coalesce(CAST(metadata AS JSON) ->> 'error_type', '') COLLATE "C" AS code, count(*) AS entries
  FROM events
  WHERE event_type = 'error_occurred' AND created_at >= ?
  GROUP BY CAST(metadata AS JSON) ->> 'error_type') AS counted
ORDER BY entries DESC, code
