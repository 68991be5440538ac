"""A head as a data set of `datasets`: a row is a sentence with its label, its tokens and the attention weights between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dashboard.exchange.terms import Terms
from store import Corpus, StoreError
from store.headvis import read_rows_of_patterns
from store.schema.model import head_name

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset, Features

#: Bytes of weights and vectors at most, which are held in memory.
MOST_BYTES = 1 << 30
_COLUMNS = {
    "sentence": "number of the sentence in the store",
    "label": "label of its review, -1 for none",
    "text": "the sentence",
    "tokens": "its wordpieces",
    "token_ids": "their numbers in the vocabulary",
    "attention": "attention weight by query, then key; each row sums to 1",
    "keys": "positions of the keys with most attention by query, largest first",
    "weights": "attention weights of these",
    "query": "query vector of each token, before 1/sqrt(channels)",
    "key": "key vector of each token",
}


@dataclass(frozen=True)
class HeadOfSentences:
    """What is exported: a head in the first sentences, all weights or those of the first `keys` keys, and vectors or none."""

    layer: int
    head: int
    sentences: int
    keys: int | None = None
    vectors: bool = False


def data_set(corpus: Corpus, of: HeadOfSentences, terms: Terms, told: Callable[[str, float], None]) -> "Dataset":
    """The data set; `told` is called with what is done now and the finished share.

    Raises
    ------
    StoreError
        Where it would not fit into memory.
    """
    import pyarrow as pa
    from datasets import Dataset, DatasetInfo
    from datasets.table import InMemoryTable

    _check_size(corpus, of)
    columns = _sentence_columns(corpus, of.sentences, text=terms.text) | _weights(corpus, of, told)
    if of.vectors:
        columns |= _vectors(corpus, of)
    info = DatasetInfo(
        description=_description(corpus, of, terms, list(columns)),
        license=f"Data: {terms.facts['data_licence']} Model: {terms.facts['model_licence']}",
        features=_features(corpus, list(columns)),
    )
    name = sha256(repr((of, terms)).encode()).hexdigest()[:16]
    return Dataset(InMemoryTable(pa.table(columns)), info=info, fingerprint=name)


def _check_size(corpus: Corpus, of: HeadOfSentences) -> None:
    lengths = corpus.sentences.row_size.values[: of.sentences].astype(np.int64)
    weights = lengths * (lengths if of.keys is None else 2 * np.minimum(lengths, of.keys))
    vectors = 2 * lengths * corpus.query.sizes["channel"] if of.vectors else 0
    size = int(np.sum(weights + vectors) * 4)
    if size > MOST_BYTES:
        fewer = "fewer --sentences" + (", or --keys=8" if of.keys is None else "")
        raise StoreError(
            f"The data set would take {size / 1e9:.1f} GB, more than {MOST_BYTES / 1e9:.1f}. Give {fewer}."
        )


def _sentence_columns(corpus: Corpus, count: int, *, text: bool) -> dict[str, "pa.Array"]:
    import pyarrow as pa

    sizes = corpus.sentences.row_size.values[:count]
    columns: dict[str, Any] = {"sentence": pa.array(np.arange(count, dtype=np.int32))}
    if corpus.label_names:
        columns["label"] = pa.array(corpus.sentences.label.values[:count].astype(np.int64))
    if text:
        rows = corpus.rows[: int(sizes.sum())]
        columns["text"] = pa.array([str(each) for each in corpus.sentences.text.values[:count]])
        columns["tokens"] = _lists(sizes, pa.array(corpus.wordpieces(rows)))
        columns["token_ids"] = _lists(sizes, pa.array(corpus.tokens.token_id.values[rows].astype(np.int32)))
    return columns


def _lists(sizes: Sequence[int] | NDArray[np.integer], values: "pa.Array") -> "pa.Array":
    """Values in lists of these sizes."""
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)), values)


def _rows(matrices: Sequence[NDArray[Any]]) -> "pa.Array":
    """A list of each row of matrices (row, column)."""
    import pyarrow as pa

    values = pa.array(np.concatenate([matrix.ravel() for matrix in matrices]))
    return _lists(np.repeat([matrix.shape[1] for matrix in matrices], [len(matrix) for matrix in matrices]), values)


def _weights(corpus: Corpus, of: HeadOfSentences, told: Callable[[str, float], None]) -> dict[str, "pa.Array"]:
    """The whole patterns, or of each query the keys with the largest weights: of long sentences no pattern is held whole."""
    keys: list[NDArray[Any]] = []
    found: list[NDArray[Any]] = []
    for sentence, _, (rows,) in read_rows_of_patterns(corpus, of.layer, range(of.sentences), head=of.head):
        if of.keys is not None:
            keys.append(np.argsort(-rows, axis=1, kind="stable")[:, : of.keys].astype(np.int32))
        found.append(rows if of.keys is None else np.take_along_axis(rows, keys[-1], axis=1))
        told(f"Attention of {head_name(of.layer, of.head)}", (sentence + 1) / of.sentences)
    sizes = corpus.sentences.row_size.values[: of.sentences]
    if of.keys is None:
        return {"attention": _lists(sizes, _rows(found))}
    return {"keys": _lists(sizes, _rows(keys)), "weights": _lists(sizes, _rows(found))}


def _vectors(corpus: Corpus, of: HeadOfSentences) -> dict[str, "pa.Array"]:
    sizes = corpus.sentences.row_size.values[: of.sentences]
    rows = corpus.rows[: int(sizes.sum())]
    of_head = {"query": corpus.query, "key": corpus.key}
    columns = {}
    for role, vectors in of_head.items():
        values = vectors.variable[of.layer, of.head, : int(rows[-1]) + 1].values[rows].astype(np.float32)
        columns[role] = _lists(sizes, _rows([values]))
    return columns


def _features(corpus: Corpus, columns: Sequence[str]) -> "Features":
    from datasets import ClassLabel, Features, List, Value

    numbers = List(List(Value("float32")))
    types = {
        "sentence": Value("int32"),
        "label": ClassLabel(names=list(corpus.label_names)) if corpus.label_names else None,
        "text": Value("string"),
        "tokens": List(Value("string")),
        "token_ids": List(Value("int32")),
        "keys": List(List(Value("int32"))),
    }
    return Features({name: types.get(name, numbers) for name in columns})


def _description(corpus: Corpus, of: HeadOfSentences, terms: Terms, columns: Sequence[str]) -> str:
    head = head_name(of.layer, of.head)
    return "\n".join(
        [
            f"What head {head} of {terms.model} attends to in the first {of.sentences:,} sentences of {terms.data}, a uniform sample.",
            f"Layers and heads count from 0. Snapshot {corpus.snapshot}, weights of the model {terms.facts['weights_sha256']}.",
            "Columns:",
            *(f"{name}: {_COLUMNS[name]}" for name in columns),
        ]
    )
