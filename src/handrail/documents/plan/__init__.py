"""Plan documents: parse, validate, edit, convert and write the plan in a commit message."""
