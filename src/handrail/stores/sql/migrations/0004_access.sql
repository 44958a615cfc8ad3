-- Who may come in over HTTP. Of a secret only its hash is kept.

CREATE TABLE access_tokens (
  id TEXT PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  principal TEXT NOT NULL,
  scopes TEXT NOT NULL CHECK (json_valid(scopes)),
  created_at TEXT NOT NULL,
  expires_at TEXT,
  revoked_at TEXT,
  used_at TEXT
) WITHOUT ROWID;
