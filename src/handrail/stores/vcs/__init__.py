"""Store a run in the description of a jj or git commit."""
