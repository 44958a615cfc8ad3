"""Ways in and out: translation only."""
