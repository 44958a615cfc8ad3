"""The face that agents talk to: MCP, on the official SDK."""
