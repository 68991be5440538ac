"""Reach of the tokens of a sentence: the share of a target's vector that comes from each token, beside the attention that it gets.

The reach of a token is its share of the target's vector after a layer, by GlobEnc through the layers, times the tokens of its sentence: 1 is
an even share. `received` is the attention weight that the token gets from the target, also times the tokens, mean over the
layers up to this layer; `hidden` is the difference. Tokens are grouped by kinds of class.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray

from store.kernels.classes import ClassMeans, Counts, Watch, compared_intervals, mean_test, sentence_counts, welch_test
from store.kernels.roles import discoveries
from store.kernels.statistics import source_rows
from store.means import check_chosen
from store.mixing import LONGEST, stored_matrices
from store.process import one_thread
from store.repository.arrays import array_of
from store.repository.errors import NotIngested, StoreError, is_integer
from store.results import MIXING_REMEDY, StageResults
from store.schema.mixing import TARGET_SOURCES, TARGETS
from store.schema.model import BOUNDS, SOURCES

#: Kind of class that tokens are grouped by -> its title.
KINDS: Mapping[str, str] = {
    "wordpiece": "wordpiece",
    "part_of_speech": "part of speech",
    "relation": "dependency",
    "position": "position",
}
#: Least sentences of a class: with fewer, intervals are too narrow (docs/statistics.md).
FEWEST = 20
#: Error of a reach: reaches, and the numbers that they follow from, are rounded to float16.
ROUNDED = 2e-3

Floats = NDArray[np.floating]
Mask = NDArray[np.bool_]


def reach_of_sentences(
    model: zarr.Group,
    spans: NDArray[np.integer],
    flags: NDArray[np.uint8],
    rows: slice,
    *,
    longest: int = LONGEST,
    targets: Sequence[str] = tuple(TARGETS),
) -> dict[str, NDArray[np.float16]]:
    """Arrays `reach` and `received` (target, layer, row) of some rows of the token axis, from the stored vectors and products.

    Parameters
    ----------
    model
        Group of the model, with the group `mixing` in it.
    spans
        First row and end of every sentence in these rows: (sentence, 2).
    flags
        Flags of the tokens of these rows: (row,).
    longest
        Most tokens of a sentence; longer sentences have no reach.
    targets
        Names of `TARGETS`.
    """
    chosen = spans[spans[:, 1] - spans[:, 0] <= longest]
    layers = array_of(model, "query").shape[0]
    shape = (len(targets), layers, rows.stop - rows.start)
    reach, received = (np.full(shape, np.nan, np.float16) for _ in range(2))
    with one_thread("blas"):  # the matrices are small: threads would wait for each other
        for span, matrices in zip(chosen, stored_matrices(model, chosen, ("attention", "globenc")), strict=True):
            own = slice(int(span[0]) - rows.start, int(span[1]) - rows.start)
            weights = target_weights(flags[own], targets) * (own.stop - own.start)
            reach[..., own] = np.stack([_reached(weights, matrices[1, : layer + 1]) for layer in range(layers)], axis=1)
            received[..., own] = np.swapaxes(weights @ matrices[0], 0, 1)
    return {"reach": reach, "received": received}


def target_tokens(flags: NDArray[np.uint8], targets: Sequence[str]) -> Mask:
    """Whether each token belongs to a target, the mean vector of its tokens: (target, token)."""
    rows: Mask = source_rows(flags, np.ones(len(flags), bool))
    return rows[[SOURCES.index(TARGET_SOURCES[name]) for name in targets]]


def target_weights(flags: NDArray[np.uint8], targets: Sequence[str] = tuple(TARGETS)) -> NDArray[np.float32]:
    """Weight of each token's vector in a target: (target, token); rows sum to 1, NaN for a target without tokens."""
    tokens = target_tokens(flags, targets)
    count = tokens.sum(axis=1, keepdims=True)
    return (tokens / np.where(count, count, np.nan)).astype(np.float32)


def _reached(targets: Floats, matrices: Floats) -> Floats:
    """Shares of the input tokens in each target (target, token) after the last of some layers (layer, query_token, key_token)."""
    for matrix in matrices[::-1]:
        targets = targets @ matrix
    return targets


