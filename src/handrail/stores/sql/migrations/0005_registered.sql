-- The projects that are served over HTTP, by name; and for which of them a token is good: all where it is NULL.

CREATE TABLE registered (
  name TEXT PRIMARY KEY,
  root TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL
) WITHOUT ROWID;

ALTER TABLE access_tokens ADD COLUMN projects TEXT CHECK (projects IS NULL OR json_valid(projects));

-- Whether a run is of a project is asked of this narrow copy; only the turn that begins a run writes to it.
CREATE INDEX runs_by_project ON runs (project_id);
