"""What is measured of heads: pairs of tokens, divergence, intervals, importance."""
