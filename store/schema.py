"""Names, dims, dtypes and chunks of everything in a store: the interface between ingest and dashboard.

A store holds `/corpus/<key>` (sentences and tokens of one data set under one tokenizer), `/models/<key>`
(what one model does on one corpus), and below a model `normalizations` (`store/normalizations.py`), `views/<name>`
(pictures derived from it, `store/views.py`), `pairs` (the strongest, `PAIR_ARRAYS` here), the arrays of divergence
(`store/divergence.py`), `importance` (`store/importance.py`, where it was asked for) and `features/<material>` (vectors
at the feature points with their pictures, `store/feature_arrays.py`).
Numbering is 0-based everywhere; a head is shown as `L7 H9` (Clark's "8-10").
"""

from collections.abc import Mapping
from dataclasses import dataclass

SCHEMA_VERSION = 4
#: Stores of schema 3 have no `key_constant`: their keys are stored as they are.
READABLE = (3, SCHEMA_VERSION)

#: Tokens of a block: the unit of work and the length of a shard; no sentence crosses a block.
BLOCK = 8192
#: Tokens of an inner chunk of query and key: one head of all tokens and one sentence of all heads both read well.
TILE = 2048

CLS, SEP, PUNCTUATION, CONTINUATION, PAD, SYMBOL = 1, 2, 4, 8, 16, 32
#: PUNCTUATION is "." and "," only (Clark et al. 2019); SYMBOL is every other token without letter or digit.
TOKEN_FLAGS = {
    "cls": CLS,
    "sep": SEP,
    "punctuation": PUNCTUATION,
    "continuation": CONTINUATION,
    "pad": PAD,
    "symbol": SYMBOL,
}

#: Query rows over which a head statistic is averaged; `other` is every row but that of [SEP] (Clark's rest_sep).
SOURCES = ("all", "cls", "sep", "punctuation", "word", "other")
ROLES = ("query", "key")


@dataclass(frozen=True)
class Statistic:
    """A number per (layer, head, token), and how a person reads it."""

    title: str
    unit: str
    formula: str


def _norm_share(of: str, which: str) -> Statistic:
    return Statistic(
        f"share of {of} by norm",
        "share",
        f"sum of p(i,j) |f(x_j)| over {which} / sum over all j (Kobayashi 2020)",
    )


STATISTICS: Mapping[str, Statistic] = {
    "to_cls": Statistic("attention to [CLS]", "share", "sum of p(i,j) over j = [CLS]"),
    "to_sep": Statistic("attention to [SEP]", "share", "sum of p(i,j) over j = [SEP]"),
    "to_punctuation": Statistic("attention to . and ,", "share", "sum of p(i,j) over j = '.' or ','"),
    "to_previous": Statistic("attention to the previous token", "share", "p(i,i-1), 0 for the first token"),
    "to_next": Statistic("attention to the next token", "share", "p(i,i+1), 0 for the last token"),
    "to_self": Statistic("attention to itself", "share", "p(i,i)"),
    "entropy": Statistic("entropy of the row", "nats", "- sum over j of p(i,j) ln p(i,j)"),
    "attended_keys": Statistic("keys above 5 %", "keys", "number of j with p(i,j) > 0.05"),
    "distance": Statistic("mean attention distance", "tokens", "sum over j of p(i,j) |i - j|"),
    "received": Statistic("attention received", "rows", "sum over queries i of p(i,j); 1 if attention were uniform"),
    "confidence": Statistic("confidence", "share", "largest p(i,j) over j other than [SEP] (Voita 2019)"),
    "participation": Statistic("keys that take part", "keys", "1 / sum over j of p(i,j)^2"),
    "to_sink": Statistic(
        "attention to sinks",
        "share",
        "sum of p(i,j) over j whose mean weight over the n rows is above 0.3 (Gu 2024) and above 1.5 / n",
    ),
    "norm_to_cls": _norm_share("[CLS]", "j = [CLS]"),
    "norm_to_sep": _norm_share("[SEP]", "j = [SEP]"),
    "norm_to_punctuation": _norm_share(". and ,", "j = '.' or ','"),
    "norm_to_self": _norm_share("itself", "j = i"),
}

#: How much of a token's vector comes from other tokens; the share of mixing m_i beside what is preserved s_i,
#: |m_i| / (|m_i| + |s_i|), with vectors f of all heads (Kobayashi 2021, section 3).
RATIOS: Mapping[str, Statistic] = {
    "attn_w": Statistic("mixing by the weights", "share", "1 - mean over heads of p(i,i)"),
    "attnres_w": Statistic("mixing by the weights, with the residual", "share", "half of it: (1 - mean of p(i,i)) / 2"),
    "attn_n": Statistic(
        "mixing by the vectors",
        "share",
        "|m| / (|m| + |s|), m = sum over heads and j other than i of p(i,j) f(j), s = sum over heads of p(i,i) f(i)",
    ),
    "attnres_n": Statistic("mixing by the vectors, with the residual", "share", "|m| / (|m| + |s + x(i)|)"),
    "attnresln_n": Statistic(
        "mixing by the vectors, with the residual and the layer norm",
        "share",
        "the same of gamma (y - mean y) / deviation, y = m and y = s + x(i), deviation that of the sum before the norm",
    ),
}

#: Farthest key that has a place of its own in a profile; -11 and 11 are all that is farther.
FARTHEST = 10
#: Key - query, as profiles count it.
OFFSETS = tuple(range(-FARTHEST - 1, FARTHEST + 2))
#: Ends of the 95 % interval of a mean.
BOUNDS = ("low", "high")


