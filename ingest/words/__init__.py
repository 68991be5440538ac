"""Words of a corpus: their grammar, the wordpieces they cover, and which word each attends to most."""
