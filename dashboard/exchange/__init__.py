"""Heads as files of other tools: a tree of HeadVis, a data set of `datasets`."""
