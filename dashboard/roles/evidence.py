"""Evidence of a role of a head: sentences of a sample, in tenths by the share of the head's attention that goes where the role says."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.roles.head_roles import main_role, shares_of_head
from dashboard.roles.shares import kind_number
from dashboard.ui.controls import action, info
from dashboard.ui.deferred import DeferredPart, of_corpus
from dashboard.ui.markup import FOLLOWED, heading
from dashboard.ui.small_pictures import sentence_lines
from dashboard.ui.work import watched
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.attention import attention_pattern
from store.kernels.bias import Mask
from store.kernels.rules import RULES, Rule, SentenceTokens
from store.phrases import many
from store.schema.model import ROLES, head_name

#: Tokens of a sentence of the sample, [CLS] and [SEP] included: few enough to be drawn.
FEWEST_TOKENS, MOST_TOKENS = 7, 20
#: Most sentences of the sample, and number of first sentences of the corpus that it is taken from.
SAMPLED, SEARCHED = 1_000, 8_000
#: Sentences whose vectors are read at once.
READ = 1_000
#: Tenths of the sentences from which a sentence is drawn; tenth 10 has the largest shares.
DECILES = (10, 8, 6, 4, 2, 1)
#: Number of listed sentences that speak against the role, and most characters of each; id of their list, for links.
MOST_AGAINST, CHARACTERS = 3, 90
AGAINST = "role-against"
#: Number of wordpieces listed for queries and for keys, and least number of occurrences of each.
LISTED, LEAST_COUNTED = 6, 5
#: Classes of the lines that go where the role says, and of all other lines (assets/points.css).
WHERE, ELSEWHERE = "of-role", "elsewhere"
_MEASURE = (
    "Of each query that is a word and has a key that the role names: the share of its attention that goes to these keys. Of a broad "
    "role, such as nearby tokens: the part of its attention between words that the role alone predicts. The number of a "
    "sentence is the mean over these queries. The table above may give the role less: there each part of the attention counts for one role only."
)
_WORDPIECES = (
    "Query: mean share of the attention of a wordpiece that goes where the role says. Key: mean weight that a wordpiece gets from "
    f"a query to which the role names it. Wordpieces with fewer than {LEAST_COUNTED} of them are left out."
)
Pattern = NDArray[np.floating]


@dataclass(frozen=True)
class StrongWordpiece:
    """A wordpiece, its mean share or weight, and the number of queries or pairs that the mean is over."""

    name: str
    mean: float
    count: int


@dataclass(frozen=True)
class RoleSentences:
    """Sentences of the sample in which a role names a key, in the order of the corpus, with the role's share of the attention.

    Attributes
    ----------
    sentences
        Numbers of the sentences in the corpus: (sentence,).
    shares
        Share of the head's attention that goes where the role says, 0 to 1: (sentence,).
    even
        The same share for even attention to all keys that each query sees, mean over the sentences.
    queries, keys
        Wordpieces with the largest mean share as queries, and those with the largest mean weight as keys of the role.
    """

    sentences: NDArray[np.int64]
    shares: NDArray[np.float64]
    even: float
    queries: tuple[StrongWordpiece, ...] = ()
    keys: tuple[StrongWordpiece, ...] = ()

    @property
    def deciles(self) -> dict[int, int]:
        """Tenth by share -> index of the sentence in the middle of the tenth; only `DECILES`, no sentence twice."""
        order = np.argsort(self.shares, kind="stable")
        places: dict[int, int] = {}
        for decile in DECILES if len(order) else ():
            place = int(order[int((decile - 0.5) / 10 * len(order))])
            if place not in places.values():
                places[decile] = place
        return places

    @property
    def least(self) -> list[int]:
        """Indices of the sentences with the smallest shares among those that no tenth draws, the smallest first."""
        order, drawn = np.argsort(self.shares, kind="stable"), set(self.deciles.values())
        return [place for place in order.tolist() if place not in drawn][:MOST_AGAINST]


@dataclass(frozen=True)
class RoleKeys:
    """The keys that a role names to the queries of a sentence.

    Attributes
    ----------
    targets
        Weight of each named key, 0 of all others: (query_token, key_token). Special tokens are keys of sinks, never queries.
    is_word
        Whether each token belongs to a word: (token,).
    is_named
        Whether all named keys of a query count alike; False for a broad role, which weights them.
    """

    targets: NDArray[np.float32]
    is_word: NDArray[np.bool_]
    is_named: bool

    @classmethod
    def of(cls, rule: Rule, tokens: SentenceTokens) -> "RoleKeys":
        """The keys that a rule names in a sentence."""
        targets = np.asarray(rule.targets(tokens), np.float32) * tokens.is_word[:, None] * tokens.seen
        is_sink = rule.breadth == "sink"
        return cls(targets if is_sink else targets * tokens.is_word, tokens.is_word, is_sink or rule.is_sieve)

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Whether each query has a named key: (token,)."""
        asked: NDArray[np.bool_] = (self.targets > 0).sum(axis=1) > 0
        return asked

    def part(self, pattern: Pattern) -> Pattern:
        """The attention (query_token, key_token) to named keys; for a broad role, the part of it that the role predicts."""
        if self.is_named:
            return np.where(self.targets > 0, pattern, 0)
        between = pattern[:, self.is_word].sum(axis=1) / np.maximum(self.targets.sum(axis=1), np.finfo(np.float32).tiny)
        return np.minimum(pattern, self.targets * between[:, None])

    def share(self, pattern: Pattern) -> float:
        """Share of the attention that goes where the role says, mean over the queries with a named key; NaN without such queries."""
        asked = self.asked
        return float(self.part(pattern)[asked].sum(axis=1).mean()) if asked.any() else float("nan")

    def drawn(self, pattern: Pattern) -> dict[str, Pattern]:
        """Class of lines -> weights (query_token, key_token): those to named keys, and all others."""
        where = self.targets > 0
        return {ELSEWHERE: np.where(where, 0, pattern), WHERE: np.where(where, pattern, 0)}


