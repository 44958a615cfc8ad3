"""Protocols for everything the runtime uses but does not own: stores, files, version control, the clock."""
