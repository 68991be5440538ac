"""Heads that page Sentence points to: the head and the sentence that the page opens on, and all heads ranked by a token pair.

A query sees every key of its sentence, unless the mask of the model hides later keys or distant keys.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.relations.data import BestHead, direction_titles, known_relations, links_of_pairs
from dashboard.roles.shares import RoleShares, role_cells, role_titles
from dashboard.sentence.finder import sentence_means
from dashboard.sentence.picture import ShownSentence, isolated_head, numbers
from dashboard.sentence.sentence import Sentence, Unit, is_short, units_of
from dashboard.statistics.heads import BEHAVIOURS, kinds_of
from dashboard.ui.controls import choice, info
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.text import in_brackets, spell
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus, Snapshot
from store.kernels.attention import merge_words, softmax
from store.kernels.bias import Mask, masks_of
from store.phrases import many
from store.schema.model import head_name

#: Classes of a box that is as high without heads as with heads.
_BOX = "scroll ranking"
#: Number of listed heads.
LISTED = 12
RANKING = "Which heads link these two words?"
EMPTY = "Click a line or a cell, or choose a key of the selected query, to rank the heads by its weight."
#: Labels of heads that say something of a sentence: sinks and broad attention look the same in every one.
TELLING = ("previous", "next", "punctuation", "self")
#: Fewest and most tokens of a readable sentence, with [CLS] and [SEP]: enough for a relation, few enough for one screen.
FEWEST_TOKENS, MOST_TOKENS = 8, 16
#: Fields of a link that choose the sentence or the head of page Sentence.
_OF_SENTENCE = ("layer", "head", "heads", "sentence", "text")
_RULE = (
    "The page opens on the head that exceeds the best offset between two words most at a grammatical relation (page Relations), "
    f"in a sentence of {FEWEST_TOKENS} to {MOST_TOKENS} tokens in which it links every pair. In a corpus without annotated words: the clearest "
    "head on the previous or next token, punctuation or the token itself; else the head that attends least to sinks."
)


class RankedHead(NamedTuple):
    """A head, its weight from the query to the key, and the rank of the key for the query: 1 is the most attended key."""

    layer: int
    head: int
    weight: float
    rank_in_row: int


def ranked_heads(sentence: Sentence, query: int, key: int, *, words: bool = False) -> list[RankedHead]:
    """Every head by its weight from one position to another, or between their words, the largest weight first."""
    units = units_of(sentence, words=words)
    asking, asked = _unit_at(units, query).positions, units.index(_unit_at(units, key))
    groups, own = [unit.positions for unit in units], range(len(sentence.query))
    logits = np.stack([np.stack([sentence.row_logits(layer, place) for place in asking], axis=1) for layer in own])
    rows = merge_words(softmax(logits), [tuple(range(len(asking)))], groups)[..., 0, :]
    weights = rows[:, :, asked]
    ranks = 1 + (rows > weights[..., None]).sum(axis=-1)
    order = np.argsort(-weights, axis=None, kind="stable")
    layers, heads = (axis.tolist() for axis in np.unravel_index(order, weights.shape))
    return [
        RankedHead(layer, head, float(weights[layer, head]), int(ranks[layer, head]))
        for layer, head in zip(layers, heads, strict=True)
    ]


def ranking_panel(shown: ShownSentence) -> list[object]:
    """The choice of a key, and the heads with the largest weight from the selected query to it.

    The panel is as high without a pair as with a pair: a selection moves nothing.
    """
    pair = selected_pair(shown)
    is_off, empty = shown.selected_query is None, html.P(EMPTY, className="caption of-pair")
    choices = [_key_choice(shown, pair and pair[1], disabled=is_off), _clear(disabled=is_off)]
    return [
        html.H2(RANKING),
        html.Div(choices, className="controls"),
        *(_ranking(shown, *pair) if pair else [empty, _table([], shown.shares)]),
    ]


def selected_pair(shown: ShownSentence) -> tuple[int, int] | None:
    """Positions of the selected query and key; None where either is missing."""
    query, key = shown.selected_query, shown.state.toward
    is_there = key is not None and key < len(shown.sentence.wordpieces)
    return (query, key) if query is not None and key is not None and is_there else None


def _ranking(shown: ShownSentence, query: int, key: int) -> list[object]:
    sentence, shares = shown.sentence, shown.shares
    if unseen := why_unseen(sentence, query, key):
        return [html.P(unseen, className="caption of-pair", role="status"), _table([], shares)]
    words = shown.options.words
    first, second = (_unit_at(units_of(sentence, words=words), position).name for position in (query, key))
    heads = ranked_heads(sentence, query, key, words=words)
    rows = [_row(shown.state, head, shares) for head in heads[:LISTED]]
    pair = f"“{first}” (query, at {query}) to “{second}” (key, at {key})"
    caption = f"{pair}: the first {len(rows)} of {len(heads)} heads."
    return [html.P(caption, className="caption of-pair", role="status"), _table(rows, shares)]


def _unit_at(units: Sequence[Unit], position: int) -> Unit:
    """The wordpiece or the word that has a position."""
    return next(unit for unit in units if position in unit.positions)


def _table(rows: list[html.Tr], shares: RoleShares | None) -> html.Div:
    """The table of heads; without rows it has its titles."""
    numbers = ("weight", "rank of key")
    columns = ("head", *role_titles(shares), *numbers)
    look = "rows even with-role" if shares else "rows even"
    table = html.Table([heading(columns, numbers), html.Tbody(rows)], className=look)
    return scrolling(table, RANKING, _BOX)


def _key_choice(shown: ShownSentence, key: int | None, *, disabled: bool) -> dmc.Select:
    """The choice of a key among those that the query sees (in the window of a long sentence); a word by its first wordpiece."""
    sentence, query = shown.sentence, shown.selected_query
    units = units_of(sentence, words=shown.options.words)
    seen = np.ones(len(sentence.wordpieces), bool) if query is None else seen_keys(sentence, query)
    if not is_short(sentence):
        seen &= np.isin(np.arange(len(seen)), [position for unit in shown.units[1] for position in unit.positions])
    first = {position: unit for unit in units for position in unit.positions[:1]}
    key = key if key is None else _unit_at(units, key).positions[0]
    options = {str(place): f"{place}: {unit.name}" for place, unit in first.items() if seen[place] or place == key}
    return choice("toward", "Key", options, "" if key is None else str(key), 160, disabled=disabled, of_data=True)


def _clear(*, disabled: bool) -> html.Button:
    """The button that clears the selection (assets/sentence/views.mjs)."""
    named: Any = {"data-sentence": "clear"}
    return html.Button("Clear", type="button", className="plain", disabled=disabled, title="Or press Escape", **named)


def _row(state: LinkState, head: RankedHead, shares: RoleShares | None) -> html.Tr:
    href = state.with_(layer=head.layer, head=head.head, heads=str(head.head)).href
    return html.Tr(
        [
            html.Td(dcc.Link(head_name(head.layer, head.head), href=href)),
            *role_cells(shares, head.layer, head.head),
            html.Td(f"{100 * head.weight:.1f}%", className="number"),
            html.Td(f"{head.rank_in_row}.", className="number"),
        ]
    )


@dataclass(frozen=True)
class Opening:
    """The head and the sentence that page Sentence opens on; `relation` is what the head is best at, else `behaviour` says what it does."""

    layer: int
    head: int
    sentence: int = 0
    relation: BestHead | None = None
    behaviour: str = ""


@cached
def opening_of(corpus: Corpus) -> Opening:
    """The head that a reader sees first: by a relation, else by a label, else the head that attends least to sinks."""
    return opening_by(corpus, next(iter(known_relations(corpus)), None))


def opening_by(corpus: Corpus, relation: BestHead | None) -> Opening:
    """The opening with the best head at a relation; without a relation by a label, else the head that attends least to sinks."""
    if relation:
        return Opening(relation.layer, relation.head, _sentence_with_links(corpus, relation), relation)
    return _by_label(corpus) or _off_sinks(corpus)


def _sentence_with_links(corpus: Corpus, best: BestHead) -> int:
    """The readable sentence with two or more pairs, all linked, in which the head attends least to sinks.

    Without such a sentence: among readable sentences with a linked pair, else among readable sentences, else among all.
    """
    hits, sentence = links_of_pairs(corpus, best)
    pairs, links = (np.bincount(each, minlength=corpus.n_sentences) for each in (sentence, sentence[hits]))
    sizes = corpus.sentences.row_size.values
    is_readable = (sizes >= FEWEST_TOKENS) & (sizes <= MOST_TOKENS)
    grade = is_readable * (1 + (links > 0) + ((links > 1) & (links == pairs)))
    return int(np.lexsort((sentence_means(corpus, "to_sink", best.layer, best.head), -grade))[0])


def _by_label(corpus: Corpus) -> Opening | None:
    """The opening with the clearest head of the first label in `TELLING` that a head has; None without such a head."""
    kinds = {kind.label: kind for kind in kinds_of(corpus)}
    kind = next((kinds[label] for label in TELLING if label in kinds), None)
    if kind is None:
        return None
    layer, head = kind.heads[0]
    behaviour = BEHAVIOURS[kind.label].replace("attend", "attends", 1)
    return Opening(layer, head, behaviour=f"{behaviour} most clearly ({kind.title} {spell(kind.values[0], 'share')})")


def _off_sinks(corpus: Corpus) -> Opening:
    shares = corpus.head_statistic.sel(source="all", statistic="to_sink").values
    layer, head = (int(number) for number in np.unravel_index(shares.argmin(), shares.shape))
    behaviour = f"attends least to sinks ({spell(float(shares[layer, head]), 'share')})"
    return Opening(layer, head, behaviour=behaviour)


def opened_state(_snapshot: Snapshot, corpus: Corpus, state: LinkState) -> LinkState:
    """The link to page Sentence with the head and the sentence that the page opens on: a bare link shows one head."""
    opening = opening_of(corpus)
    chosen = {"layer": opening.layer, "head": opening.head, "heads": str(opening.head), "sentence": opening.sentence}
    return state.on("sentence").with_(**chosen)


def sentence_href(snapshot: Snapshot, corpus: Corpus, state: LinkState) -> str:
    """The link to page Sentence; from page Head with its head, and without a chosen head or sentence as the page opens."""
    own = state.on("sentence")
    if state.page == "head":
        drawn = own.heads if own.head in numbers(own.heads) else str(own.head)
        return own.with_(heads=drawn).href
    if state.page == "sentence" or own.chosen & set(_OF_SENTENCE):
        return own.href
    return opened_state(snapshot, corpus, state).href if own.chosen else own.bare_href


def about_head(state: LinkState, opening: Callable[[], Opening]) -> list[html.P]:
    """In the head view, why the page opened on the shown head; an empty line for other heads, so that a choice moves nothing.

    `opening` finds the head that the page opens on; it is called only where a head is drawn alone.
    """
    if state.show != "head":
        return []
    is_alone = not state.rollout and len(numbers(state.heads)) == 1
    shown = opening() if is_alone else None
    is_shown = shown is not None and (state.layer, isolated_head(state)) == (shown.layer, shown.head)
    return [html.P(_about(state, shown) if shown and is_shown else None, className="about-head")]


def _about(state: LinkState, opening: Opening) -> list[Any]:
    every = dcc.Link(f"All heads of layer {state.layer}", href=state.with_(heads=None).href)
    name = html.Strong(head_name(opening.layer, opening.head))
    return [
        "Opened on ",
        name,
        ", the head that ",
        *_reason(state, opening),
        ". ",
        info("this head", _RULE),
        " ",
        every,
    ]


def _reason(state: LinkState, opening: Opening) -> list[Any]:
    best = opening.relation
    if best is None:
        return [opening.behaviour]
    href = state.on("relations").with_(relation=best.relation, direction=best.direction).href
    compared = (
        f"{direction_titles(best.relation)[best.direction]}; the best offset finds {100 * best.offset_accuracy:.0f}%"
    )
    pairs = dcc.Link([html.Bdi(best.relation), f"{in_brackets(best.relation)} pairs"], href=href, title=compared)
    return [f"follows grammar best: it links {100 * best.accuracy:.0f}% of ", pairs]


def seen_keys(sentence: Sentence, query: int, layer: int | None = None) -> NDArray[np.bool_]:
    """Whether a query sees each key in a layer, or in any layer: (key_token,)."""
    distance = np.arange(len(sentence.wordpieces)) - query
    seen: NDArray[np.bool_] = np.any([mask.seen(distance) for mask in _masks(sentence, layer)], axis=0)
    return seen


def why_unseen(sentence: Sentence, query: int, key: int, layer: int | None = None) -> str:
    """Why a query does not see a key in a layer, or in any layer, and what to do; empty where it sees the key."""
    if seen_keys(sentence, query, layer)[key]:
        return ""
    masks = _masks(sentence, layer)
    if key > query and all(mask.causal for mask in masks):
        reason = "This model's tokens see no later token"
    else:
        farthest = max(mask.window or 0 for mask in masks)
        where = "" if layer is None else f" in layer {layer}"
        reason = f"This model's tokens see none that is more than {many(farthest, 'token')} away{where}"
    return f"{reason}. Choose a key that “{sentence.wordpieces[query]}” sees."


def _masks(sentence: Sentence, layer: int | None) -> tuple[Mask, ...]:
    """The mask of a layer, or the masks of all layers."""
    masks = masks_of(sentence.bias, len(sentence.query))
    return masks if layer is None else (masks[layer],)
