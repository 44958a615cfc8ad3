"""AI clients: edit their settings files, answer their hooks, and probe the servers they start."""