def reaches_follow(corpus: StageResults, model: zarr.Group, sentences: Sequence[int]) -> bool:
    """Whether reaches sum to the tokens of each sentence, and in `sentences` follow from the products; True without reaches."""
    if corpus.mixing.attrs.get("reached_sentences", 0) < corpus.n_sentences:
        return True
    stored = {"reach": corpus.token_reach.values, "received": corpus.mixing.received.values}
    every, targets = corpus.tokens.token_flags.values, list(map(str, corpus.token_reach.target.values))
    if not _are_whole(corpus, stored["reach"], target_tokens(every[corpus.rows], targets)):
        return False
    for rows in map(corpus.sentence_rows, sentences):
        span = np.array([[rows.start, rows.stop]])
        for name, expected in reach_of_sentences(model, span, every[rows], rows, targets=targets).items():
            if not np.allclose(stored[name][..., rows], expected, rtol=ROUNDED, atol=ROUNDED, equal_nan=True):
                return False
    return True


def _are_whole(corpus: StageResults, reach: NDArray[np.float16], tokens: Mask) -> bool:
    """Whether reaches (target, layer, row) sum to each sentence's number of tokens, if it has `tokens` (target, token) of a target."""
    size = corpus.sentences.row_size.values
    starts = np.cumsum(size) - size
    sums = np.add.reduceat(reach[..., corpus.rows], starts, axis=-1, dtype=np.float64)
    has_target = np.logical_or.reduceat(tokens, starts, axis=-1) & (size <= LONGEST)
    whole = np.isclose(sums, size, rtol=ROUNDED) | ~has_target[:, None]
    return bool(whole.all())


def reach_by(
    corpus: StageResults,
    kind: str,
    target: str,
    *,
    layers: Sequence[int],
    chosen: Mask | None,
    fewest: int,
    watch: Watch = lambda _: None,
    only: Sequence[str] | None = None,
) -> xr.Dataset:
    """See `Corpus.reach_by`; with `only`, intervals of all other classes are NaN."""
    tokens = ClassedTokens(corpus, kind, target, layers)
    every = tokens.means(chosen, "reach", "received", "hidden")
    own = every.only(every.sentences >= fewest)
    shares = tokens.shares(chosen, "share").aligned(own.classes)
    places = tokens.places(own.classes, only)
    counts = sentence_counts(corpus.mixing.attrs["seed"], corpus.n_sentences)
    numbers: dict[str, NDArray[Any]] = dict(zip(("reach", "received", "hidden"), np.split(own.mean(), 3), strict=True))
    intervals = np.split(own.interval(counts, places, _part_of(watch, 0, 2)), 3, axis=1)
    numbers |= {f"{name}_interval": interval for name, interval in zip([*numbers], intervals, strict=True)}
    numbers |= {
        "share": shares.mean(),
        "share_interval": shares.interval(counts, places, _part_of(watch, 1, 2)),
    }
    numbers |= {"hidden_found": discoveries(np.split(mean_test(own), 3)[2])}
    return tokens.labelled(own.classes, numbers | {"tokens": own.tokens, "sentences": own.sentences})


def reach_contrast(
    corpus: StageResults,
    kind: str,
    target: str,
    *,
    chosen: Mask,
    others: Mask,
    layers: Sequence[int],
    fewest: int,
    watch: Watch = lambda _: None,
    only: Sequence[str] | None = None,
) -> xr.Dataset:
    """See `Corpus.reach_contrast`; `only` as in `reach_by`."""
    tokens = ClassedTokens(corpus, kind, target, layers)
    counts = sentence_counts(corpus.mixing.attrs["seed"], corpus.n_sentences)
    means = [tokens.means(part, "reach") for part in (chosen, others)]
    every = tokens.means(chosen | others, "reach")
    classes = every.classes[every.sentences >= fewest]
    own, rest = (part.only(part.sentences >= fewest).aligned(classes) for part in means)
    places = tokens.places(classes, only)
    numbers = _compared("reach", own, rest, counts, places, _part_of(watch, 0, 3))
    for place, name in enumerate(("share", "excess"), 1):
        own, rest = (tokens.shares(part, name).aligned(classes) for part in (chosen, others))
        numbers |= _compared(name, own, rest, counts, places, _part_of(watch, place, 3))
    numbers |= {"even_difference": (numbers["share_difference"] - numbers["excess_difference"])[0]}
    numbers |= {"since": _since(numbers["excess_found"], np.asarray(layers))}
    for side, part in (("own", own), ("rest", rest)):
        numbers |= {f"{side}_tokens": part.tokens, f"{side}_sentences": part.sentences}
    return tokens.labelled(classes, numbers)


def _compared(
    name: str, own: ClassMeans, rest: ClassMeans, counts: Counts, places: NDArray[np.intp], watch: Watch
) -> dict[str, NDArray[Any]]:
    """A number of each part and their difference, for the same classes."""
    means = own.mean(), rest.mean(), own.mean() - rest.mean()
    intervals = compared_intervals(own, rest, counts, places, watch)
    names = f"own_{name}", f"rest_{name}", f"{name}_difference"
    return {
        **dict(zip(names, means, strict=True)),
        **{f"{each}_interval": interval for each, interval in zip(names, intervals, strict=True)},
        f"{name}_found": discoveries(welch_test(own, rest)),
    }


