"""Plan documents: a goal, its limits and its tasks as text, in two dialects; pure functions over text."""
