"""Headscape's ingest: runs a BERT over the sentences of a corpus and writes the store.

Stages, in order: `sentences` (reviews -> sentences -> tokens), `tensors` (tokens -> queries, keys, statistics),
`normalizations`, `projections` (queries and keys -> pictures; the first here, the others after `intervals`), `pairs`,
`divergence`, `intervals`, `features` (vectors at the feature points, and their pictures), `importance` (where it is
asked for). Each is resumable and ends in a commit. Readers see a new model as soon as it has its first picture, then
picture by picture; a model they have seen before changes for them at the end.
"""
