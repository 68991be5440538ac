"""Words of a corpus: their grammar, the wordpieces they cover, and the word that each attends to most."""
