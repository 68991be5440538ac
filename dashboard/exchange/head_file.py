"""The file of a head in a tree of HeadVis: sampled sentences with their strongest weights, and what these add up to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.exchange.sample import SampledSentence, sampled_sentences
from store import Corpus
from store.headvis import read_rows_of_patterns
from store.kernels.headvis import DIGITS, StrongestKeys, strongest_keys

#: Bins of the largest weight of a sentence, 0 to 1; ends of the bins of distances; tokens listed as query and as key.
BINS = 50
DISTANCES = (0, *(1 << power for power in range(13)))
LISTED = 50
#: A sentence by its number -> its strongest weights in a head.
Strongest = Mapping[int, StrongestKeys]


def head_files(
    corpus: Corpus, layer: int, largest: NDArray[np.floating], *, seed: int, text: bool
) -> list[dict[str, Any]]:
    """The files of the heads of a layer: `largest` is the largest weight in each sentence (head, sentence).

    Without text the sentences are left out, and the tokens that get most.
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


def _read_strongest(corpus: Corpus, layer: int, samples: Sequence[Sequence[SampledSentence]]) -> list[Strongest]:
    """Of each head its strongest weights in the sentences of its sample."""
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
    """Queries, keys and weights."""
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
