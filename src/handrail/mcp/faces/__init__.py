"""The faces for agents: the tools, prompts and replies of each mode."""
