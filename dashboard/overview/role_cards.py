"""The cards of Overview by role: the clearest head of each role that tests find, with a typical sentence of the role."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from dash import html
from dash.development.base_component import Component

from dashboard.overview.evidence import FEWEST_TOKENS, cards_outline, example_cards, head_card, read_pictures
from dashboard.roles.evidence import SEARCHED, RoleKeys, patterns_of
from dashboard.roles.shares import RoleShares, kind_number, known_shares
from dashboard.ui.markup import FOLLOWED
from dashboard.ui.small_pictures import sentence_lines
from dashboard.ui.work import watched
from dashboard.web.context import Context
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.rules import RULES
from store.schema.model import head_name

#: Cards; tokens of a sentence at most, and sentences among which a typical one is sought.
SHOWN, MOST_TOKENS, SOUGHT = 8, 11, 64
#: The class of the line of the strongest pair (assets/overview.css).
PAIR = "of-pair"
CAPTION = (
    "The clearest of the heads in which no other role is clearer. Left: its queries (blue) and keys (orange). Right: its attention in a "
    "typical sentence, queries to keys, coloured where the role says; the strongest such pair is named and stands out."
)


class RoleHead(NamedTuple):
    """A role, its clearest head, and how many times as much attention the words of the role get there as other words."""

    role: str
    layer: int
    head: int
    bias: float


class RoleExample(NamedTuple):
    """A sentence, and the query and the key of the strongest pair of the role in it."""

    sentence: int
    query: int
    key: int


def role_heads(shares: RoleShares) -> list[RoleHead]:
    """Each role that is the clearest of some head, with the clearest of these; the largest bias first."""
    found = []
    for role in shares.found_roles:
        place, head = shares.tested.index(role), shares.clearest_head(role)
        if shares.clearest[head] == place:
            found.append(RoleHead(role, *head, float(shares.bias[(place, *head)])))
    return sorted(found, key=lambda each: -each.bias)[:SHOWN]


@cached
def example_of(corpus: Corpus, of: RoleHead) -> RoleExample | None:
    """Of the first short sentences the one whose share of attention to the role is nearest to their median; None without any."""
    sizes = corpus.sentences.row_size.values[:SEARCHED]
    short = np.flatnonzero((sizes >= FEWEST_TOKENS) & (sizes <= MOST_TOKENS))[:SOUGHT].tolist()
    patterns = dict(zip(short, patterns_of(corpus, of.layer, of.head, short), strict=True))
    keys = {sentence: RoleKeys.of(RULES[of.role], corpus.rule_text.sentence(sentence)) for sentence in short}
    shares = {sentence: keys[sentence].share(patterns[sentence]) for sentence in short if keys[sentence].asked.any()}
    if not shares:
        return None
    median = float(np.median(list(shares.values())))
    typical = min(shares, key=lambda sentence: abs(shares[sentence] - median))
    part = keys[typical].part(patterns[typical])
    return RoleExample(typical, *(int(token) for token in np.unravel_index(part.argmax(), part.shape)))


def cards(context: Context) -> list[object]:
    """One card for each role that tests find; of a store without such roles, for each kind of heads by label."""
    heads = heads_of_cards(context.corpus)
    if not heads:
        return example_cards(context)
    corpus, state = context.corpus, context.state
    each = watched(heads, "Finding a sentence of each role")
    return _cards(context, {of: _sentence(corpus, state, of, example_of(corpus, of)) for of in each})


def outline(context: Context) -> list[object]:
    """The cards before their sentences are found."""
    heads = heads_of_cards(context.corpus)
    if not heads:
        return cards_outline(context)
    return _cards(context, dict.fromkeys(heads, html.Div(className="skeleton lines")))


def heads_of_cards(corpus: Corpus) -> list[RoleHead]:
    """The heads of the cards by role; none of a store without roles, or in which tests find none."""
    shares = known_shares(corpus)
    return role_heads(shares) if shares else []


def _cards(context: Context, sentences: Mapping[RoleHead, Component]) -> list[object]:
    state, pictures = context.state, read_pictures(context.corpus, context.state)
    drawn: list[Any] = [
        head_card(state, pictures, (of.layer, of.head), _words(of), sentence) for of, sentence in sentences.items()
    ]
    return [html.Ul(drawn, className="cards")]


def _words(of: RoleHead) -> tuple[str, str]:
    """What the head does, and how clearly."""
    return RULES[of.role].title, f"{of.bias:.0f} times the attention of an average word."


def _sentence(corpus: Corpus, state: LinkState, of: RoleHead, example: RoleExample | None) -> Component:
    """The sentence with its lines, its strongest pair in words above; a link to page Sentence with the pair selected."""
    if example is None:
        return html.P("No short sentence has such a pair.", className="caption")
    sentence, query, key = example
    pattern = corpus.weights(sentence, layer=of.layer, head=of.head)
    pieces = corpus.wordpieces(corpus.sentence_rows(sentence))
    pair = np.zeros_like(pattern)
    pair[query, key] = 1
    lines = RoleKeys.of(RULES[of.role], corpus.rule_text.sentence(sentence)).drawn(pattern) | {PAIR: pair}
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
