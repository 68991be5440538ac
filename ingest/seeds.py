"""Seeds of 64 bits for libraries that take 32."""


def seed32(seed: int) -> int:
    """A seed as scikit-learn and UMAP take it, 0 to 2^32 - 1; one that is within stays."""
    return seed % (1 << 32)
