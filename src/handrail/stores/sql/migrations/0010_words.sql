-- SQLite makes a table of a list that it looks into with IN, and anew for each row that is written: of the six rows of
-- a turn that have such a list, a third of the time. So the words are compared one by one, those first that most rows
-- have. They are the same words, and no row that is there changes: only the texts of the tables do, as in 0007.

PRAGMA writable_schema = ON;

UPDATE sqlite_schema
SET sql = 'CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  event_type TEXT NOT NULL CHECK (
    event_type = ''token_generated'' OR event_type = ''token_validated'' OR event_type = ''step_started''
    OR event_type = ''step_completed'' OR event_type = ''artifact_stored'' OR event_type = ''error_occurred''
    OR event_type = ''workflow_state_transition'' OR event_type = ''step_stayed''
    OR event_type = ''step_waiting'' OR event_type = ''step_failed'' OR event_type = ''workflow_created''
    OR event_type = ''token_expired'' OR event_type = ''comment_written'' OR event_type = ''comment_told''
    OR event_type = ''workflow_abandoned'' OR event_type = ''step_overridden'' OR event_type = ''state_adopted''
    OR event_type = ''state_repaired''),
  run INTEGER REFERENCES runs (k),
  revision INTEGER NOT NULL CHECK (revision >= 0),
  step_name TEXT,
  agent_name TEXT,
  metadata TEXT NOT NULL,
  created_at TEXT NOT NULL
)'
WHERE type = 'table' AND name = 'events';

UPDATE sqlite_schema
SET sql = replace(
  sql, 'status IN (''pending'', ''running'', ''completed'', ''failed'')',
  'status = ''running'' OR status = ''completed'' OR status = ''failed'' OR status = ''pending''')
WHERE type = 'table' AND name = 'steps';

PRAGMA writable_schema = RESET;
