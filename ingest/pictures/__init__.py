"""Stages: normalisations, and the pictures that are made of them."""
