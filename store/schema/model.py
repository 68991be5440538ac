"""The group `/models/<key>`: vectors of a model on a corpus, and the statistics of its heads.

Below a model: `normalizations` and `views/<name>` (`store.schema.pictures`), `features/<token set>`
(`store.schema.features`), `roles` (`store.schema.corpus`), and, declared here, `bias`, which is written with the vectors, and `pairs`,
`divergence` and `importance`, each computed by a stage of the ingest.
Layers and heads count from 0 and are shown as `L7 H9` (Clark's "8-10").
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from store.schema import Array, numbered, whole

#: Sources, the queries that a head statistic is averaged over; `other` is every query but [SEP] (Clark's rest_sep).
SOURCES = ("all", "cls", "sep", "punctuation", "word", "other")
ROLES = ("query", "key")


@dataclass(frozen=True)
class Statistic:
    """A number per (layer, head, token): title, unit, meaning as a sentence, formula and paper."""

    title: str
    unit: str
    formula: str
    meaning: str
    paper: str


_CLARK = "Clark et al. 2019, section 3"
#: Tokens that `to_punctuation` counts, as in its formula.
STOPS = "a full stop or comma of any script, such as . , 。 、 ।"


def _share(of: str, formula: str, *, paper: str = _CLARK) -> Statistic:
    return Statistic(f"attention to {of}", "share", formula, f"Share of a query's attention weight on {of}.", paper)


def _norm_share(of: str, which: str) -> Statistic:
    return Statistic(
        f"norm-weighted attention to {of}",
        "share",
        f"sum of p(i,j) |f(x_j)| over {which} / sum over all j",
        f"Share of attention to {of} if every weight is multiplied by the value norm of its key.",
        "Kobayashi et al. 2020, section 4",
    )


STATISTICS: Mapping[str, Statistic] = {
    "to_cls": _share("[CLS]", "sum of p(i,j) over j = [CLS]"),
    "to_sep": _share("[SEP]", "sum of p(i,j) over j = [SEP]"),
    "to_punctuation": _share("full stops and commas", f"sum of p(i,j) over j = {STOPS}"),
    "to_previous": _share("the previous token", "p(i,i-1), 0 for the first token"),
    "to_next": _share("the next token", "p(i,i+1), 0 for the last token"),
    "to_self": _share("itself", "p(i,i)"),
    "entropy": Statistic(
        "attention entropy",
        "nats",
        "- sum over j of p(i,j) ln p(i,j)",
        "How widely a query spreads its attention: 0 on a single key, ln n on n keys alike.",
        _CLARK,
    ),
    "attended_keys": Statistic(
        "keys with weight > 5%",
        "keys",
        "number of j with p(i,j) > 0.05",
        "How many keys get more than 5% of a query's attention.",
        "Yeh et al. 2023 (AttentionViz), which draws lines from 5%",
    ),
    "distance": Statistic(
        "mean attention distance",
        "tokens",
        "sum over j of p(i,j) |i - j|",
        "How many tokens lie between a query and the keys it attends to, on average.",
        "Vig and Belinkov 2019, section 3",
    ),
    "received": Statistic(
        "attention received",
        "× even share",
        "sum over queries i of p(i,j); 1 for the mean token of a sentence",
        "How much attention a token gets as a key from all queries of its sentence.",
        "Clark et al. 2019: the sum of a column",
    ),
    "confidence": Statistic(
        "mean largest weight (“confidence”, Voita et al.)",
        "share",
        "largest p(i,j) over j other than [SEP]",
        "The largest attention weight of a query, keys [SEP] left out.",
        "Voita et al. 2019, section 4",
    ),
    "participation": Statistic(
        "effective number of keys",
        "keys",
        "1 / sum over j of p(i,j)^2",
        "How many keys share a query's attention: n where n keys have the same weight.",
        "the inverse participation ratio",
    ),
    "to_sink": Statistic(
        "attention to sinks",
        "share",
        "sum of p(i,j) over j whose mean weight over the n rows is above 0.3 and above 1.5 times that of even attention",
        "Share of a query's attention weight on sinks: tokens that most queries attend to strongly.",
        "Gu et al. 2024, threshold 0.3, or 1.5 times even attention if that is more",
    ),
    "norm_to_cls": _norm_share("[CLS]", "j = [CLS]"),
    "norm_to_sep": _norm_share("[SEP]", "j = [SEP]"),
    "norm_to_punctuation": _norm_share("full stops and commas", f"j = {STOPS}"),
    "norm_to_self": _norm_share("itself", "j = i"),
}


_MIXING = "Kobayashi et al. 2021, section 3"


def varying_statistics(source: str) -> list[str]:
    """Statistics in which heads differ, over the queries of a source: all tokens together receive 1 in every head."""
    return [name for name in STATISTICS if (name, source) != ("received", "all")]


def _ratio(title: str, formula: str, meaning: str) -> Statistic:
    return Statistic(title, "share", formula, meaning, _MIXING)


#: Mixing ratios: the share of a token's vector that comes from other tokens, |m_i| / (|m_i| + |s_i|), where m_i is the mixed
#: and s_i the preserved part, with vectors f of all heads (Kobayashi 2021, section 3).
RATIOS: Mapping[str, Statistic] = {
    "attn_w": _ratio(
        "mixing ratio by weights",
        "1 - mean over heads of p(i,i)",
        "Share of attention weight on other tokens.",
    ),
    "attnres_w": _ratio(
        "mixing ratio by weights, with residual",
        "half of it: (1 - mean of p(i,i)) / 2",
        "The same, with the residual connection counted as weight on the token itself.",
    ),
    "attn_n": _ratio(
        "mixing ratio by vectors",
        "|m| / (|m| + |s|), m = sum over heads and j other than i of p(i,j) f(j), s = sum over heads of p(i,i) f(i)",
        "Share of the norm of an attention output that comes from other tokens.",
    ),
    "attnres_n": _ratio(
        "mixing ratio by vectors, with residual",
        "|m| / (|m| + |s + x(i)|)",
        "The same, with the residual connection added to the token's own part.",
    ),
    "attnresln_n": _ratio(
        "mixing ratio by vectors, with residual and layer norm",
        "the same of gamma (y - mean y) / deviation, y = m and y = s + x(i), deviation that of the sum before the norm",
        "The same, after the layer norm: everything in the attention block.",
    ),
}

#: Attribute of a model whose norms come before attention and the feed-forward network; without it, norms come after them.
NORM_FIRST = "norm_first"
_RATIOS_NORM_FIRST: Mapping[str, Statistic] = {
    **RATIOS,
    "attnresln_n": _ratio(
        "mixing ratio by vectors, with residual and layer norm",
        "the same of gamma (y - mean y) / deviation, y = m and y = s + x(i), deviation that of the sum m + s + x(i)",
        "The same, after the norm through which the feed-forward network reads the sum; x(i) itself is not normalised.",
    ),
}


def ratios_of(attributes: Mapping[str, Any]) -> Mapping[str, Statistic]:
    """Definitions of the mixing ratios of a model, from its attributes."""
    return _RATIOS_NORM_FIRST if attributes.get(NORM_FIRST) else RATIOS


#: Farthest key, in tokens, with an offset of its own in a profile; offsets -11 and 11 stand for all farther keys.
FARTHEST = 10
#: Relative positions key - query of a profile.
OFFSETS = tuple(range(-FARTHEST - 1, FARTHEST + 2))
#: Attributes of a model with vectors of only a part of its sentences: sizes of all sentences that its exact numbers cover.
COUNTED = ("counted_sentences", "counted_tokens", "counted_blocks")


def counted_size(attributes: Mapping[str, Any], size: str) -> int:
    """Number of `sentences`, `tokens` or `blocks` that a model's exact numbers cover, from its attributes."""
    return int(attributes.get(f"counted_{size}", attributes[size]))


