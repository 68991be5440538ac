"""Queries and keys as points: all heads in one picture, one head in a large one."""
