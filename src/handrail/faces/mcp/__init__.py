"""The MCP face: one tool and seven resources, for agents."""
