"""Stage `features`: the vectors of a sample of tokens, and of whole reviews, at every feature point of a model."""
