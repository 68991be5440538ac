"""Accuracies of heads at coreference, and the head that is best at it."""

import xarray as xr

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
