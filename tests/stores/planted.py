"""What can be done to the rows of a store, whichever database has them, and the one damage that it is."""

PLANTED = [
    ("reference", "INSERT INTO steps VALUES (99, 1, 'a', 'b', 'completed', NULL, NULL, NULL, NULL, NULL)"),
    ("revision", "UPDATE runs SET revision = revision + 1 WHERE goal = 'To be running'"),
    ("chain", "UPDATE events SET metadata = '{}' WHERE run = 1 AND event_type = 'workflow_created'"),
    ("chain", "UPDATE events SET created_at = '2026-01-31 09:00:00.000' WHERE run = 1 AND id = 2"),
    ("chain", "DELETE FROM events WHERE id = 2"),
    ("record", "UPDATE runs SET record = '{\"id\": 1}' WHERE goal = 'To be running'"),
    ("record", "UPDATE runs SET record = '' WHERE goal = 'To be running'"),
    ("columns", "UPDATE runs SET state = 'paused' WHERE goal = 'To be running'"),
    ("columns", "UPDATE runs SET current_step = 'prove' WHERE goal = 'To be running'"),
    ("columns", "UPDATE runs SET waiting = 1 WHERE goal = 'To be running'"),
    ("columns", "UPDATE runs SET workflow_name = 'gate' WHERE goal = 'To be running'"),
    ("columns", "UPDATE runs SET execution_id = 'x' WHERE goal = 'To be running'"),
    (
        "columns",
        "UPDATE runs SET digest = (SELECT digest FROM runs WHERE goal = 'To be waiting') WHERE k = 1",
    ),
    ("definition", "DELETE FROM definitions WHERE workflow_name = 'gate'"),
    ("steps", "UPDATE steps SET status = 'completed' WHERE run = 1 AND number = 3"),
    ("steps", "UPDATE steps SET status = 'running' WHERE run = 1 AND number = 1"),
    ("steps", "DELETE FROM steps WHERE run = 1 AND number = 3"),
    ("artifacts", "DELETE FROM artifacts WHERE run = 1 AND number = 1"),
]
