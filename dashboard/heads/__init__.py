"""What heads do, counted: over the whole corpus or a part of it."""
