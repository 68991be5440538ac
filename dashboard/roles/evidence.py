"""Evidence of a role of a head: the sentences of a sample by how much of the head's attention goes where the role says."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.roles.head_roles import kind_number, main_role, shares_of_head
from dashboard.ui.controls import info
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.markup import FOLLOWED
from dashboard.ui.small_pictures import sentence_lines
from dashboard.ui.work import watched
from dashboard.web.context import Context
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.attention import attention_pattern
from store.kernels.rules import RULES, Rule, SentenceTokens
from store.phrases import many
from store.schema.model import ROLES, head_name

#: Tokens of a sentence of the sample, [CLS] and [SEP] included: few enough to be drawn.
FEWEST_TOKENS, MOST_TOKENS = 7, 20
#: Sentences of the sample, and the first of the corpus that it is taken from.
SAMPLED, SEARCHED = 1_000, 8_000
#: Tenths of the sentences, 10 with the largest shares, of which a sentence is drawn.
DECILES = (10, 8, 6, 4, 2, 1)
#: Sentences that are named as those that speak against the role, and characters of their texts.
AGAINST, CHARACTERS = 3, 90
#: Classes of the lines that go where the role says, and of the others (assets/points.css).
WHERE, ELSEWHERE = "of-role", "elsewhere"
_MEASURE = (
    "Of each query that is a word and has a key that the role names: the share of its attention that goes to these keys. Of a broad "
    "role, such as nearby tokens: the part of its attention between words that the role alone predicts. The number of a "
    "sentence is the mean over these queries."
)
Pattern = NDArray[np.floating]


@dataclass(frozen=True)
class RoleSentences:
    """Sentences of the sample in which a role has a key, in the order of the corpus, with its share of the attention.

    Attributes
    ----------
    sentences
        Indices: (sentence,).
    shares
        0 to 1: (sentence,).
    """

    sentences: NDArray[np.int64]
    shares: NDArray[np.float64]

    @property
    def deciles(self) -> dict[int, int]:
        """Some of the tenths by share -> the place of the sentence in the middle of the tenth, no sentence twice."""
        order = np.argsort(self.shares, kind="stable")
        places: dict[int, int] = {}
        for decile in DECILES if len(order) else ():
            place = int(order[int((decile - 0.5) / 10 * len(order))])
            if place not in places.values():
                places[decile] = place
        return places

    @property
    def least(self) -> list[int]:
        """Places of the sentences with the smallest shares, the smallest first."""
        return [int(place) for place in np.argsort(self.shares, kind="stable")[:AGAINST]]


def share_of_role(rule: Rule, tokens: SentenceTokens, pattern: Pattern) -> float:
    """Share of the attention of words that goes where a rule says, mean over the words with a target; NaN without any.

    Parameters
    ----------
    pattern
        (query_token, key_token), rows sum to 1.
    """
    targets = _targets(rule, tokens)[tokens.is_word]
    sums = targets.sum(axis=1)
    asked = sums > 0
    if not asked.any():
        return float("nan")
    targets, sums, own = targets[asked], sums[asked], pattern[tokens.is_word][asked]
    if _names_keys(rule):
        return float((own * (targets > 0)).sum(axis=1).mean())
    mass = own[:, tokens.is_word].sum(axis=1)
    return float(np.minimum(own, targets * (mass / sums)[:, None]).sum(axis=1).mean())


def drawn_parts(rule: Rule, tokens: SentenceTokens, pattern: Pattern) -> dict[str, Pattern]:
    """The weights (query_token, key_token) that go elsewhere, and those that go where the rule says, by the class of their lines."""
    where = (_targets(rule, tokens) > 0) & tokens.is_word[:, None]
    return {ELSEWHERE: np.where(where, 0, pattern), WHERE: np.where(where, pattern, 0)}


def _names_keys(rule: Rule) -> bool:
    """Whether all keys that the rule leaves to a query are as good as each other."""
    return rule.is_sieve or rule.breadth == "sink"


def _targets(rule: Rule, tokens: SentenceTokens) -> NDArray[np.float32]:
    """Targets of a rule (query_token, key_token); special tokens are targets of sinks alone."""
    targets = np.asarray(rule.targets(tokens), np.float32)
    return targets if rule.breadth == "sink" else targets * tokens.is_word


@cached
def role_sentences(corpus: Corpus, layer: int, head: int, role: str) -> RoleSentences:
    """The sample of a corpus, of which the shares are computed from the queries and keys of the head."""
    rule, sample = RULES[role], _sample(corpus)
    spans = [corpus.sentence_rows(sentence) for sentence in sample.tolist()]
    stop = max((span.stop for span in spans), default=0)
    # What all keys have in common changes no weight.
    query, key = (corpus.stored_vectors(side, layer=layer, head=head)[0][:stop].values for side in ROLES)
    shares = np.full(len(sample), np.nan)
    for place, span in enumerate(watched(spans, f"Comparing {many(len(spans), 'sentence')}")):
        pattern = attention_pattern(query[span].astype(np.float32), key[span].astype(np.float32))
        shares[place] = share_of_role(rule, corpus.rule_text.sentence(int(sample[place])), pattern)
    counts = np.isfinite(shares)
    return RoleSentences(sample[counts], shares[counts])


def _sample(corpus: Corpus) -> NDArray[np.int64]:
    """The first sentences of a readable length; of a corpus without such, the first ones."""
    sizes = corpus.sentences.row_size.values[: min(corpus.n_sentences, SEARCHED)]
    readable = np.flatnonzero((sizes >= FEWEST_TOKENS) & (sizes <= MOST_TOKENS))
    return readable[:SAMPLED] if len(readable) else np.arange(min(len(sizes), SAMPLED))


def evidence_part(context: Context) -> list[object]:
    """One sentence for some of the tenths, drawn with lines, and the sentences in which the role gets least."""
    corpus, state = context.corpus, context.state
    role = state.evidence or main_role(shares_of_head(corpus, state.layer, state.head))
    found = role_sentences(corpus, state.layer, state.head, role)
    if not len(found.sentences):
        return [html.P("No sentence of the sample has such a key. Choose another role.", className="unmade")]
    cards: list[Any] = [_card(corpus, state, role, decile, found, place) for decile, place in found.deciles.items()]
    return [
        _caption(role, found),
        html.Div(cards, className=f"role-evidence kind-{kind_number(RULES[role].kind)}"),
        html.H3("What speaks against it"),
        html.Ul([_against(corpus, state, found, place) for place in found.least], className="role-against"),
    ]


def _caption(role: str, found: RoleSentences) -> html.P:
    mean = 100 * float(found.shares.mean())
    return html.P(
        [
            f"{mean:.0f}% on average over {many(len(found.sentences), 'sentence')}, sorted into tenths: the middle of each. "
            "Coloured lines go where the role says.",
            info(f"evidence of the role {RULES[role].title}", _MEASURE),
        ],
        className="caption",
    )


def _card(corpus: Corpus, state: LinkState, role: str, decile: int, found: RoleSentences, place: int) -> html.A:
    """A sentence with its lines; a link to page Sentence."""
    sentence, share = int(found.sentences[place]), 100 * found.shares[place]
    tokens = corpus.rule_text.sentence(sentence)
    pattern = corpus.weights(sentence, layer=state.layer, head=state.head)
    name = f"Tenth {decile}: {share:.0f}%"
    pieces = corpus.wordpieces(corpus.sentence_rows(sentence))
    label: Any = {"aria-label": f"{name}: attention of {head_name(state.layer, state.head)} in sentence {sentence:,}"}
    followed: Any = {FOLLOWED: ""}
    return html.A(
        [html.Span(name, className="tenth"), sentence_lines(pieces, drawn_parts(RULES[role], tokens, pattern))],
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


def _href(state: LinkState, sentence: int) -> str:
    """Page Sentence with the head alone."""
    return state.of_sentence(sentence, layer=state.layer, head=state.head, heads=str(state.head)).href


EVIDENCE = DeferredPart(
    "role-evidence",
    "the sentences of the role",
    evidence_part,
    ("layer", "head", "evidence"),
    1240,
    shape="box",
)
