"""The wordpieces of a material, made once."""

from dashboard.web.cache import cached
from store.features import Features


@cached
def pieces_of(features: Features) -> list[str]:
    """Of every token."""
    return features.wordpieces()
