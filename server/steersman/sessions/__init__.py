"""One session's life: opening, recovery, the verbs that people use, and what clients are shown."""