@cached
def role_sentences(corpus: Corpus, layer: int, head: int, role: str) -> RoleSentences:
    """The sentences of the sample with the shares of a role, computed from queries and keys of the head."""
    return _compared(corpus, layer, head, role, _sample(corpus), _tokens_of_sample(corpus, corpus.masks[layer]))


@cached
def every_sentence(corpus: Corpus, layer: int, head: int, role: str) -> RoleSentences:
    """All sentences with stored vectors, with the shares of a role of a head."""
    every, mask = np.arange(corpus.n_sentences), corpus.masks[layer]
    texts = (corpus.rule_text.sentence(sentence, mask) for sentence in every.tolist())
    return _compared(corpus, layer, head, role, every, texts)


@cached
def _tokens_of_sample(corpus: Corpus, mask: Mask) -> list[SentenceTokens]:
    """What rules see of the sample, cached for all heads with the same mask: it took half of the time of a head's evidence."""
    return [corpus.rule_text.sentence(sentence, mask) for sentence in _sample(corpus).tolist()]


def _compared(
    corpus: Corpus, layer: int, head: int, role: str, sample: NDArray[np.int64], texts: Iterable[SentenceTokens]
) -> RoleSentences:
    """Sentences with the share of a head's attention that goes where a role says; `texts` are what rules see of `sample`."""
    rule = RULES[role]
    shares, even = np.full((2, len(sample)), np.nan)
    of_query, of_key = np.zeros((2, 2, len(corpus.vocab)))
    sentences = watched(sample.tolist(), f"Comparing {many(len(sample), 'sentence')}")
    with_patterns = zip(sentences, texts, patterns_of(corpus, layer, head, sample.tolist()), strict=True)
    for place, (_, tokens, pattern) in enumerate(with_patterns):
        keys = RoleKeys.of(rule, tokens)
        shares[place], even[place] = keys.share(pattern), keys.share(tokens.mask.even(len(tokens)))
        part = keys.part(pattern)
        for sums, added in zip(
            (*of_query, *of_key),
            (part.sum(axis=1), keys.asked, part.sum(axis=0), (keys.targets > 0).sum(axis=0)),
            strict=True,
        ):
            np.add.at(sums, tokens.token_id, added)
    counts = np.isfinite(shares)
    return RoleSentences(
        sample[counts],
        shares[counts],
        float(even[counts].mean()) if counts.any() else float("nan"),
        strongest_wordpieces(corpus.vocab, *of_query),
        () if rule.breadth == "sink" else strongest_wordpieces(corpus.vocab, *of_key),
    )


