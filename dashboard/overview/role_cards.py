"""The cards of Overview by role: the clearest head of each role that tests find, with a short sentence in which it is clear."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from dash import html
from dash.development.base_component import Component
from numpy.typing import NDArray

from dashboard.overview.evidence import (
    FEWEST_TOKENS,
    SINK_SHARE,
    cards_outline,
    example_cards,
    head_card,
    read_pictures,
)
from dashboard.roles.evidence import SEARCHED, RoleKeys, patterns_of
from dashboard.roles.head_roles import what_a_role_does
from dashboard.roles.shares import RoleShares, kind_number, known_shares
from dashboard.ui.glossary import Term, term, terms_of
from dashboard.ui.markup import FOLLOWED
from dashboard.ui.small_pictures import sentence_lines
from dashboard.ui.work import watched
from dashboard.web.results import cached
from dashboard.web.special_names import NAMED
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.rules import RULES
from store.schema.model import head_name

#: Most cards, most tokens of a sentence, and most sentences among which the clearest is sought.
SHOWN, MOST_TOKENS, SOUGHT = 8, 11, 64
#: The role of the card of a head that attends to a token which is no word.
SINK = "cls"
#: The class of the line of the strongest pair (assets/overview.css).
PAIR = "of-pair"


class RoleHead(NamedTuple):
    """A role, its clearest head, and the bias: how many times as much attention the role's words get there as other words.

    `share`, for a sink alone, is the sink's share of the head's attention: no test compares a sink with words.
    """

    role: str
    layer: int
    head: int
    bias: float
    share: float | None = None


class RoleExample(NamedTuple):
    """A sentence, and the query and the key of the strongest pair of the role in it."""

    sentence: int
    query: int
    key: int


def role_heads(shares: RoleShares) -> list[RoleHead]:
    """Each role that is the clearest role of some head, with the clearest of these heads; the largest bias first."""
    found = []
    for role in shares.found_roles:
        place, head = shares.tested.index(role), shares.clearest_head(role)
        if shares.clearest[head] == place:
            found.append(RoleHead(role, *head, float(shares.bias[(place, *head)])))
    return sorted(found, key=lambda each: -each.bias)[:SHOWN]


def sink_head(corpus: Corpus, shares: RoleShares, others: Collection[RoleHead]) -> list[RoleHead]:
    """The head without a card that gives most to the token before a text; none where no such head gives it half of its attention."""
    share = shares.share[list(map(str, corpus.roles.role.values)).index(SINK)].copy()
    for other in others:
        share[other.layer, other.head] = 0
    layer, head = map(int, np.unravel_index(share.argmax(), share.shape))
    to_sink = corpus.head_statistic.sel(statistic="to_cls", source="all", layer=layer, head=head)
    return [RoleHead(SINK, layer, head, 0, float(to_sink))] if share.max() >= SINK_SHARE else []


@cached
def example_of(corpus: Corpus, of: RoleHead) -> RoleExample | None:
    """The sentence, of the first short ones, in which most attention goes where the role says; None without such a sentence."""
    sizes = corpus.sentences.row_size.values[:SEARCHED]
    short = np.flatnonzero((sizes >= FEWEST_TOKENS) & (sizes <= MOST_TOKENS))[:SOUGHT].tolist()
    patterns = dict(zip(short, patterns_of(corpus, of.layer, of.head, short), strict=True))
    mask = corpus.masks[of.layer]
    keys = {sentence: RoleKeys.of(RULES[of.role], corpus.rule_text.sentence(sentence, mask)) for sentence in short}
    shares = {sentence: keys[sentence].share(patterns[sentence]) for sentence in short if keys[sentence].asked.any()}
    if not shares:
        return None
    clearest = max(shares, key=lambda sentence: shares[sentence])
    part = _between_words(corpus, clearest, keys[clearest].part(patterns[clearest]))
    return RoleExample(clearest, *(int(token) for token in np.unravel_index(part.argmax(), part.shape)))


def _between_words(corpus: Corpus, sentence: int, part: NDArray[np.floating]) -> NDArray[np.floating]:
    """The weights between words, else those with a word as query, else all: a pair of words says more than one with a mark."""
    is_word = np.array([piece.text.isalnum() for piece in corpus.sentence_pieces(sentence)])
    of_words = part * is_word[:, None]
    for chosen in (of_words * is_word, of_words):
        if chosen.any():
            return chosen
    return part


def cards(corpus: Corpus, state: LinkState) -> list[object]:
    """A card for each role that tests find; for a store without such roles, a card for each kind of heads by label."""
    heads = heads_of_cards(corpus)
    if not heads:
        return example_cards(corpus, state)
    each = watched(heads, "Finding a sentence of each role")
    return draw_cards(corpus, state, {of: _sentence(corpus, state, of, example_of(corpus, of)) for of in each})


def outline(corpus: Corpus, state: LinkState) -> list[object]:
    """The cards before their sentences are found."""
    heads = heads_of_cards(corpus)
    if not heads:
        return cards_outline(corpus, state)
    return draw_cards(corpus, state, dict.fromkeys(heads, html.Div(className="skeleton lines")))


def heads_of_cards(corpus: Corpus) -> list[RoleHead]:
    """The heads of the cards by role; none for a store without roles, or in which tests find none."""
    shares = known_shares(corpus)
    found = role_heads(shares)[: SHOWN - 1] if shares else []
    return [*found, *sink_head(corpus, shares, found)] if shares and found else []


def draw_cards(corpus: Corpus, state: LinkState, sentences: Mapping[RoleHead, Component]) -> list[object]:
    """The cards, each with its sentence; a card opens the tab Role of its head."""
    pictures, special = read_pictures(corpus, state), terms_of(corpus)["special"]
    drawn: list[Any] = [
        head_card(state.with_(tab="role"), pictures, (of.layer, of.head), _words(of, special), sentence)
        for of, sentence in sentences.items()
    ]
    return [html.Ul(drawn, className="cards")]


def _words(of: RoleHead, special: Term) -> tuple[object, str]:
    """Words on what the head does, and on how clearly."""
    does = what_a_role_does(of.role)
    if of.share is None:
        return does, f"{of.bias:.0f} times an average word's attention."
    before, name, after = does.partition(NAMED[0])
    named = [before, term("special", name, special), after]
    return named, f"{100 * of.share:.0f}% of its attention goes there, mean over sentences."


def _sentence(corpus: Corpus, state: LinkState, of: RoleHead, example: RoleExample | None) -> Component:
    """The sentence with its lines, its strongest pair in words above; a link to page Sentence with the pair selected."""
    if example is None:
        return html.P("No short sentence has such a pair.", className="caption")
    sentence, query, key = example
    pattern = corpus.weights(sentence, layer=of.layer, head=of.head)
    pieces = corpus.wordpieces(corpus.sentence_rows(sentence))
    pair = np.zeros_like(pattern)
    pair[query, key] = 1
    tokens = corpus.rule_text.sentence(sentence, corpus.masks[of.layer])
    lines = RoleKeys.of(RULES[of.role], tokens).drawn(pattern) | {PAIR: pair}
    link = state.of_sentence(
        sentence, layer=of.layer, heads=str(of.head), head=of.head, queries=str(query), toward=key
    ).href
    strongest = f"{pieces[query]} → {pieces[key]}: {100 * pattern[query, key]:.0f}%"
    label: Any = {
        "aria-label": f"Attention of {head_name(of.layer, of.head)} in sentence {sentence:,}: {strongest}",
        FOLLOWED: "",
    }
    content = [html.Span(strongest, className="strongest"), sentence_lines(pieces, lines)]
    return html.A(content, href=link, className=f"of-sentence kind-{kind_number(RULES[of.role].kind)}", **label)
