"""The same tokens at every point of a model: which panels there are, how tokens are coloured, what of them is selected."""
