-- name: give
INSERT INTO access_tokens (id, digest, principal, scopes, projects, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: tokens
SELECT id, principal, scopes, projects, created_at, expires_at, revoked_at, used_at
FROM access_tokens ORDER BY created_at, id

-- name: shown
SELECT id, principal, scopes, projects, created_at, expires_at, revoked_at, used_at
FROM access_tokens WHERE digest = ?

-- name: use
UPDATE access_tokens SET used_at = ? WHERE id = ?

-- name: revoke
UPDATE access_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL

-- name: register
INSERT INTO registered (name, root, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING

-- name: registered
SELECT name, root, created_at FROM registered ORDER BY name

-- name: unregister
DELETE FROM registered WHERE name = ?
