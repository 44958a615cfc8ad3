-- Which entries were brought over is decided while nobody else brings any.

-- name: projected_alone
SELECT k, projected, chain, revision FROM runs WHERE execution_id = ? FOR NO KEY UPDATE

-- name: forget_mark
INSERT INTO events (event_type, revision, metadata, created_at)
SELECT 'state_repaired', 0, CAST(json_build_object('rebuilt', execution_id) AS TEXT), updated_at
FROM runs WHERE k = ?
