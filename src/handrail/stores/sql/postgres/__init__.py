"""The SQL store on PostgreSQL."""
