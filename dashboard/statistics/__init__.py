"""Page Statistics: numbers of every head over the corpus or a part of it."""
