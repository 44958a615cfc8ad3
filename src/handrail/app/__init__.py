"""What the MCP server, the dashboard and the commands share: application, settings, views, actions."""
