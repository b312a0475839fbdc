"""A real LSP client without a screen: for the command line, the demo, and tests that need an editor."""
