"""Workflows as data: text in, a workflow or its problems out. Pure."""
