"""Normalisations, and the pictures of heads and of feature points."""
