"""When to stop: small pure policies, each a function of the folded state, asked after every step."""
