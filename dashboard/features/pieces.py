"""The wordpieces of a material, made once."""

from dashboard.once import once
from store.features import Features


@once
def pieces_of(features: Features) -> list[str]:
    """Of every token."""
    return features.wordpieces()
