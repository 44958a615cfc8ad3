"""The ASGI application: authentication, limits, metrics."""
