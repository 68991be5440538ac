"""One sentence: what its model sees, and what is shown of it."""
