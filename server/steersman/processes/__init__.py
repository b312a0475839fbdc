"""Processes of the server's own: under a guardian, with an end; test runs and their receipts."""