#: Ends of the 95% interval of a mean.
BOUNDS = ("low", "high")


def _vectors(meaning: str) -> Array:
    dims = ("layer", "head", "token", "channel")
    shard = (1, "head", "block", "channel")
    return Array(dims, "float16", (1, 1, "tile", "channel"), meaning, shard, float("nan"), compressed=False)


def _by_block(dims: tuple[str, ...], meaning: str, dtype: str = "float64") -> Array:
    return Array(("task", *dims), dtype, (1, *dims), meaning)


MODEL_ARRAYS: Mapping[str, Array] = {
    "layer": numbered("layer", "0-based"),
    "head": numbered("head", "0-based"),
    "statistic": numbered("statistic", "names of the statistics", "str"),
    "source": numbered("source", "query rows over which head statistics are averaged", "str"),
    "query": _vectors("query before the 1/sqrt(channels) scale"),
    "key": _vectors("key less key_constant"),
    "key_constant": Array(
        ("layer", "head", "channel"),
        "float32",
        ("layer", "head", "channel"),
        "what the keys of a head have in common, to be added to stored keys (`store.stored_keys`)",
        fill=0,
    ),
    "token_statistic": Array(
        ("statistic", "layer", "head", "token"),
        "float16",
        (1, 1, "head", "block"),
        "statistics of each token's row (received: column)",
        (1, "layer", "head", "block"),
        float("nan"),
        compressed=False,
    ),
    "value_norm": Array(
        ("layer", "head", "token"),
        "float16",
        (1, "head", "block"),
        "||f(x)|| = ||(x W_V + b_V) W_O|| of the head (Kobayashi 2020)",
        ("layer", "head", "block"),
        float("nan"),
        compressed=False,
    ),
    "block_sum": _by_block(
        ("source", "statistic", "layer", "head"),
        "sum over the block's sentences of the mean over the sentence's rows of this source",
    ),
    "block_count": _by_block(("source",), "sentences of the block that have such rows", "int64"),
    "head_statistic": whole(
        ("source", "statistic", "layer", "head"),
        "mean over sentences (each weighs the same) of the mean over rows of token_statistic",
    ),
    "bound": numbered("bound", "ends of the 95% interval", "str"),
    "head_interval": whole(
        ("bound", "source", "statistic", "layer", "head"),
        "95% interval of head_statistic, by bootstrap over sentences",
    ),
    "layer_interval": whole(
        ("bound", "source", "statistic", "layer"),
        "95% interval of the mean over heads of head_statistic, by the same bootstrap",
    ),
    "offset": numbered("offset", "key - query in tokens; -11 and 11: farther than 10"),
    "block_profile": _by_block(
        ("offset", "layer", "head"), "sum over the block's sentences of the mean over rows of the weight at this offset"
    ),
    "head_profile": whole(
        ("offset", "layer", "head"), "mean over sentences of the mean over rows of the weight at this offset; sums to 1"
    ),
    "block_received_at": _by_block(
        ("position", "layer", "head"),
        "sum over the block's sentences of the mean weight that the rows give to this position",
    ),
    "block_tokens_at": _by_block(("position",), "sentences of the block that have this position", "int64"),
    "received_at": whole(
        ("position", "layer", "head"),
        "mean over the sentences that have this position of the mean weight that the rows give to it",
    ),
    "tokens_at": numbered("position", "sentences that have this position", "int64"),
    "ratio": numbered("ratio", "names of the mixing ratios", "str"),
    "token_mixing": Array(
        ("ratio", "layer", "token"),
        "float16",
        (1, 1, "block"),
        "mixing ratios of each token (Kobayashi 2021)",
        ("ratio", "layer", "block"),
        float("nan"),
        compressed=False,
    ),
    "block_mixing_sum": _by_block(
        ("source", "ratio", "layer"),
        "sum over the block's sentences of the mean over the sentence's tokens of this source",
    ),
    "layer_mixing": whole(
        ("source", "ratio", "layer"), "mean over sentences (each weighs the same) of the mean over tokens"
    ),
    "expansion_rate": whole(
        ("layer",), "root mean square gain of x -> f(x) of all heads, from the weights alone (Kobayashi 2021)"
    ),
    "task_hash": Array(
        ("task",), "uint64", (1,), "content hash of the block these numbers were computed from, 0 if not written"
    ),
}

