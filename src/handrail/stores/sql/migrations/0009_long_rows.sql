-- Artifacts and replies are long. In a table that is one with its key, SQLite reads the whole of each row that it
-- passes on its way to another; so the key of these stands apart, and their rows lie in the order they came in.

DROP VIEW workflow_artifacts;

CREATE TABLE long_artifacts (
  run INTEGER NOT NULL REFERENCES runs (k),
  number INTEGER NOT NULL CHECK (number > 0),
  artifact_id TEXT NOT NULL,
  step_name TEXT NOT NULL,
  agent_name TEXT NOT NULL,
  artifact_type TEXT NOT NULL,
  title TEXT NOT NULL,
  description TEXT,
  is_final INTEGER NOT NULL DEFAULT 0 CHECK (is_final IN (0, 1)),
  created_at TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (run, number)
);

INSERT INTO long_artifacts (
  run, number, artifact_id, step_name, agent_name, artifact_type, title, description, is_final, created_at, content)
SELECT
  run, number, artifact_id, step_name, agent_name, artifact_type, title, description, is_final, created_at, content
FROM artifacts;

DROP TABLE artifacts;
ALTER TABLE long_artifacts RENAME TO artifacts;
CREATE INDEX artifacts_by_time ON artifacts (created_at, artifact_type, run, number);
CREATE INDEX artifacts_final ON artifacts (created_at, run, number) WHERE is_final = 1;

CREATE TABLE long_replies (
  run INTEGER NOT NULL REFERENCES runs (k),
  revision INTEGER NOT NULL,
  token TEXT NOT NULL,
  request TEXT NOT NULL,
  reply BLOB NOT NULL,
  PRIMARY KEY (run, revision)
);

INSERT INTO long_replies (run, revision, token, request, reply)
SELECT run, revision, token, request, reply FROM replies;

DROP TABLE replies;
ALTER TABLE long_replies RENAME TO replies;

CREATE VIEW workflow_artifacts AS
SELECT
  a.artifact_id, r.execution_id, a.step_name, a.agent_name, a.artifact_type, a.title, a.content, a.description,
  a.is_final, a.created_at, a.number
FROM artifacts AS a LEFT JOIN runs AS r ON r.k = a.run;
