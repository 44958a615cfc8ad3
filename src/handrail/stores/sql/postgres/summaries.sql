-- One process at a time moves the mark: it holds its row.

-- name: mark
SELECT event FROM folded FOR UPDATE

-- name: mark_if_free
SELECT event FROM folded FOR UPDATE SKIP LOCKED
