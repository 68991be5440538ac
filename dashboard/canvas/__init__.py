"""The canvas of points: what it is asked to draw, as bytes and as a component."""
