"""How many of what, in words."""


def many(count: int, noun: str) -> str:
    """`1 token`, `1,200 tokens`."""
    return f"{count:,} {noun if count == 1 else f'{noun}s'}"
