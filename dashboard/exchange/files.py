"""Heads as files of other tools: a model of a store as a tree of HeadVis, which its pages show and the loaders of Neuronpedia read, and a head
as a data set of `datasets`.

A head's file in a tree has sampled sentences with their strongest weights, and sums of these. As in HeadVis, the sample has some
sentences from each interval of the head's largest weight. A row of a data set is a sentence with its label, its tokens and the attention
weights between them.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.published.folder import SiteFolder
from dashboard.published.provenance import Terms
from store import Corpus, StoreError
from store.headvis import layer_attention, read_rows_of_patterns
from store.kernels.headvis import DIGITS, INDUCED, KEPT_KEYS, KEPT_WEIGHT, METRICS, StrongestKeys, strongest_keys
from store.schema.model import head_name

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset, Features

#: Share of the work that goes into the metrics; the rest is to read the sampled sentences again.
FIRST_READING = 0.75
#: Titles of a head's histograms and tables in HeadVis, by their keys in the head's file.
PLOTS = {"qk_distance_histogram": "Distance of query and key, by weight", "histogram": "Largest weight of a sentence"}
TABLES = {"top_query_tokens": "Tokens that attend most", "top_key_tokens": "Tokens attended to most"}
STATISTICS = {"n_samples": "Sampled sentences", "mean_max_activation": "Mean largest weight"}
Told = Callable[[str, float], None]
#: Bins of the largest weight of a sentence, 0 to 1; ends of the bins of distances; tokens listed as query and as key.
BINS = 50
DISTANCES = (0, *(1 << power for power in range(13)))
LISTED = 50
#: A sentence by its number -> its strongest weights in a head.
Strongest = Mapping[int, StrongestKeys]
#: Intervals with equal numbers of sentences, the largest weights last; sampled sentences of each, and of the last.
INTERVALS, OF_EACH, OF_LAST = 5, 3, 10
#: Most tokens of a sampled sentence: a head's file stays near 1 MB.
LONGEST = 512
#: Most bytes of weights and vectors, which are held in memory.
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


def write_tree(corpus: Corpus, folder: SiteFolder, sentences: int, terms: Terms, told: Told) -> None:
    """Write the tree of the first sentences of a corpus; `told` is called with the current step and the finished share."""
    metrics = np.zeros((len(METRICS), corpus.layers, corpus.heads))
    for layer in range(corpus.layers):

        def tell(share: float, layer: int = layer) -> None:
            told(f"Layer {layer} of {corpus.layers}", (layer + FIRST_READING * share) / corpus.layers)

        attention = layer_attention(corpus, layer, sentences, tell)
        metrics[:, layer] = attention.metrics
        for head, content in enumerate(head_files(corpus, layer, attention.largest, seed=0, text=terms.text)):
            folder.write(f"heads/L{layer}H{head}.json", _json(content))
    told("Tree of HeadVis", 1)
    folder.write("scatter_data.json", _json(_rows(metrics)))
    folder.write("config.json", json.dumps(_config(corpus, sentences, terms), indent=2, ensure_ascii=False) + "\n")
    for name in ("server_config.json", "attributions/manifest.json"):
        folder.write(name, "{}\n")


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _rows(metrics: np.ndarray) -> list[dict[str, Any]]:
    """Metrics as a row for each head; null where no query counts."""
    _, layers, heads = metrics.shape
    rounded = np.round(metrics, DIGITS)
    return [
        {"layer": layer, "head": head}
        | {
            name: None if np.isnan(value) else float(value)
            for name, value in zip(METRICS, rounded[:, layer, head], strict=True)
        }
        for layer, head in np.ndindex(layers, heads)
    ]


def _config(corpus: Corpus, sentences: int, terms: Terms) -> dict[str, Any]:
    return {
        "model_name": terms.model,
        "dataset_name": terms.data,
        "heads": [list(head) for head in np.ndindex(corpus.layers, corpus.heads)],
        "n_layers": corpus.layers,
        "n_heads": corpus.heads,
        "n_intervals": INTERVALS,
        "metrics": list(METRICS),
        "metric_descriptions": dict(METRICS),
        "head_data_pattern": "L{layer}H{head}.json",
        "has_umap": False,
        "umap_heads": [],
        "custom_plots": _titled(PLOTS),
        "custom_tables": _titled(TABLES if terms.text else {}),
        "statistics_display": {name: {"label": label, "format": "default"} for name, label in STATISTICS.items()},
        "pipeline_config": _pipeline(corpus, sentences, terms),
    }


def _titled(labels: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "label": label} for key, label in labels.items()]


def _pipeline(corpus: Corpus, sentences: int, terms: Terms) -> dict[str, Any]:
    """How the numbers were made: first the names that Neuronpedia's loaders need, then names of our own."""
    made, text = corpus.attributes["provenance"], corpus.corpus_attributes
    return {
        "model_name": terms.model,
        "revision": made.get("revision"),
        "dataset_name": terms.data,
        "dataset_split": made["data"].get("split"),
        "dataset_text_field": text.get("text_column"),
        "n_sequences": sentences,
        "actual_sequences_processed": sentences,
        "seq_len": int(text["max_length"]),
        "dtype": str(corpus.attributes["dtype"]),
        "attn_implementation": "headscape",
        "induction_attention_threshold": INDUCED,
        "n_intervals": INTERVALS,
        "samples_per_interval": OF_EACH,
        "samples_per_top_interval": OF_LAST,
        "sparse_topk_per_row": KEPT_KEYS,
        "sparse_threshold": KEPT_WEIGHT,
        "sample_seed": 0,
        "warmup_size": 0,
        "num_hidden_layers": corpus.layers,
        "num_attention_heads": corpus.heads,
        "created_at": datetime.now(UTC).isoformat(),
        "attention": "causal" if corpus.masks[0].causal else "bidirectional",
        "weights_from": "queries and keys stored in float16",
        "longest_sampled": LONGEST,
        "made_by": f"headscape {version('headscape')}",
        **terms.facts,
    }


