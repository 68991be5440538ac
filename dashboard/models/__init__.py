"""All models of a store: their heads in one chart."""
