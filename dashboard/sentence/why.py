"""Why a head attends from one token to another: the parts of a selected pair's logit by position, word and context."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.roles.shares import known_shares
from dashboard.sentence.heads import selected_pair, why_unseen
from dashboard.sentence.picture import ShownSentence, is_mean, isolated_head, read_shown
from dashboard.sentence.sentence import Sentence
from dashboard.ui.controls import info
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.glossary import defined
from dashboard.ui.markup import heading
from dashboard.ui.small_pictures import signed_bar
from dashboard.ui.text import decimal, signed
from dashboard.web.context import Context
from dashboard.web.results import cached
from store import Corpus
from store.kernels.attention import softmax
from store.kernels.head_tables import PARTS as NAMES
from store.kernels.head_tables import HeadTables, logit_parts
from store.schema.model import head_name

#: Parts of a logit -> their titles.
PARTS = {
    "position": "position of the two tokens",
    "word": "the two wordpieces",
    "position and word": "position of one, wordpiece of the other",
    "context": "context: what neither position nor wordpiece says",
}
#: Pixels of the section, with and without a pair.
HEIGHT = 250
_ABOUT = defined(
    "score",
    "The softmax of a query's scores are its weights. Queries and keys are split into their mean, the mean at a position, the mean of a wordpiece, and the rest, which is context (after Song and Zhong "
    "2023). Shown is how far each part lifts "
    "the key above the mean of all keys of the query: what all keys have in common changes no weight. The means are of the corpus, also "
    "for a typed sentence; a wordpiece or a position that they were not made of has no part of its own, which is then context.",
)
_EMPTY = "Select a query and a key to see which part of the attention position, words and context explain."
_COLUMNS = ("part", "above the mean key", "")


@dataclass(frozen=True)
class WhyPair:
    """The parts of the logit of a pair.

    Attributes
    ----------
    head, query, key
        Name of the head, and the two wordpieces.
    weight, logit
        Attention weight and logit of the pair.
    unknown
        Wordpieces and positions of the pair that the head's tables lack, in words.
    above
        Part of the logit -> its value above the mean over the query's keys.
    """

    head: str
    query: str
    key: str
    weight: float
    logit: float
    above: dict[str, float]
    unknown: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """The logit above the mean over the query's keys: the sum of its parts."""
        return sum(self.above.values())


def why_pair(
    parts: NDArray[np.floating], names: Sequence[str], query: int, key: int
) -> tuple[float, float, dict[str, float]]:
    """Weight and logit of a pair, and each part of the logit above its mean over the query's keys.

    Parameters
    ----------
    parts
        Parts of the logits (part, query_token, key_token); their sum over parts is the logits.
    names
        Names of the parts; parts that are equal for all keys are left out. Keys that the query does not see do not count.
    """
    rows = parts[:, query].astype(np.float64)
    logits = rows.sum(axis=0)
    seen = np.isfinite(logits)
    above = rows[:, key] - rows[:, seen].mean(axis=1)
    return (
        float(softmax(logits)[key]),
        float(logits[key]),
        {name: float(part) for name, part in zip(names, above, strict=True) if name in PARTS},
    )


def sentence_parts(
    sentence: Sentence,
    tables: HeadTables,
    token_id: NDArray[np.integer],
    layer: int,
    head: int,
    rows: NDArray[np.integer] | None = None,
) -> NDArray[np.floating]:
    """Parts (part, query_token, key_token) of the logits of a sentence, of the corpus or typed, by the tables of the head.

    Parameters
    ----------
    token_id
        Token ids of the sentence's wordpieces: (token,).
    rows
        Positions of the queries; None for all queries.
    """
    query, key = (np.asarray(vectors[layer, head])[None] for vectors in (sentence.query, sentence.key))
    bias = sentence.bias and sentence.bias.part(layer, head)
    return logit_parts(query, key, tables, token_id, np.arange(len(token_id)), bias, rows)[:, 0]


@cached
def _ids(corpus: Corpus) -> Mapping[str, int]:
    """The token id of each wordpiece of the corpus' tokenizer."""
    return {str(piece): number for number, piece in enumerate(corpus.vocab)}


