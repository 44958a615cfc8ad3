"""The decision: pure, no I/O, no clock."""