def head_files(
    corpus: Corpus, layer: int, largest: NDArray[np.floating], *, seed: int, text: bool
) -> list[dict[str, Any]]:
    """The files of the heads of a layer: `largest` is the largest weight in each sentence (head, sentence).

    Without `text` the sentences and the tables of tokens are left out.
    """
    lengths = corpus.sentences.row_size.values[: largest.shape[1]]
    samples = [sampled_sentences(of_head, lengths, seed) for of_head in largest]
    strongest = _read_strongest(corpus, layer, samples)
    return [
        _head_file(
            [_sequence(corpus, each, of_head, found[each.sentence]) for each in sample],
            of_head[lengths > 1],
            text=text,
        )
        for sample, of_head, found in zip(samples, largest, strongest, strict=True)
    ]


class SampledSentence(NamedTuple):
    """A sentence of the sample, and its interval, from 1."""

    sentence: int
    interval: int


def _read_strongest(corpus: Corpus, layer: int, samples: Sequence[Sequence[SampledSentence]]) -> list[Strongest]:
    """Strongest weights of each head in the sentences of its sample."""
    heads = [{each.sentence for each in sample} for sample in samples]
    parts: list[dict[int, list[StrongestKeys]]] = [{} for _ in heads]
    for sentence, first, weights in read_rows_of_patterns(corpus, layer, sorted(set().union(*heads))):
        for head in (head for head, sentences in enumerate(heads) if sentence in sentences):
            found = strongest_keys(weights[head])
            parts[head].setdefault(sentence, []).append(found._replace(query=found.query + first))
    return [
        {sentence: StrongestKeys(*map(np.concatenate, zip(*found, strict=True))) for sentence, found in of_head.items()}
        for of_head in parts
    ]


def _sequence(
    corpus: Corpus, sampled: SampledSentence, largest: NDArray[np.floating], strongest: StrongestKeys
) -> dict[str, Any]:
    pieces = corpus.sentence_pieces(sampled.sentence)
    return {
        "sequence_id": sampled.sentence,
        "interval": sampled.interval,
        "tokens": [piece.name if piece.special else piece.spaced for piece in pieces],
        "attention_indices": (strongest.query * len(pieces) + strongest.key).tolist(),
        "attention_values": strongest.weight.tolist(),
        "seq_len": len(pieces),
        "max_activation": round(float(largest[sampled.sentence]), DIGITS),
    }


def _head_file(sequences: Sequence[Mapping[str, Any]], largest: NDArray[np.floating], *, text: bool) -> dict[str, Any]:
    bins = np.minimum((largest * BINS).astype(int), BINS - 1)
    tables = {f"top_{side}_tokens": _tokens(sequences, side) if text else [] for side in ("query", "key")}
    mean = round(float(largest.mean()), DIGITS) if len(largest) else None
    return {
        "sequences": list(sequences) if text else [],
        "qk_distance_histogram": _distances(sequences),
        **tables,
        "histogram": {
            "bin_edges": np.round(np.linspace(0, 1, BINS + 1), DIGITS).tolist(),
            "bin_values": np.bincount(bins, minlength=BINS).tolist(),
        },
        "statistics": {"n_samples": len(sequences), "mean_max_activation": mean},
    }