@dataclass(frozen=True)
class Array:
    """One array of a group: its dims, and chunk and shard in the same order, as numbers or names of sizes."""

    dims: tuple[str, ...]
    dtype: str
    chunk: tuple[int | str, ...]
    meaning: str
    shard: tuple[int | str, ...] | None = None
    fill: float | None = None
    compressed: bool = True


def _token(dtype: str, meaning: str, fill: int = 0) -> Array:
    return Array(("token",), dtype, ("block",), meaning, fill=fill)


def _sentence(dtype: str, meaning: str, fill: int = 0) -> Array:
    return Array(("sentence",), dtype, (16384,), meaning, fill=fill)


def _vectors(meaning: str) -> Array:
    dims = ("layer", "head", "token", "channel")
    shard = (1, "head", "block", "channel")
    return Array(dims, "float16", (1, 1, "tile", "channel"), meaning, shard, float("nan"), compressed=False)


def numbered(dim: str, meaning: str, dtype: str = "int16") -> Array:
    """What stands at each place of a dim."""
    return Array((dim,), dtype, (dim,), meaning)


def whole(dims: tuple[str, ...], meaning: str) -> Array:
    """Exact numbers that are written at once, NaN before."""
    return Array(dims, "float64", dims, meaning, fill=float("nan"))


def _by_block(dims: tuple[str, ...], meaning: str, dtype: str = "float64") -> Array:
    return Array(("task", *dims), dtype, (1, *dims), meaning)


CORPUS_ARRAYS: Mapping[str, Array] = {
    "token_id": _token("int32", "index into vocab"),
    "position": _token("int16", "position in the sentence, [CLS] is 0"),
    "word_index": _token("int16", "word of the sentence this wordpiece belongs to, -1 for special tokens", -1),
    "sentence_index": _token("int32", "sentence of the token, -1 for padding at the end of a block", -1),
    "token_flags": _token("uint8", "bits: " + ", ".join(f"{bit} {name}" for name, bit in TOKEN_FLAGS.items()), PAD),
    "row_start": _sentence("int64", "first token of the sentence"),
    "row_size": _sentence("int32", "tokens of the sentence, [CLS] and [SEP] included"),
    "label": _sentence("int16", "label of the review, -1 if it has none", -1),
    "document": _sentence("int32", "index of the review in the data"),
    "sentence_hash": _sentence(
        "uint64", "content hash; sentences are sorted by it, so every prefix is a uniform sample"
    ),
    "text": Array(("sentence",), "str", (4096,), "the sentence as it stands in the review"),
    "vocab": numbered("vocab", "wordpiece of each token id", "str"),
}

#: Every array of `/corpus/<key>/columns`: a categorical column that came with the data.
COLUMN = _sentence("int16", "category of the sentence's review: index into `names`, -1 if it has none", -1)

MODEL_ARRAYS: Mapping[str, Array] = {
    "layer": numbered("layer", "0-based"),
    "head": numbered("head", "0-based"),
    "statistic": numbered("statistic", "names of the statistics", "str"),
    "source": numbered("source", "query rows over which head statistics are averaged", "str"),
    "query": _vectors("query before the 1/sqrt(channel) scale"),
    "key": _vectors("key less key_constant"),
    "key_constant": Array(
        ("layer", "head", "channel"),
        "float32",
        ("layer", "head", "channel"),
        "what the keys of a head have in common, to be added to stored keys (`store.keys`)",
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
    "bound": numbered("bound", "ends of the 95 % interval", "str"),
    "head_interval": whole(
        ("bound", "source", "statistic", "layer", "head"),
        "95 % interval of head_statistic, by bootstrap over sentences",
    ),
    "layer_interval": whole(
        ("bound", "source", "statistic", "layer"),
        "95 % interval of the mean over heads of head_statistic, by the same bootstrap",
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

#: Pairs that are kept of every head.
PAIR_RANKS = 100


def _pairs(dtype: str, meaning: str, fill: float) -> Array:
    return Array(("layer", "head", "rank"), dtype, ("layer", "head", "rank"), meaning, fill=fill)


def _block_pairs(dtype: str, meaning: str, fill: float) -> Array:
    dims = ("task", "layer", "head", "rank")
    return Array(dims, dtype, (1, "layer", "head", "rank"), f"{meaning}, of the block's strongest pairs", fill=fill)


PAIR_NUMBERS: Mapping[str, tuple[str, str, float]] = {
    "query_token": ("int64", "row of the query on the token axis, -1 where there are fewer pairs", -1),
    "key_token": ("int64", "row of the key on the token axis, -1 where there are fewer pairs", -1),
    "logit": ("float32", "q.k / sqrt(channel), the strongest first; each two wordpieces once", float("nan")),
    "weight": ("float32", "p(i,j) of the pair", float("nan")),
}

PAIR_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    **{name: _pairs(*number) for name, number in PAIR_NUMBERS.items()},
    **{f"block_{name}": _block_pairs(*number) for name, number in PAIR_NUMBERS.items()},
    "pairs_hash": Array(("task",), "uint64", (1,), "hash of the block the pairs were found in, 0 if not written"),
}


def head_name(layer: int, head: int) -> str:
    """How a head is written for a person: 0-based, `L7 H9`."""
    return f"L{layer} H{head}"