def _part_of(watch: Watch, place: int, parts: int) -> Watch:
    """A watch for one of several equal parts of the work."""
    return lambda share: watch((place + share) / parts)


def _since(found: NDArray[np.bool_], layers: NDArray[np.integer]) -> NDArray[np.int64]:
    """The first layer (category,) from which on `found` (layer, category) holds in every layer; -1 where not in the last."""
    lasting = np.logical_and.accumulate(found[::-1], axis=0)[::-1]
    return np.where(lasting.any(axis=0), layers[lasting.argmax(axis=0)], -1)


class ClassedTokens:
    """The tokens of a corpus by class, with their numbers after some layers.

    Attributes
    ----------
    numbers
        Arrays (layer, token): `reach`; `received`, mean over the layers so far; `hidden`, reach minus received; `share`, reach divided by
        the number of tokens of the sentence; `excess`, share minus an even share.
    """

    def __init__(self, corpus: StageResults, kind: str, target: str, layers: Sequence[int]) -> None:
        if kind not in KINDS:
            raise StoreError(f"There is no kind of token {kind!r}. Choose one of: {', '.join(KINDS)}.")
        if target not in TARGETS:
            raise StoreError(f"There is no target {target!r}. Choose one of: {', '.join(TARGETS)}.")
        if target not in corpus.token_reach.target.values:
            raise NotIngested(f"What reaches {TARGETS[target]}: not computed.", MIXING_REMEDY)
        self._layers = list(layers)
        self._codes, self._names = classes_of(corpus, kind)
        self._sentence = corpus.tokens.sentence_index.values[corpus.rows].astype(np.int64)
        even = (1 / corpus.sentences.row_size.values[self._sentence]).astype(np.float32)
        through = slice(0, max(self._layers) + 1)
        every, attended = (
            array.sel(target=target).variable[through].values[:, corpus.rows].astype(np.float32)
            for array in (corpus.token_reach, corpus.mixing.received)
        )
        so_far = np.cumsum(attended, axis=0) / np.arange(1, len(attended) + 1, dtype=np.float32)[:, None]
        reach, received = every[self._layers], so_far[self._layers]
        self.numbers: dict[str, Floats] = {"reach": reach, "received": received, "hidden": reach - received}
        self.numbers |= {"share": reach * even, "excess": (reach - 1) * even}

    def means(self, chosen: Mask | None, *names: str) -> ClassMeans:
        """Means over the chosen tokens (token,), or all: (number and layer, class)."""
        return self._of(chosen, names, None)

    def shares(self, chosen: Mask | None, name: str) -> ClassMeans:
        """Means over sentences with a chosen token of the sum over a class's tokens, 0 where a sentence has none of the class."""
        counts = np.isfinite(self.numbers["reach"]).all(axis=0) & (True if chosen is None else chosen)
        return self._of(chosen, (name,), np.unique(self._sentence[counts]))

    def _of(self, chosen: Mask | None, names: Sequence[str], within: NDArray[np.int64] | None) -> ClassMeans:
        part = slice(None) if chosen is None else np.flatnonzero(check_chosen(chosen, len(self._codes)))
        values = np.concatenate([self.numbers[name][:, part] for name in names])
        return ClassMeans.of(values, self._codes[part], self._sentence[part], within)

    def places(self, classes: NDArray[np.int64], only: Sequence[str] | None) -> NDArray[np.intp]:
        """Places among `classes` of the classes named in `only`; of all where it is None."""
        known = self._named(classes)
        return np.array([place for place, name in enumerate(known) if only is None or name in only], np.intp)

    def typical(self, name: str, category: str, chosen: Mask | None = None) -> int | None:
        """The chosen token of a class whose number in the first layer is nearest to the mean over such tokens; None without any."""
        own = (self._codes == np.flatnonzero(self._names == category)[0]) & (True if chosen is None else chosen)
        values = np.where(own, self.numbers[name][0], np.nan)
        return None if np.isnan(values).all() else int(np.nanargmin(np.abs(values - np.nanmean(values))))

    def _named(self, classes: NDArray[np.int64]) -> list[str]:
        return [str(name) for name in self._names[classes]]

    def labelled(self, classes: NDArray[np.int64], numbers: Mapping[str, NDArray[Any]]) -> xr.Dataset:
        """The numbers as labelled arrays (bound, layer, category), (layer, category) or (category)."""
        dims = ("bound", "layer", "category")
        labels = {"bound": list(BOUNDS), "layer": self._layers, "category": np.array(self._named(classes), object)}
        return xr.Dataset({name: (dims[3 - values.ndim :], values) for name, values in numbers.items()}, labels)


