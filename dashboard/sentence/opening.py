"""The head and the sentence that page Sentence opens on, and what is said of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dash import dcc, html

from dashboard.relations.data import BestHead, best_of, clearest_relations, direction_titles, links_of_pairs
from dashboard.sentence.finder import sentence_means
from dashboard.sentence.picture import isolated_head, numbers
from dashboard.statistics.kinds import BEHAVIOURS, kinds_of
from dashboard.ui.controls import info
from dashboard.ui.text import in_brackets, spell
from dashboard.web.context import Context
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.repository.errors import NotIngested
from store.schema.model import head_name

#: Labels of heads that say something of a sentence: sinks and broad attention look the same in every one.
TELLING = ("previous", "next", "punctuation", "self")
#: Tokens of the sentence, [CLS] and [SEP] included: enough for a relation, few enough for one screen.
FEWEST, MOST = 8, 16
#: Fields by which a reader has chosen what page Sentence shows.
_OF_SENTENCE = ("layer", "head", "heads", "sentence", "text")
_RULE = (
    "The page opens on the head that exceeds the best offset between two words most at a grammatical relation (page Relations), "
    f"in a sentence of {FEWEST} to {MOST} tokens in which it links every pair. In a corpus without annotated words: the clearest "
    "head on the previous or next token, punctuation or the token itself; else the head that attends least to sinks."
)


@dataclass(frozen=True)
class Opening:
    """A head and a sentence; `relation` is what the head is best at, otherwise `behaviour` says what it does."""

    layer: int
    head: int
    sentence: int = 0
    relation: BestHead | None = None
    behaviour: str = ""


@cached
def opening_of(corpus: Corpus) -> Opening:
    """The head that a reader sees first: by a relation, else by a label, else the one that attends least to sinks."""
    relation = _clearest_relation(corpus)
    if relation:
        return Opening(relation.layer, relation.head, _sentence_with_links(corpus, relation), relation)
    return _by_label(corpus) or _off_sinks(corpus)


def _clearest_relation(corpus: Corpus) -> BestHead | None:
    try:
        return next(iter(clearest_relations(best_of(corpus))), None)
    except NotIngested:
        return None


def _sentence_with_links(corpus: Corpus, best: BestHead) -> int:
    """Of the readable sentences with two pairs or more, all of them linked, the one that attends least to sinks.

    Where there is none: of those with a linked pair, else of all.
    """
    hits, sentence = links_of_pairs(corpus, best)
    pairs, links = (np.bincount(each, minlength=corpus.n_sentences) for each in (sentence, sentence[hits]))
    sizes = corpus.sentences.row_size.values
    is_readable = (sizes >= FEWEST) & (sizes <= MOST)
    grade = is_readable * (1 + (links > 0) + ((links > 1) & (links == pairs)))
    return int(np.lexsort((sentence_means(corpus, "to_sink", best.layer, best.head), -grade))[0])


def _by_label(corpus: Corpus) -> Opening | None:
    """The clearest head of the first kind that says something of a sentence."""
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


def opened(context: Context) -> Context:
    """The context of a page as it opens: a bare link to page Sentence shows one head."""
    if not context.bare:
        return context
    return replace(context, state=opened_state(context), completed=True)


def opened_state(context: Context) -> LinkState:
    """The state of page Sentence with the head and the sentence that it opens on."""
    opening = opening_of(context.corpus)
    chosen = {"layer": opening.layer, "head": opening.head, "heads": str(opening.head), "sentence": opening.sentence}
    return context.state.on("sentence").with_(**chosen)


def sentence_href(context: Context) -> str:
    """The link to page Sentence: from page Head with its head alone; as it opens where neither head nor sentence is chosen."""
    state = context.state.on("sentence")
    if context.state.page == "head":
        return state.with_(heads=state.heads or str(state.head)).href
    if context.state.page == "sentence" or state.chosen & set(_OF_SENTENCE):
        return state.href
    return opened_state(context).href if state.chosen else state.bare_href


def about_head(context: Context) -> list[html.P]:
    """In the head view, why the page opened on the shown head; an empty line for others, so that a choice moves nothing."""
    if context.state.show != "head":
        return []
    opening = _opening_shown(context.state, context.corpus)
    return [html.P(_about(context.state, opening) if opening else None, className="about-head")]


def _opening_shown(state: LinkState, corpus: Corpus) -> Opening | None:
    """What the page opens on, where its head is drawn alone."""
    if state.rollout or len(numbers(state.heads)) != 1:
        return None
    opening = opening_of(corpus)
    return opening if (state.layer, isolated_head(state)) == (opening.layer, opening.head) else None


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
