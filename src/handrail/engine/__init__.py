"""Decide what an event does to a run, and check that a workflow is sound. Pure: no I/O."""
