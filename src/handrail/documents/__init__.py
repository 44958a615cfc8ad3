"""The texts that Handrail reads and edits besides workflows and plans: pure functions over text."""
