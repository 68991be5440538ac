"""How often heads link the words of relations and find antecedents: accuracies, the best head of each, counts of any word pairs."""

import numpy as np
import xarray as xr

from store.kernels.bootstrap import ShareReplicates, draw_counts
from store.kernels.relations import DIRECTIONS, WordPairs, frequent_offset, halves, linked
from store.kernels.words import StrongestWords
from store.process import one_thread
from store.schema.coreference import EVERY, GAP


def with_shares(counts: xr.Dataset) -> xr.Dataset:
    """The counts of `/models/<key>/coreference` with the shares that `Corpus.coreference` describes.

    A pronoun of GAP that gets an answer gets exactly one name, so of its answers `found` are true positives, the
    others false positives; names that are not found are false negatives.
    """
    shares = {}
    for before, mentions in (("", "mentions"), ("baseline_", "mentions"), ("random_", "random_mentions")):
        shares[f"{before}accuracy"] = counts[f"{before}found"] / counts[mentions]
        if counts.attrs["scheme"] == GAP:
            answered = counts[mentions.replace("mentions", "answered")]
            shares[f"{before}f1"] = 2 * counts[f"{before}found"] / (counts[mentions] + answered)
    return counts.assign(shares)


def best_antecedent_head(coreference: xr.Dataset, of: str = "") -> tuple[int, int]:
    """Layer and head that find most antecedents in the first half of the sentences, whatever the mention.

    Of chains among the mentions before. `of` is `random_` for the network with random weights.
    """
    found = coreference[f"{of}found"][0]
    chosen = {"gender": EVERY} if coreference.attrs["scheme"] == GAP else {"kind": EVERY, "candidates": "mentions"}
    layer, head = divmod(int(found.sel(chosen).values.argmax()), found.sizes["head"])
    return layer, head


def with_accuracies(counts: xr.Dataset) -> xr.Dataset:
    """The counts of `/models/<key>/relations` with the shares that `Corpus.relations` describes."""
    shares = {
        "accuracy": counts.linked.sum("half") / counts.pairs.sum("half"),
        "chosen_accuracy": counts.linked[0] / counts.pairs[0],
        "reported_accuracy": counts.linked[1] / counts.pairs[1],
        "random_accuracy": counts.random_linked.sum("half") / counts.random_pairs.sum("half"),
        "offset_accuracy": counts.offset_linked[1] / counts.pairs[1],
    }
    return counts.assign({name: share.drop_vars("half", errors="ignore") for name, share in shares.items()})


def best_heads(relations: xr.Dataset) -> xr.Dataset:
    """The head and direction that link most pairs of each relation in the first half of the sentences: (relation).

    `direction`, `layer`, `head`; `accuracy`, its `interval` (bound), `offset_accuracy` and `pairs` in the second half;
    `random_accuracy`, of the best head with random weights, which is chosen and reported in the same way.
    """
    cell = ("direction", "layer", "head")
    chosen = relations.chosen_accuracy.fillna(-1).stack(cell=cell)
    best = chosen.argmax("cell")
    random = relations.random_linked.stack(cell=cell) / relations.random_pairs
    random_best = random[0].fillna(-1).argmax("cell")
    return xr.Dataset(
        {
            **{dim: ("relation", chosen[dim].values[best.values]) for dim in cell},
            "accuracy": _at(relations.reported_accuracy.stack(cell=cell), best),
            "interval": _at(relations.interval.stack(cell=cell), best),
            "random_accuracy": _at(random[1].drop_vars("half"), random_best),
            "offset": relations.offset,
            "offset_accuracy": relations.offset_accuracy,
            "pairs": relations.pairs[1].drop_vars("half", errors="ignore"),
        }
    )


def _at(cells: xr.DataArray, best: xr.DataArray) -> xr.DataArray:
    """The number of one cell of each relation."""
    return cells.isel(cell=best).drop_vars(("cell", "direction", "layer", "head"))


def count_links(strongest: xr.Dataset, pairs: WordPairs, *, sentences: int, seed: int) -> xr.Dataset:
    """The same counts, shares and intervals as of a relation of the store, of any word pairs; none with random weights.

    Reads the strongest words of one layer at a time.

    Parameters
    ----------
    strongest
        `Corpus.strongest_words`.
    pairs
        Pairs of the corpus.
    sentences, seed
        Number of its sentences; the seed of the bootstrap.
    """
    reported = halves(sentences)[pairs.sentence]
    counts = draw_counts(seed, 0, sentences)
    with one_thread("blas"):  # the matrices are small: threads would wait for each other
        layers = [
            _layer_links(strongest.isel(layer=layer), pairs, reported, counts) for layer in strongest.layer.values
        ]
    offset = frequent_offset(pairs.offsets[~reported])
    linked_pairs = np.stack([layer[0] for layer in layers], axis=2)
    of_half = np.array([(~reported).sum(), reported.sum()])
    dims = ("direction", "layer", "head")
    coordinates = {"direction": list(DIRECTIONS), "layer": strongest.layer, "head": strongest["head"]}
    found = xr.Dataset(
        {
            "pairs": ("half", of_half),
            "linked": (("half", *dims), linked_pairs),
            "interval": (("bound", *dims), np.stack([layer[1] for layer in layers], axis=2)),
            "offset": offset,
            "offset_linked": ("half", [(pairs.offsets[half] == offset).sum() for half in (~reported, reported)]),
            "random_pairs": ("half", np.zeros(2, np.int64)),
            "random_linked": (("half", *dims), np.zeros_like(linked_pairs)),
        },
        coordinates,
    )
    return with_accuracies(found)


def _layer_links(
    layer: xr.Dataset, pairs: WordPairs, reported: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Linked pairs (half, direction, head) of one layer, and the interval of the second half (bound, direction, head)."""
    hits = linked(StrongestWords(*(layer[name].values for name in StrongestWords._fields)), pairs)
    replicates = ShareReplicates(hits.shape[:-1])
    replicates.add(hits[..., reported], pairs.sentence[reported], counts)
    return np.stack([hits[..., half].sum(axis=-1) for half in (~reported, reported)]), replicates.interval()
