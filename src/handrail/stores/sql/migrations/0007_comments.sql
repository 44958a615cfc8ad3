-- What people write to a run, and that its agent was told: two more words for what an entry tells. They change no row
-- that is there, so only the text of the table is changed, as SQLite's manual has it ("Making Other Kinds Of Table
-- Schema Changes"): entries may be many millions.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, '''state_repaired''', '''state_repaired'', ''comment_written'', ''comment_told''')
WHERE type = 'table' AND name = 'events';
PRAGMA writable_schema = RESET;

-- Whether there is any for a run is asked with every turn.
CREATE INDEX events_remarks ON events (run) WHERE event_type IN ('comment_written', 'comment_told');
