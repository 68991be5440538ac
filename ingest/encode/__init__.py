"""Tensors of tokens: the model, its queries, keys and statistics, and its vectors at the feature points."""
