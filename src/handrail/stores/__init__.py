"""Stores of runs: project files, commit descriptions, SQL databases, and memory."""
