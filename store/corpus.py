"""A model on a corpus at a snapshot, as labelled, lazy arrays: sentences, head statistics, vectors, pictures."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from zarr.abc.store import Store

from store.bias import read_bias
from store.features import Features
from store.hypothesis import SENTENCES, Hypothesis, read_patterns, test_hypothesis
from store.kernels.attention import attention_pattern, merge_words
from store.kernels.bias import AttentionBias, Mask, masks_of
from store.kernels.head_tables import PARTS, HeadTables, logit_parts
from store.kernels.heads import head_labels
from store.kernels.replacement import MeanPatterns
from store.means import ChosenTokens, Watch, contrast_statistics, part_means, part_statistics
from store.mixing import context_mixing
from store.reach import ReachResults
from store.repository.arrays import Groups, Views, missing_statistics, stored_vectors, with_keys, with_statistics
from store.repository.errors import StoreError, check_head, check_index
from store.repository.tiles import read_rows
from store.rules import RuleSentences, RuleText, chosen_rules, head_dictionary, predict, read_tables, sentences_within
from store.schema.model import ROLES, counted_size
from store.schema.pictures import LARGEST_COORDINATE
from store.summary import as_html, as_text

HEADS = "layer", "head"
#: Most heads whose tables are kept in memory: some megabytes each.
KEPT_TABLES = 8
#: Mean patterns: most sentences, and most weights of a head in these sentences.
MEAN_SENTENCES, MEAN_WEIGHTS = 60, 1 << 19


class Corpus(ReachResults):
    """A model on a corpus, read at a snapshot. Every array is read when it is first used.

    Attributes
    ----------
    name, title
        Key of the model group, and its name for people.
    snapshot
        Id of the snapshot that every number comes from.
    attributes
        Provenance of the model: checkpoint, versions, dtype, settings, stages.
    layers, heads
        Sizes; sizes of the text are in `CorpusText`.
    missing_statistics
        Names in `STATISTICS` that were not computed when the store was made: their numbers are NaN.
    """

    def __init__(self, chunks: Store, snapshot: str, name: str, *, title: str) -> None:
        self.snapshot, self.title = snapshot, title
        groups = Groups(chunks)
        stored = with_keys(groups.open(f"models/{name}"))
        self.missing_statistics = missing_statistics(stored)
        self._model = with_statistics(stored)
        self.attributes: Mapping[str, Any] = self._model.attrs
        sizes = {size: int(self.attributes[size]) for size in ("sentences", "tokens")}
        sizes |= {f"counted_{size}": counted_size(self.attributes, size) for size in sizes}
        super().__init__(groups, str(self.attributes["corpus"]), name, **sizes)
        self.layers: int = self._model.sizes["layer"]
        self.heads: int = self._model.sizes["head"]
        finished = list(self.attributes.get("views", []))
        self._views = Views(self._groups, f"models/{name}/views", finished, quality="fidelity")
        self._features: dict[str, Features] = {}
        self._lazy: dict[str, xr.DataArray] = {}
        self._tables: dict[tuple[int, int], HeadTables] = {}

    def __repr__(self) -> str:
        return as_text(self, self._groups)

    def _repr_html_(self) -> str:
        return as_html(self, self._groups)

    def _per_token(self, name: str) -> xr.DataArray:
        if name not in self._lazy:
            labels = self.tokens[["position", "sentence_index", "token_flags"]].data_vars
            self._lazy[name] = self._model[name].isel(token=slice(0, self._token_stop)).assign_coords(labels)
        return self._lazy[name].copy(deep=False)  # arrays that the caller loads are not kept here

    # -- queries, keys and attention ----------------------------------------------------------------

    @property
    def query(self) -> xr.DataArray:
        """Queries (layer, head, token, channel) in float16, before the 1/sqrt(channels) scale. Lazy."""
        return self._per_token("query")

    @property
    def key(self) -> xr.DataArray:
        """Keys (layer, head, token, channel) in float32, with the constant of their head (`store.repository.arrays`). Lazy."""
        return self._per_token("key")

    def stored_vectors(self, role: str, *, layer: int, head: int) -> tuple[xr.Variable, NDArray[np.float32]]:
        """Queries or keys of a head as they are stored, lazy (token, channel), and a constant to add to each (channel)."""
        return stored_vectors(self._model, role, layer=layer, head=head)

    @property
    def value_norm(self) -> xr.DataArray:
        """Value norm ||f(x)|| (layer, head, token) of each token (Kobayashi 2020, section 3). Lazy."""
        return self._per_token("value_norm")

    @cached_property
    def bias(self) -> AttentionBias | None:
        """Masks and biases by distance that the model adds to q.k / sqrt(channels); None where it adds nothing, as a BERT."""
        return read_bias(self._groups.group(f"models/{self.name}"))

    @cached_property
    def masks(self) -> tuple[Mask, ...]:
        """Mask of each layer: the keys that its queries see."""
        return masks_of(self.bias, self.layers)

    def pattern(self, sentence: int, *, layer: int | None = None, head: int | None = None) -> xr.DataArray:
        """Attention pattern of a sentence, recomputed from its queries and keys; rows sum to 1. StoreError for an unknown sentence or head.

        Parameters
        ----------
        sentence
            Index of the sentence.
        layer, head
            0-based; None for all.

        Returns
        -------
        ([layer, head,] query_token, key_token) in float32, labelled with wordpieces.
        """
        weights, chosen = self.weights(sentence, layer=layer, head=head), _indexers(layer, head)
        labels = {dim: self._model[dim].sel({dim: chosen.get(dim, slice(None))}) for dim in HEADS}
        labels |= self.piece_labels(sentence)
        dims = (*(dim for dim in HEADS if dim not in chosen), "query_token", "key_token")
        return xr.DataArray(weights, labels, dims, name="pattern")

    def weights(
        self,
        sentence: int,
        *,
        layer: int | None = None,
        head: int | None = None,
        queries: NDArray[np.integer] | None = None,
    ) -> NDArray[np.float32]:
        """`pattern` without labels, which take most of its time; for some queries, by position in the sentence, or for all."""
        check_head(layer or 0, head or 0, layers=self.layers, heads=self.heads)
        part = {**_indexers(layer, head), "token": self.sentence_rows(sentence)}
        query, key = (self._model[role].variable.isel(part).values.astype(np.float32) for role in ROLES)
        bias, tokens = self.bias and self.bias.part(layer, head), key.shape[-2:]
        if queries is not None:
            for position in queries:
                check_index("query", position, tokens[0])
            query, bias = query[..., queries, :], bias and bias.at(queries, np.arange(tokens[0]))
        heads = attention_pattern(query.reshape(-1, *query.shape[-2:]), key.reshape(-1, *tokens), bias=bias)
        return heads.reshape(*query.shape[:-1], tokens[0])

    def context_mixing(self, sentence: int, method: str = "globenc", *, rolled_out: bool = False) -> xr.DataArray:
        """Share of each token's vector from each token in each layer (layer, query_token, key_token); rows sum to 1.

        `method` is one of `store.schema.mixing.METHODS`. With `rolled_out`, shares of the input tokens after each layer: the product of the
        matrices up to it. StoreError without such a sentence or method, NotIngested where the ingest kept no products.
        """
        return context_mixing(self, self.weights, self.value_norm, sentence, method, rolled_out=rolled_out)

    # -- head statistics ----------------------------------------------------------------------------

    @property
    def token_statistic(self) -> xr.DataArray:
        """Statistics of each token (statistic, layer, head, token), defined by `store.STATISTICS`. Lazy."""
        return self._per_token("token_statistic")

    @cached_property
    def head_statistic(self) -> xr.DataArray:
        """Means over sentences of `token_statistic` (source, statistic, layer, head) in float64; `source` names the queries."""
        return self._model.head_statistic.load()

    def head_means(self, chosen: NDArray[np.bool_]) -> xr.DataArray:
        """Head statistics over the chosen tokens only: (source, statistic, layer, head), NaN without any.

        Parameters
        ----------
        chosen
            (n_tokens,), whether each of `rows` counts.
        """
        return part_means(self.token_statistic, self._chosen(chosen))

    def _chosen(self, chosen: NDArray[np.bool_]) -> ChosenTokens:
        return ChosenTokens(self.tokens, self.rows, chosen, self.block)

    def part_statistics(self, chosen: NDArray[np.bool_], watch: Watch = lambda _: None) -> xr.Dataset:
        """Head statistics over the chosen tokens only, with 95% intervals by bootstrap over sentences.

        Parameters
        ----------
        chosen
            (n_tokens,), whether each of `rows` counts.
        watch
            Called with the finished share, 0 to 1; an error that it raises ends the computation.

        Returns
        -------
        mean (source, statistic, layer, head), interval (bound, source, statistic, layer, head) and layer_interval
        (bound, source, statistic, layer).
        """
        return part_statistics(self.token_statistic, self._chosen(chosen), seed=self._bootstrap_seed, watch=watch)

    def contrast_statistics(
        self, chosen: NDArray[np.bool_], watch: Watch = lambda _: None, others: NDArray[np.bool_] | None = None
    ) -> xr.Dataset:
        """`part_statistics` of the chosen tokens, and `difference`: their means minus the means of `others`, by default all other tokens.

        `difference_interval` and `difference_layer_interval` are its 95% intervals, paired by sentence.
        """
        own, rest = self._chosen(chosen), self._chosen(~chosen if others is None else others)
        return contrast_statistics(self.token_statistic, own, rest, seed=self._bootstrap_seed, watch=watch)

    @property
    def _bootstrap_seed(self) -> int:
        return int(self.attributes["provenance"]["settings"]["seed"])

    @cached_property
    def head_interval(self) -> xr.DataArray:
        """95% intervals of `head_statistic` (bound, source, statistic, layer, head), by bootstrap over sentences."""
        return self._model.head_interval.load()

    @cached_property
    def layer_interval(self) -> xr.DataArray:
        """95% intervals of the mean over heads of `head_statistic` (bound, source, statistic, layer), same bootstrap."""
        return self._model.layer_interval.load()

    @cached_property
    def head_profile(self) -> xr.DataArray:
        """Attention by relative position key - query (offset, layer, head), mean over sentences; sums to 1.

        Offsets -11 and 11 stand for all keys farther than 10 tokens.
        """
        return self._model.head_profile.load()

    @cached_property
    def received_at(self) -> xr.DataArray:
        """Attention received by position (position, layer, head): mean weight over the queries of a sentence (Clark 2019).

        Mean over the sentences that have the position; the coordinate `count` is their number. NaN where it is 0.
        """
        positions = np.arange(self._model.sizes["position"])
        count = self._model.tokens_at.load().values
        return self._model.received_at.load().assign_coords(position=positions, count=("position", count))

    @property
    def token_mixing(self) -> xr.DataArray:
        """Mixing ratios of each token (ratio, layer, token), defined by `store.schema.model.RATIOS`. Lazy."""
        return self._per_token("token_mixing")

    @cached_property
    def layer_mixing(self) -> xr.DataArray:
        """Means over sentences of `token_mixing` (source, ratio, layer) in float64."""
        return self._model.layer_mixing.load()

    def mixing_means(self, chosen: NDArray[np.bool_], watch: Watch = lambda _: None) -> xr.DataArray:
        """Mixing ratios over the chosen tokens only: (source, ratio, layer), NaN without any; `watch` as in `part_statistics`."""
        return part_means(self.token_mixing, self._chosen(chosen), watch)

    @cached_property
    def expansion_rate(self) -> xr.DataArray:
        """Root mean square gain of x -> f(x) of all heads (layer), from the weights alone (Kobayashi 2021, section 5)."""
        return self._model.expansion_rate.load()

    @cached_property
    def head_labels(self) -> xr.DataArray:
        """Label of each head (layer, head), "" where no rule of `store.kernels.heads.LABELS` holds."""
        return head_labels(self.head_statistic, self.counted_lengths, self.masks)

    # -- words --------------------------------------------------------------------------------------

    def word_pattern(self, sentence: int, *, layer: int | None = None, head: int | None = None) -> xr.DataArray:
        """Attention between the words of a sentence: to a word the sum over its wordpieces, from a word their mean.

        See `pattern`; dims are query_word and key_word, labelled with the words (Clark et al. 2019, section 4.1). Rows
        sum to less than 1: [CLS] and [SEP] are no words.
        """
        pattern, rows = self.pattern(sentence, layer=layer, head=head), self.words.rows(sentence)
        tokens = self.words.table[["token_start", "token_stop"]].isel(word=rows)
        ends = tokens.token_start.values, tokens.token_stop.values
        groups = [tuple(range(*bounds)) for bounds in zip(*ends, strict=True)]
        dims = (*pattern.dims[:-2], "query_word", "key_word")
        spelled = {f"{side}_spelling": (f"{side}_word", self.words.texts(rows)) for side in ("query", "key")}
        coordinates: dict[str, Any] = {"layer": pattern["layer"], "head": pattern["head"], **spelled}
        return xr.DataArray(merge_words(pattern.values, groups, groups), coordinates, dims, name="word_pattern")

    # -- rules --------------------------------------------------------------------------------------

    def logit_parts(self, sentence: int, *, layer: int, head: int) -> xr.DataArray:
        """Parts (part, query_token, key_token) of each logit of a head, which sum to q.k / sqrt(channels).

        Parts as in `store.kernels.head_tables.logit_parts`: position, word, both, context, and constants of the row. The tables of the
        head are made from its stored queries and keys; tables of recent heads are kept. NotIngested where the rules are not computed.
        """
        check_head(layer, head, layers=self.layers, heads=self.heads)
        rows = self.sentence_rows(sentence)
        query, key = (self._model[role].variable[layer, head, rows].values[None].astype(np.float32) for role in ROLES)
        position = np.arange(rows.stop - rows.start)
        bias = self.bias and self.bias.part(layer, head)
        parts = logit_parts(
            query, key, self.head_tables(layer, head), self.tokens.token_id.values[rows], position, bias
        )
        labels = self.piece_labels(sentence) | {"part": list(PARTS)}
        return xr.DataArray(parts[:, 0], labels, ("part", "query_token", "key_token"), "logit")

    def predicted_pattern(self, sentence: int, *, layer: int, head: int) -> xr.DataArray:
        """Attention pattern (query_token, key_token) that a head's rules, at most six, predict from the text and its tables."""
        tokens, tables = self.rule_text.sentence(sentence), self.head_tables(layer, head)
        rules = self.rules[["chosen", "rule_weight"]].isel(layer=layer, head=head)
        own = chosen_rules(rules.chosen.values, rules.rule_weight.values)
        weights = predict([own], tokens, tables, [self.masks[layer]])[0]
        return xr.DataArray(weights, self.piece_labels(sentence), ("query_token", "key_token"), "predicted")

    def hypothesis(self, names: Hypothesis, *, sentences: int = SENTENCES, watch: Watch = lambda _: None) -> xr.Dataset:
        """How well a hypothesis predicts the attention of each head, on the first sentences of the corpus, a uniform sample.

        Parameters
        ----------
        names
            A function of a `store.hypothesis.HypothesisSentence` that returns (query_token, key_token): True where it claims that the
            query attends to the key. Pairs with a special token do not count.
        sentences
            Number of sentences; fewer where the corpus has fewer.
        watch
            Called with the finished share, 0 to 1; an error that it raises ends the computation.

        Returns
        -------
        `precision`, `recall`, `iou` and `bias` (layer, head), see `store.kernels.relations.MEASURES`, each with its 95% interval
        (bound, layer, head) by bootstrap over sentences. NaN where the hypothesis names no key. Attributes: `sentences`, and
        numbers of sentences and queries with named keys: `named_sentences`, `named_queries`.

        Raises
        ------
        StoreError
            Where the function returns another shape.

        Examples
        --------
        Which head attends from "not" to the word after it:

        >>> def negated(sentence):
        ...     pieces = np.array(sentence.wordpieces)
        ...     return (pieces == "not")[:, None] & (sentence.tokens.offset == 1)
        >>> corpus.hypothesis(negated).precision.max()  # doctest: +SKIP
        """
        vectors = {"query": self.query, "key": self.key}
        tested = test_hypothesis(self, vectors, names, sentences, self._bootstrap_seed, watch, self.bias)
        return tested.assign_attrs(snapshot=self.snapshot)

    @cached_property
    def rule_text(self) -> RuleText:
        """The sentences with all properties that rules depend on. NotIngested where the rules are not computed."""
        return RuleText(self, RuleSentences.stored(self._roles).tabled)

    @cached_property
    def mean_patterns(self) -> MeanPatterns:
        """Mean patterns of all heads, layer after layer, over at most 60 sentences that rules are fitted on."""
        lengths, flags = self.sentences.row_size.values, self.tokens.token_flags.values
        chosen = sentences_within(lengths, self.rule_sentences.fitted[:MEAN_SENTENCES], MEAN_WEIGHTS)
        vectors = {"query": self.query, "key": self.key}
        read = read_patterns(self, vectors, chosen.tolist(), self.bias)
        return MeanPatterns.of(((pattern, flags[self.sentence_rows(index)]) for index, pattern in read), self.bias)

    def head_tables(self, layer: int, head: int) -> HeadTables:
        """Tables of a head: mean, position's part and wordpiece's part of its queries and keys; tables of recent heads are kept."""
        check_head(layer, head, layers=self.layers, heads=self.heads)
        tables = self._tables.get((layer, head))
        if tables is None:
            query, key = (self._model[role].variable[layer, head].values for role in ROLES)
            tables = read_tables(self, RuleSentences.stored(self._roles), query, key)
            # A new mapping: other threads may read the previous one.
            self._tables = dict([*self._tables.items()][1 - KEPT_TABLES :]) | {(layer, head): tables}
        return tables

    def head_dictionary(self, layer: int, head: int) -> xr.Dataset:
        """Pairs with the largest logits by a head's tables: logits minus the query's logit for an average key, without context.

        Counts are of the sentences that the tables are made of. NotIngested where the rules are not computed.

        Returns
        -------
        `word_pair_logit` (word_pair) of pairs of wordpieces, `word_position_logit` (word_position) and `position_word_logit` (position_word)
        of a wordpiece and a position, the largest first, each with its `_query`, `_key` and the number of `_sentences` that have both;
        `offset_logit` (offset), mean of two positions at a distance.
        """
        tables, sentences = self.head_tables(layer, head), RuleSentences.stored(self._roles).in_tables
        found = head_dictionary(self, sentences, tables, self.bias and self.bias.part(layer, head))
        return found.assign_attrs(snapshot=self.snapshot)

    # -- pictures -----------------------------------------------------------------------------------

    @property
    def views(self) -> list[str]:
        """Names of the finished views, the default first."""
        return list(self._views.names)

    def view(self, name: str) -> xr.Dataset:
        """A view: coordinates (layer, head, role, token, component), fit, fidelity; its parameters as attributes. Lazy.

        StoreError where there is no finished view of this name.
        """
        return self._views.open(name)

    def places(
        self, view: str, rows: NDArray[np.int64], *, layer: int | None = None, head: int | None = None
    ) -> NDArray[np.float32]:
        """Positions of queries and keys in a view, 0 to 1 on every axis of its cube.

        Parameters
        ----------
        view
            Name of the view.
        rows
            Rows of the token axis.
        layer, head
            0-based; None for all.

        Returns
        -------
        ([layer, head,] token, role, component).
        """
        check_head(layer or 0, head or 0, layers=self.layers, heads=self.heads)
        coordinates = self.view(view).coordinates.variable.isel(_indexers(layer, head))
        return np.moveaxis(read_rows(coordinates, rows), -3, -2).astype(np.float32) / np.float32(LARGEST_COORDINATE)

    # -- feature points -----------------------------------------------------------------------------

    @cached_property
    def token_sets(self) -> list[str]:
        """Token sets with vectors at the feature points: `sample`, `review-<n>`; empty where the ingest stored none."""
        return list(self._groups.open_optional(f"models/{self.name}/features").attrs.get("materials", []))

    def features(self, token_set: str) -> Features:
        """Vectors of a token set at all feature points. StoreError where the store does not hold the token set."""
        if token_set not in self.token_sets:
            remedy = f"Choose one of: {', '.join(self.token_sets)}." if self.token_sets else "Run `headscape ingest`."
            raise StoreError(f"{self.name} has no feature points of {token_set!r}. {remedy}")
        if token_set in self._features:
            return self._features[token_set]
        # Two threads may both open a token set: both get the same object.
        return self._features.setdefault(token_set, Features(self, self._groups, token_set))


def _indexers(layer: int | None, head: int | None) -> dict[str, int]:
    return {dim: index for dim, index in zip(HEADS, (layer, head), strict=True) if index is not None}
