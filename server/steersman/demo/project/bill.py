"""Splitting a bill among people: amounts are cents."""


def shares(total: int, people: int) -> list[int]:
    """What each person pays, as equal as can be: where it does not come out even, the first pay a cent more."""
    if people < 1:
        raise ValueError("a bill needs at least one person")
    share = total // people
    return [share] * people


def receipt(total: int, names: list[str]) -> str:
    """One line a person, with the amount in the currency's main unit."""
    lines = [f"{name}: {share / 100:.2f}" for name, share in zip(names, shares(total, len(names)), strict=True)]
    return "\n".join(lines)