#: Sums of squares that intervals are computed from, of a model with sentences without stored vectors.
SQUARE_ARRAYS: Mapping[str, Array] = {
    "block_square": replace(
        _by_block(
            ("source", "statistic", "layer", "head"),
            "sum over the block's sentences of the square of the mean over the sentence's rows of this source",
        ),
        fill=float("nan"),
    ),
    "block_layer_square": replace(
        _by_block(("source", "statistic", "layer"), "the same of the mean over heads"), fill=float("nan")
    ),
}

#: Attribute of the group `bias`: whether queries see no later key. Models that add nothing to logits lack the group.
CAUSAL = "causal"
#: `window` of a layer whose queries see the whole sentence.
NO_WINDOW = -1


def _of_bucket(dims: tuple[str, ...], meaning: str) -> Array:
    return Array(("layer", "head", "bucket", *dims), "float32", (1, "head", "bucket", *dims), meaning)


BIAS_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "window": Array(("layer",), "int64", ("layer",), "how far a key may be for a query to see it, in tokens; -1: any"),
    "bucket_of": Array(
        ("distance",),
        "int64",
        ("distance",),
        "bucket of a key by its position less that of the query; the ends stand for all that are farther",
    ),
    "by_bucket": _of_bucket((), "added to the logit of a key in the bucket (MPNet)"),
    "of_query": _of_bucket(("channel",), "its product with the query, over sqrt(channels), is added (DeBERTa)"),
    "of_key": _of_bucket(("channel",), "its product with the key, over sqrt(channels), is added (DeBERTa)"),
}
#: Arrays of the group `bias` that only some models have.
BIAS_TABLES = ("by_bucket", "of_query", "of_key")

