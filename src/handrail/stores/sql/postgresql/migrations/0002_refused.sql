-- What a run was last refused is told with every look at it, and a long run has many entries.
CREATE INDEX events_refused ON events (run, id) WHERE event_type = 'error_occurred';
