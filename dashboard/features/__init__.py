"""Tokens at every feature point of a model: the panels, the colours of the tokens, and the selected tokens."""