def patterns_of(corpus: Corpus, layer: int, head: int, sentences: Sequence[int], read: int = READ) -> Iterator[Pattern]:
    """Patterns (query_token, key_token) of a head in ascending sentences; vectors of `read` sentences are read at once."""
    bias = corpus.bias and corpus.bias.part(layer, head)
    # The constant part of all keys changes no weight, so it is left out unless a bias needs whole keys.
    both = (
        [corpus.stored_vectors(side, layer=layer, head=head)[0] for side in ROLES]
        if bias is None
        else [vectors.variable[layer, head] for vectors in (corpus.query, corpus.key)]
    )
    for first in range(0, len(sentences), read):
        spans = [corpus.sentence_rows(sentence) for sentence in sentences[first : first + read]]
        start, stop = spans[0].start, spans[-1].stop
        query, key = (vectors[start:stop].values for vectors in both)
        for span in spans:
            own = slice(span.start - start, span.stop - start)
            yield attention_pattern(*(each[None, own].astype(np.float32) for each in (query, key)), bias=bias)[0]


def strongest_wordpieces(vocab: NDArray[Any], sums: Pattern, counts: Pattern) -> tuple[StrongWordpiece, ...]:
    """The wordpieces with the largest means, the largest first, among those with enough counts; `sums` and `counts` are (vocab,)."""
    means = np.divide(sums, counts, out=np.full(sums.shape, -np.inf), where=counts >= LEAST_COUNTED)
    order = np.argsort(-means, kind="stable")[:LISTED]
    return tuple(
        StrongWordpiece(str(vocab[piece]), float(means[piece]), int(counts[piece]))
        for piece in order.tolist()
        if np.isfinite(means[piece])
    )


def _sample(corpus: Corpus) -> NDArray[np.int64]:
    """The first sentences of a readable length; in a corpus without such sentences, the first sentences."""
    sizes = corpus.sentences.row_size.values[: min(corpus.n_sentences, SEARCHED)]
    readable = np.flatnonzero((sizes >= FEWEST_TOKENS) & (sizes <= MOST_TOKENS))
    return readable[:SAMPLED] if len(readable) else np.arange(min(len(sizes), SAMPLED))


def evidence_part(corpus: Corpus, state: LinkState) -> list[object]:
    """A drawn sentence from some of the tenths, and the sentences with the smallest shares."""
    role = _role(corpus, state)
    found = role_sentences(corpus, state.layer, state.head, role)
    if not len(found.sentences):
        return [html.P("No sentence of the sample has such a key. Choose another role.", className="unmade")]
    cards: list[Any] = [_card(corpus, state, role, decile, found, place) for decile, place in found.deciles.items()]
    return [
        _caption(role, found),
        html.Div(cards, className=f"role-evidence kind-{kind_number(RULES[role].kind)}"),
        html.H3("What speaks against it", id=AGAINST),
        html.Ul([_against(corpus, state, found, place) for place in found.least], className="role-against")
        if found.least
        else html.P("Every sentence with such a key is drawn above.", className="caption"),
        *draw_wordpieces(found, "of the sample"),
        *([] if asks_of_all(state) else [_count_all(corpus, state)]),
    ]


def _role(corpus: Corpus, state: LinkState) -> str:
    """The role whose evidence a link shows: by default the main role of the head."""
    return state.evidence or main_role(shares_of_head(corpus, state.layer, state.head))


def asks_of_all(state: LinkState) -> bool:
    """Whether a link asks for the strongest wordpieces over the whole corpus."""
    return state.wordpieces == f"{state.layer}-{state.head}"


def _count_all(corpus: Corpus, state: LinkState) -> html.P:
    """A button that counts wordpieces over the whole corpus."""
    href = state.with_(wordpieces=f"{state.layer}-{state.head}").href
    return html.P(action(f"Count over {many(corpus.n_sentences, 'sentence')}", href))


