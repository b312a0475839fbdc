"""The commands on stored sessions. They work beside a running server; only what writes takes a session."""
