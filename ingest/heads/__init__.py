"""Measurements of heads: pairs of tokens, divergence, intervals, importance."""
