"""Adapters of the model port. Importing them must never import a client library."""
