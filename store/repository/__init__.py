"""The icechunk repository behind a store: its place, history, files and lock."""
