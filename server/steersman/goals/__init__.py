"""The steering wheel: what proves that work is done."""
