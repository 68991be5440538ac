"""The picture of points: what is drawn, how it is coloured, what of it is selected."""
