-- What was finished, over all runs and by project. Only the turn that completes a run writes to these.

CREATE INDEX artifacts_final ON artifacts (created_at) WHERE is_final = 1;
CREATE INDEX runs_completed ON runs (project_id, completed_at) WHERE state = 'completed';
