-- name: give
INSERT INTO access_tokens (id, digest, principal, scopes, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?)

-- name: tokens
SELECT id, principal, scopes, created_at, expires_at, revoked_at, used_at
FROM access_tokens ORDER BY created_at, id

-- name: shown
SELECT id, principal, scopes, created_at, expires_at, revoked_at, used_at
FROM access_tokens WHERE digest = ?

-- name: use
UPDATE access_tokens SET used_at = ? WHERE id = ?

-- name: revoke
UPDATE access_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL
