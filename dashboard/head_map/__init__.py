"""Heads near each other where they attend alike."""
