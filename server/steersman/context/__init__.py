"""What the model sees: a pure function of the folded log."""
