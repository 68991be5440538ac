"""What every head does, in numbers: over the corpus or a part of it."""
