"""Store runs in SQL tables: SQLite or PostgreSQL."""