#: Number of highest-scoring pairs that are stored for each head.
PAIR_RANKS = 100


def _pairs(dtype: str, meaning: str, fill: float) -> Array:
    return Array(("layer", "head", "rank"), dtype, ("layer", "head", "rank"), meaning, fill=fill)


def _block_pairs(dtype: str, meaning: str, fill: float) -> Array:
    dims = ("task", "layer", "head", "rank")
    return Array(dims, dtype, (1, "layer", "head", "rank"), f"{meaning}, of the block's strongest pairs", fill=fill)


PAIR_NUMBERS: Mapping[str, tuple[str, str, float]] = {
    "query_token": ("int64", "row of the query on the token axis, -1 where there are fewer pairs", -1),
    "key_token": ("int64", "row of the key on the token axis, -1 where there are fewer pairs", -1),
    "logit": ("float32", "q.k / sqrt(channels), the strongest first; each two wordpieces once", float("nan")),
    "weight": ("float32", "p(i,j) of the pair", float("nan")),
}

PAIR_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    **{name: _pairs(*number) for name, number in PAIR_NUMBERS.items()},
    **{f"block_{name}": _block_pairs(*number) for name, number in PAIR_NUMBERS.items()},
    "pairs_hash": Array(("task",), "uint64", (1,), "hash of the block the pairs were found in, 0 if not written"),
}


#: Dims of a head.
HEADS = ("layer", "head")
#: Dims of the second head of a pair of heads.
OTHER_HEADS = ("other_layer", "other_head")

DIVERGENCE_ARRAYS: Mapping[str, Array] = {
    **{dim: MODEL_ARRAYS[dim] for dim in HEADS},
    **{dim: numbered(dim, "0-based") for dim in OTHER_HEADS},
    "divergence": whole(
        (*HEADS, *OTHER_HEADS),
        "Jensen-Shannon divergence of the heads' rows in nats, sum over the tokens of the sample (Clark 2019)",
    ),
    "place": whole((*HEADS, "component"), "map of the heads: metric MDS of the mean divergence of a token"),
}

#: Losses that measure head importance, by the kind of the model.
LOSSES: Mapping[str, str] = {
    "mlm": "cross entropy of the masked wordpieces, in nats",
    "next": "cross entropy of the next wordpiece, in nats",
    "classification": "cross entropy of the label of the sentence's review, in nats",
}

IMPORTANCE_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "change": whole(
        ("layer", "head"),
        "loss with the head's context set to 0, less the loss of the whole model (Michel 2019, section 3)",
    ),
    "new_change": Array(
        ("layer", "head"), "float64", (1, "head"), "the same of a run that may not be finished", fill=float("nan")
    ),
    "new_hash": Array(
        ("layer",), "uint64", (1,), "hash of what the layer of that run was computed from, 0 if not written"
    ),
}


def head_name(layer: int, head: int) -> str:
    """Name of a head as pages show it, 0-based: `L7 H9`."""
    return f"L{layer} H{head}"
