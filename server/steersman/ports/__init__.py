"""What the core needs from outside: small Protocols, each with its test double beside it."""
