"""Figures of what heads do, one a file: numbers in, a plotly figure out. Colours are those for white; charts.css turns them."""
