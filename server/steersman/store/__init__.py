"""The log in SQLite: one folder a session, one writer, one hash chain. Nobody else knows SQL."""
