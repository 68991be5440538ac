"""Page Store: the origin of every number of a store."""