def classes_of(corpus: StageResults, kind: str) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """The class of each token by a kind, -1 for none, and the names of the classes: (token,) and (class,)."""
    if kind == "wordpiece":
        return corpus.tokens.token_id.values[corpus.rows].astype(np.int64), corpus.vocab
    if kind == "position":
        position = corpus.tokens.position.values[corpus.rows].astype(np.int64)
        return position, np.array([str(place) for place in range(int(position.max()) + 1)], object)
    word = corpus.token_words[corpus.rows]
    codes = np.where(word >= 0, corpus.words.table[kind].values[word], -1).astype(np.int64)
    return codes, np.array(corpus.words.names(kind), object)


class ReachResults(StageResults):
    """The results of the stages, and the reach of classes of tokens."""

    def reach_by(
        self,
        kind: str = "wordpiece",
        target: str = "sentence",
        *,
        layer: int | None = None,
        chosen: Mask | None = None,
        fewest: int = FEWEST,
        watch: Watch = lambda _: None,
    ) -> xr.Dataset:
        """Reach of tokens by class: mean over sentences of the mean over the tokens of a class, with 95% intervals by bootstrap over sentences.

        Parameters
        ----------
        kind
            One of `store.reach.KINDS`.
        target
            Vector that is reached: `cls`; `sentence` or `word`, the mean vector of all tokens or of the words.
        layer
            0-based; None for all.
        chosen
            (n_tokens,), whether each of `rows` counts; None for all.
        fewest
            Least sentences of a class; other classes are left out.
        watch
            Called with the finished share, 0 to 1; an error that it raises ends the computation.

        Returns
        -------
        `reach`, `received` (attention weight that the tokens get from the target, mean over the layers up to this one, over even attention) and
        `hidden`, reach minus received, and `share` of the target's vector that all tokens of the class make up (layer, category), each with
        its `_interval` (bound, layer, category); `hidden_found`, whether attention and reach differ at 5% false discoveries (Benjamini and
        Hochberg); `tokens` and `sentences` (category). NotIngested without reaches, or words where the kind needs them.

        Examples
        --------
        >>> by_word = corpus.reach_by("wordpiece", "cls", layer=5)  # doctest: +SKIP
        >>> by_word.reach[0].sortby(by_word.reach[0])[-10:]  # doctest: +SKIP
        """
        layers = self._these_layers(layer)
        return reach_by(self, kind, target, layers=layers, chosen=chosen, fewest=fewest, watch=watch)

    def reach_contrast(
        self,
        kind: str,
        target: str,
        chosen: Mask,
        *,
        others: Mask | None = None,
        layer: int | None = None,
        fewest: int = FEWEST,
        watch: Watch = lambda _: None,
    ) -> xr.Dataset:
        """Classes of token in the target's vectors in chosen sentences and in `others`, by default all others; for options see `reach_by`.

        Returns
        -------
        `own_share` and `rest_share` (layer, category), the share of the target's vector that all tokens of the class make up, 0 in a sentence
        without, and `share_difference`; `even_difference` (category), what the numbers of tokens alone would make of it; `excess_difference`,
        the difference beyond that; `own_reach`, `rest_reach` and `reach_difference` of the tokens that there are, NaN where either has fewer than
        `fewest` sentences. Each has its `_interval` (bound, layer, category), and each difference `_found`: by Welch's t test over sentences at 5%
        false discoveries among all classes and layers. `since` (category): the first layer from which on the excess is found in every layer, -1
        for none. `own_tokens`, `own_sentences`, `rest_tokens`, `rest_sentences` (category).

        Examples
        --------
        >>> positive = corpus.sentences.label.values[corpus.tokens.sentence_index.values[corpus.rows]] == 1  # doctest: +SKIP
        >>> corpus.reach_contrast("wordpiece", "sentence", positive).share_difference.sel(category="great")  # doctest: +SKIP
        """
        layers, chosen = self._these_layers(layer), check_chosen(chosen, self.n_tokens)
        rest = ~chosen if others is None else check_chosen(others, self.n_tokens)
        return reach_contrast(self, kind, target, chosen=chosen, others=rest, layers=layers, fewest=fewest, watch=watch)

    def _these_layers(self, layer: int | None) -> list[int]:
        layers = self.token_reach.sizes["layer"]
        if layer is None:
            return list(range(layers))
        if not is_integer(layer) or layer not in range(layers):
            raise StoreError(f"There is no layer {layer}. Choose one of 0 to {layers - 1}.")
        return [int(layer)]