def unknown_parts(
    tables: HeadTables, token_id: NDArray[np.integer], pieces: Sequence[str], pair: tuple[int, int]
) -> tuple[str, ...]:
    """Wordpieces and positions of a pair that the head's tables lack, in words."""
    types, positions = tables.types(token_id), tables.position.shape[2] - 1
    tokens = list(dict.fromkeys(pair))
    unseen = dict.fromkeys(f"“{pieces[token]}”" for token in tokens if types[token] == len(tables.token_ids))
    return (*unseen, *(f"position {token}" for token in tokens if token >= positions))


def can_say_why(corpus: Corpus, shown: ShownSentence) -> bool:
    """Whether the parts can be shown: for single tokens of a single head, in a store with roles."""
    state = shown.state
    return not (state.words or is_mean(state)) and known_shares(corpus) is not None


def compute_why(context: Context) -> list[object]:
    """The parts of the selected pair, or why its query does not see its key."""
    shown = read_shown(context)
    pair = selected_pair(shown)
    if pair is None:
        return draw_why(None)
    if unseen := why_unseen(shown.sentence, *pair, context.state.layer):
        return [html.P(unseen, className="caption until-pair", role="status")]
    layer, head, pieces = context.state.layer, isolated_head(context.state), shown.sentence.wordpieces
    tables, ids = context.corpus.head_tables(layer, head), _ids(context.corpus)
    token_id = np.array([ids.get(piece, -1) for piece in pieces])
    query, key = pair
    parts = sentence_parts(shown.sentence, tables, token_id, layer, head, np.array([query]))
    unknown = unknown_parts(tables, token_id, pieces, pair)
    why = why_pair(parts, NAMES, 0, key)
    return draw_why(WhyPair(head_name(layer, head), pieces[query], pieces[key], *why, unknown))


WHY = DeferredPart(
    "why",
    "the parts of the score",
    compute_why,
    ("sentence", "text", "second", "layer", "head", "heads", "queries", "toward"),
    HEIGHT,
    shape="lines",
)


def why_panel(computed: html.Div | None) -> list[object]:
    """The section with the parts of the selected pair, computed after the page; nothing where parts cannot be shown."""
    if computed is None:
        return []
    return [html.H2(["Why this pair", info("the parts of a score", _ABOUT)]), computed]


def draw_why(shown: WhyPair | None) -> list[object]:
    """A table with a bar for each part; without a pair, how to select one."""
    if shown is None:
        return [html.P(_EMPTY, className="caption until-pair")]
    widest = max(map(abs, shown.above.values())) or 1.0
    rows = [_row(PARTS[name], part, widest) for name, part in shown.above.items()]
    total = html.Tr([html.Th("sum", scope="row"), html.Td(signed(shown.total, 2), className="number"), html.Td()])
    return [
        html.P(
            [
                f"{shown.head} gives {100 * shown.weight:.1f}% of the attention of “{shown.query}” to “{shown.key}”: "
                f"its score {decimal(shown.logit)} is ",
                html.Strong(_compared(shown.total)),
                ", most of it by ",
                html.Strong(PARTS[max(shown.above, key=lambda name: shown.above[name] * np.sign(shown.total))]),
                ".",
            ],
            role="status",
        ),
        html.Table([heading(_COLUMNS, _COLUMNS[1:2]), html.Tbody([*rows, total])], className="rows why"),
        *_unknown(shown.unknown),
    ]


def _unknown(unknown: Sequence[str]) -> list[html.P]:
    """A line on the wordpieces and positions of the pair that have no part of their own; nothing where each has one."""
    if not unknown:
        return []
    has = "have no part of their own" if len(unknown) > 1 else "has no part of its own"
    return [html.P(f"New to the corpus: {', '.join(unknown)} {has}; it counts as context.", className="caption")]


def _compared(total: float) -> str:
    return f"{abs(total):.2f} {'above' if total >= 0 else 'below'} that of the mean key"


def _row(title: str, part: float, widest: float) -> html.Tr:
    """A row of the table: a part with a bar from the middle, to the right where the part lifts the key."""
    number = html.Td(signed(part, 2), className="number")
    return html.Tr([html.Th(title, scope="row"), number, html.Td(signed_bar(part / widest))])