def every_wordpiece(corpus: Corpus, state: LinkState) -> list[object]:
    """The strongest wordpieces over the whole corpus; nothing where the link does not ask for them."""
    if not asks_of_all(state):
        return []
    found = every_sentence(corpus, state.layer, state.head, _role(corpus, state))
    return draw_wordpieces(found, f"of {many(len(found.sentences), 'sentence')} with such a key")


def _caption(role: str, found: RoleSentences) -> html.P:
    """A caption with the mean share; even attention stands beside it, except for a broad role, which it nearly always fits more."""
    mean, rule = f"{100 * float(found.shares.mean()):.0f}%", RULES[role]
    fits = f"{mean} of the attention is as this role alone predicts"
    if rule.is_sieve or rule.breadth == "sink":
        fits = f"{mean} of the attention goes where the role says (even attention: {100 * found.even:.0f}%)"
    return html.P(
        [
            f"{fits}, mean of {many(len(found.sentences), 'sentence')}. Drawn: the middle sentence of {len(found.deciles)} of the ten tenths, "
            "with the role's lines coloured.",
            info(f"evidence of the role {rule.title}", _MEASURE),
        ],
        className="caption",
    )


def _card(corpus: Corpus, state: LinkState, role: str, decile: int, found: RoleSentences, place: int) -> html.A:
    """A sentence drawn with its lines, as a link to page Sentence."""
    sentence, share = int(found.sentences[place]), 100 * found.shares[place]
    tokens = corpus.rule_text.sentence(sentence, corpus.masks[state.layer])
    pattern = corpus.weights(sentence, layer=state.layer, head=state.head)
    name = f"Tenth {decile}: {share:.0f}%"
    pieces = corpus.wordpieces(corpus.sentence_rows(sentence))
    label: Any = {"aria-label": f"{name}: attention of {head_name(state.layer, state.head)} in sentence {sentence:,}"}
    followed: Any = {FOLLOWED: ""}
    return html.A(
        [html.Span(name, className="tenth"), sentence_lines(pieces, RoleKeys.of(RULES[role], tokens).drawn(pattern))],
        href=_href(state, sentence),
        className="of-sentence",
        **label,
        **followed,
    )


def _against(corpus: Corpus, state: LinkState, found: RoleSentences, place: int) -> html.Li:
    sentence = int(found.sentences[place])
    text = str(corpus.sentences.text.values[sentence])
    shown = text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]} ..."
    return html.Li(
        [f"{100 * found.shares[place]:.0f}%: ", dcc.Link(html.Q(shown, dir="auto"), href=_href(state, sentence))]
    )


def draw_wordpieces(found: RoleSentences, among: str) -> list[object]:
    """Tables of the strongest wordpieces as queries and as keys; `among` names the sentences in the title."""
    tables = {"query": (found.queries, "queries"), "key": (found.keys, "pairs")}
    drawn: list[Any] = [_wordpiece_table(side, *of_side) for side, of_side in tables.items() if of_side[0]]
    if not drawn:
        return []
    about = info("strongest wordpieces", _WORDPIECES)
    return [html.H3([f"Strongest wordpieces {among}", about]), html.Div(drawn, className="shares")]


def _wordpiece_table(side: str, pieces: tuple[StrongWordpiece, ...], of: str) -> html.Table:
    rows = [
        html.Tr(
            [
                html.Td(html.Bdi(piece.name)),
                html.Td(f"{100 * piece.mean:.0f}%", className="number"),
                html.Td(f"{piece.count:,}", className="number"),
            ]
        )
        for piece in pieces
    ]
    return html.Table([heading((side, "mean", of), {"mean", of}), html.Tbody(rows)], className="rows")


def _href(state: LinkState, sentence: int) -> str:
    """The link to a sentence on page Sentence, with the head alone."""
    return state.of_sentence(sentence, layer=state.layer, head=state.head, heads=str(state.head)).href


EVIDENCE = DeferredPart(
    "role-evidence",
    "the sentences of the role",
    of_corpus(evidence_part),
    ("layer", "head", "evidence"),
    1500,
    1700,
    middle=1150,
    shape="box",
)
WORDPIECES = DeferredPart(
    "role-wordpieces",
    "the strongest wordpieces of the corpus",
    of_corpus(every_wordpiece),
    ("layer", "head", "evidence", "wordpieces"),
    250,
)
