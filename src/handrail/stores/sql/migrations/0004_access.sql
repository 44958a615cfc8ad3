-- Who may come in over HTTP, and what the projects of a server are called. Of a secret only its hash is kept.

CREATE TABLE registrations (
  name TEXT PRIMARY KEY,
  project_id TEXT NOT NULL UNIQUE REFERENCES projects (project_id)
) WITHOUT ROWID;

CREATE TABLE access_tokens (
  id TEXT PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  principal TEXT NOT NULL,
  scopes TEXT NOT NULL CHECK (json_valid(scopes)),
  projects TEXT CHECK (projects IS NULL OR json_valid(projects)),
  created_at TEXT NOT NULL,
  expires_at TEXT,
  revoked_at TEXT,
  used_at TEXT
) WITHOUT ROWID;
