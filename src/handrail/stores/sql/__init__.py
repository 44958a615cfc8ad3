"""Runs in a database: SQLite here; the SQL stands in files beside the code."""
