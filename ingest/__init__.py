"""Headscape's ingest: runs a BERT over the sentences of a corpus and writes the store.

The stages in order (`pipeline.py`), each resumable and ending in a commit:

- `sentences`: reviews -> sentences -> tokens (`text/`)
- `tensors`: tokens -> queries, keys, statistics (`encode/`)
- `normalizations`, `projections`: queries and keys -> pictures (`projections/`); the first picture here, the others last
- `pairs`, `divergence`, `intervals`: measurements of heads (`heads/`)
- `features`: vectors at the feature points (`encode/`), and their pictures (`projections/`)
- `importance`: the loss without each head, where IMPORTANCE is set (`heads/`)

Readers see a new model as soon as it has its first picture, then picture by picture; a model they have seen before
changes for them at the end.
"""
