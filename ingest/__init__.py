"""Headscape's ingest: runs a BERT over the sentences of a corpus and writes the store.

Stages, in order: `sentences` (reviews -> sentences -> tokens), `tensors` (tokens -> queries, keys, statistics),
`projections` (queries and keys -> pictures). Each is resumable and ends in a commit; readers see the whole at the end.
"""
