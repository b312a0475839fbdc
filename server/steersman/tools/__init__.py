"""The hands, and their limits: one file a tool family; every action verified by the tool itself."""
