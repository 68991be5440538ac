"""The icechunk repository behind a store: where it is, its history, its files, and who may write it."""
