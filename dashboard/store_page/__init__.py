"""Where every number of a store comes from."""
