"""The MCP server: transports, resources, subscriptions, and the modes that agents use."""
