"""Which part of the corpus the numbers of all heads are of: the conditions, and how many tokens and sentences meet them."""

import dash_mantine_components as dmc
from dash import html

from dashboard.points.columns import columns
from dashboard.points.drawn import Drawn
from dashboard.points.filters import condition_controls
from dashboard.points.selection import parse_conditions
from dashboard.statistics.part import Part
from dashboard.web.view import Place
from store.wording import many


def part_filters(place: Place) -> html.Div:
    """A control for every condition, and a choice of one more column that is the same in all heads."""
    corpus = place.corpus
    offered = {name: one for name, one in columns(corpus).items() if not (one.per_head or one.per_role)}
    conditions, _ = parse_conditions(place.address.where or "", corpus)
    where = [condition for condition in conditions if condition.column in offered]
    return condition_controls(Drawn(corpus, corpus.n_tokens, 0, 0), where, offered, roles=1)


def part_count(place: Place, part: Part) -> html.P:
    """How much of the corpus the numbers are means over."""
    said = [_counted(place, part)]
    if place.address.where:
        said += [" ", dmc.Button("Clear all", id={"remove": "all"}, size="compact-xs", variant="subtle")]
    return html.P(said, className="count", role="status")


def _counted(place: Place, part: Part) -> object:
    corpus = place.corpus
    if part.tokens == corpus.n_tokens:
        return f"Means over all {many(corpus.n_tokens, 'token')} in {many(corpus.n_sentences, 'sentence')}; each sentence weighs the same."
    if not part.tokens:
        return "No tokens match. Remove a filter."
    share = 100 * part.tokens / corpus.n_tokens
    return (
        f"Means over {part.tokens:,} of {many(corpus.n_tokens, 'token')} ({share:.1f} %) in {part.sentences:,} of "
        f"{many(corpus.n_sentences, 'sentence')}; each of these weighs the same."
    )