def _positions(sequence: Mapping[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Queries, keys and weights of a sampled sentence."""
    query, key = np.divmod(np.array(sequence["attention_indices"], np.int64), sequence["seq_len"])
    return query, key, np.array(sequence["attention_values"], np.float64)


def _distances(sequences: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sums = np.zeros(len(DISTANCES) - 1)
    for query, key, weight in map(_positions, sequences):
        place = np.searchsorted(DISTANCES, abs(query - key), side="right") - 1
        sums += np.bincount(place, weight, len(DISTANCES))[:-1]
    return {"bin_edges": list(DISTANCES), "bin_values": np.round(sums, DIGITS).tolist()}


def _tokens(sequences: Sequence[Mapping[str, Any]], side: str) -> list[dict[str, Any]]:
    """The tokens with the largest sums of weights as queries, or as keys."""
    sums: Counter[str] = Counter()
    for sequence in sequences:
        query, key, weight = _positions(sequence)
        of_token = np.bincount(query if side == "query" else key, weight, sequence["seq_len"])
        for token, total in zip(sequence["tokens"], of_token.tolist(), strict=True):
            if total:
                sums[token] += total
    return [{"token": token, "weight": round(total, DIGITS)} for token, total in sums.most_common(LISTED)]


def sampled_sentences(
    largest: NDArray[np.floating], lengths: NDArray[np.integer], seed: int = 0
) -> list[SampledSentence]:
    """The sample of a head, interval by interval.

    Parameters
    ----------
    largest
        Largest weight of the head in each sentence: (sentence,).
    lengths
        Tokens of each sentence: (sentence,). Sentences of fewer than 2 count nowhere, those of more than `LONGEST` are not sampled.
    seed
        Seed of the draw from each interval; from the last one the sentences with the largest weights are taken.
    """
    counted = np.flatnonzero(lengths > 1)
    interval = np.searchsorted(_boundaries(np.sort(largest[counted])), largest, side="right")
    draw = np.random.default_rng(seed)
    sampled = []
    for number in range(INTERVALS):
        own = counted[(interval[counted] == number) & (lengths[counted] <= LONGEST)]
        if number == INTERVALS - 1:
            taken = own[np.argsort(-largest[own], kind="stable")[:OF_LAST]]
        else:
            taken = np.sort(draw.choice(own, min(OF_EACH, len(own)), replace=False))
        sampled += [SampledSentence(int(sentence), number + 1) for sentence in taken]
    return sampled


def _boundaries(ascending: NDArray[np.floating]) -> NDArray[np.floating]:
    count = len(ascending)
    places = np.rint(np.arange(1, INTERVALS) * count / INTERVALS).astype(int)
    return ascending[np.minimum(places, count - 1)] if count else np.zeros(INTERVALS - 1)


@dataclass(frozen=True)
class HeadOfSentences:
    """What is exported: a head in the first sentences, all weights or the `keys` largest of each query, and vectors or none."""

    layer: int
    head: int
    sentences: int
    keys: int | None = None
    vectors: bool = False


def data_set(corpus: Corpus, of: HeadOfSentences, terms: Terms, told: Callable[[str, float], None]) -> "Dataset":
    """The data set; `told` is called with the current step and the finished share.

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


def _matrix_rows(matrices: Sequence[NDArray[Any]]) -> "pa.Array":
    """Each row of matrices (row, column) as a list."""
    import pyarrow as pa

    values = pa.array(np.concatenate([matrix.ravel() for matrix in matrices]))
    return _lists(np.repeat([matrix.shape[1] for matrix in matrices], [len(matrix) for matrix in matrices]), values)


def _weights(corpus: Corpus, of: HeadOfSentences, told: Callable[[str, float], None]) -> dict[str, "pa.Array"]:
    """Whole patterns, or the keys with the largest weights of each query: no pattern of a long sentence is then held whole."""
    keys: list[NDArray[Any]] = []
    found: list[NDArray[Any]] = []
    for sentence, _, (rows,) in read_rows_of_patterns(corpus, of.layer, range(of.sentences), head=of.head):
        if of.keys is not None:
            keys.append(np.argsort(-rows, axis=1, kind="stable")[:, : of.keys].astype(np.int32))
        found.append(rows if of.keys is None else np.take_along_axis(rows, keys[-1], axis=1))
        told(f"Attention of {head_name(of.layer, of.head)}", (sentence + 1) / of.sentences)
    sizes = corpus.sentences.row_size.values[: of.sentences]
    if of.keys is None:
        return {"attention": _lists(sizes, _matrix_rows(found))}
    return {"keys": _lists(sizes, _matrix_rows(keys)), "weights": _lists(sizes, _matrix_rows(found))}


def _vectors(corpus: Corpus, of: HeadOfSentences) -> dict[str, "pa.Array"]:
    sizes = corpus.sentences.row_size.values[: of.sentences]
    rows = corpus.rows[: int(sizes.sum())]
    of_head = {"query": corpus.query, "key": corpus.key}
    columns = {}
    for role, vectors in of_head.items():
        values = vectors.variable[of.layer, of.head, : int(rows[-1]) + 1].values[rows].astype(np.float32)
        columns[role] = _lists(sizes, _matrix_rows([values]))
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
