"""The canvas of points: what it draws (`spec`), as bytes, as an image and as a Dash component."""
