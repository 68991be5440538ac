"""Heads of two models matched by what they attend to, whatever their layers and numbers: divergences, partners, and their table."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.compare.data import divergence_sample
from dashboard.compare.two_models import LETTERS, ModelPair, Sample, cached_result, lettered, sample_caption, unlike
from dashboard.roles.shares import RoleShares, known_shares, role_cells, role_titles
from dashboard.ui.controls import info
from dashboard.ui.files import Table
from dashboard.ui.glossary import defined
from dashboard.ui.markup import file_links, scrolling, stacked_cells
from dashboard.ui.work import watched
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.attention import ROOM, attention_rows
from store.kernels.bias import AttentionBias
from store.kernels.heads import divergence_between, partners
from store.phrases import many
from store.repository.errors import StoreError
from store.schema.model import head_name

#: Tokens whose queries and keys are in memory at once: 75 MB for each model of 12 by 12 heads of 64 channels.
TOKENS_AT_ONCE = 2_048
ABOUT_MATCHING = defined(
    "divergence",
    "Every head of A is compared with every head of B, in each sentence, then on average over sentences. Partners are the pairs with "
    "the least sum of divergences, each head in one pair at most (Hungarian assignment). A model whose heads are in another order is "
    "matched head by head.",
)
Floats = NDArray[np.float64]
Halves = NDArray[np.float16]
#: First and last row, exclusive, of sentences: (sentence, 2).
Spans = NDArray[np.int64]
#: Layer and head.
Head = tuple[int, int]
#: Roles of the heads of A and of B; None for a model without roles.
BothShares = tuple[RoleShares | None, RoleShares | None]


@dataclass(frozen=True, eq=False)
class Matching:
    """The heads of A with their partners in B; heads count layer by layer.

    Attributes
    ----------
    divergence
        Divergence of every two heads, mean over sentences in nats: (head, other_head).
    partner
        The other head of each head, -1 where B has none left: (head,).
    heads, other_heads
        Layer and head of each head of A and of B.
    sample
        The sentences that divergences are means over.
    """

    divergence: Floats
    partner: NDArray[np.intp]
    heads: tuple[Head, ...]
    other_heads: tuple[Head, ...]
    sample: Sample

    @property
    def least(self) -> Floats:
        """Divergence of each head from its partner, NaN without one: (head,)."""
        values = self.divergence[np.arange(len(self.partner)), self.partner]
        return np.where(self.partner < 0, np.nan, values)

    @property
    def in_place(self) -> int:
        """How many heads have the head of the same layer and number for a partner."""
        return sum(self.partner_of(number) == head for number, head in enumerate(self.heads))

    def partner_of(self, number: int) -> Head | None:
        """Layer and head of a head's partner; None without a partner."""
        partner = int(self.partner[number])
        return self.other_heads[partner] if partner >= 0 else None


def matched_heads(two: ModelPair) -> Matching:
    """The heads of both models, matched over the first common sentences; cached."""
    return cached_result(two, "matching", partial(_matched, two, divergence_sample(two)))


def _matched(two: ModelPair, sample: Sample) -> Matching:
    divergence = _divergence(two, sample)
    heads, other_heads = (tuple(np.ndindex(model.layers, model.heads)) for model in (two.own, two.other))
    return Matching(divergence, partners(divergence), heads, other_heads, sample)


def _divergence(two: ModelPair, sample: Sample) -> Floats:
    """Mean over sentences of the divergence of every two heads (head, other_head); it stops when no reader waits any more."""
    sums = np.zeros((two.own.layers * two.own.heads, two.other.layers * two.other.heads))
    done = watched(range(sample.sentences))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for spans in _parts(sample):
            own, other = (_vectors(model, int(spans[0, 0]), int(spans[-1, 1])) for model in (two.own, two.other))
            biases = two.own.bias, two.other.bias
            means = pool.map(partial(_of_sentence, own, other, biases), (spans - spans[0, 0]).tolist())
            for mean, _ in zip(means, done, strict=False):  # `done` goes on in the next part
                sums += mean
    return sums / sample.sentences


def _parts(sample: Sample) -> list[Spans]:
    """The sentences in parts; the vectors of one part are in memory at once."""
    spans = np.stack([sample.start, sample.start + sample.size], axis=-1)
    return np.split(spans, np.flatnonzero(np.diff(sample.start // TOKENS_AT_ONCE)) + 1)


def _vectors(corpus: Corpus, start: int, stop: int) -> tuple[Halves, Halves]:
    """Queries and keys of the heads of all layers: (head, token, channel)."""
    stored = (corpus_role.variable[:, :, start:stop].values for corpus_role in (corpus.query, corpus.key))
    query, key = (vectors.reshape(-1, *vectors.shape[2:]) for vectors in stored)
    return query, key


def _of_sentence(
    own: tuple[Halves, Halves],
    other: tuple[Halves, Halves],
    biases: tuple[AttentionBias | None, AttentionBias | None],
    span: tuple[int, int],
) -> Floats:
    """Mean divergence over the queries of a sentence: (head, other_head)."""
    tokens, most = slice(*span), max(len(own[0]), len(other[0]))
    of_models = (  # as many rows at once of both models, whatever their numbers of heads
        attention_rows(
            *(vectors[:, tokens].astype(np.float32) for vectors in model), bias=bias, room=ROOM * len(model[0]) // most
        )
        for model, bias in zip((own, other), biases, strict=True)
    )
    rows = zip(*of_models, strict=True)
    total = sum(np.asarray(divergence_between(weights, of_other), np.float64) for (_, weights), (_, of_other) in rows)
    return np.asarray(total) / (tokens.stop - tokens.start)


def matching_table(matching: Matching) -> Table:
    """A row for each head of A with its partner in B, NaN and empty without a partner."""
    partner = [matching.partner_of(number) for number in range(len(matching.heads))]
    layer, head = np.array(matching.heads).T
    other_layer, other_head = np.array([found or (np.nan, np.nan) for found in partner]).T
    return {
        "layer": layer,
        "head": head,
        "name": np.array([head_name(*each) for each in matching.heads], object),
        "other_layer": other_layer,
        "other_head": other_head,
        "other_name": np.array([head_name(*found) if found else "" for found in partner], object),
        "divergence": matching.least,
    }


def match(own: Corpus, other: Corpus) -> pd.DataFrame:
    """See `headscape.match`."""
    if own.attributes["corpus"] != other.attributes["corpus"]:
        raise StoreError(f"{unlike(own, other)} Ingest both models on the same sentences.")
    return pd.DataFrame(matching_table(matched_heads(ModelPair(own, other))))


def matching_heads(state: LinkState, two: ModelPair) -> list[object]:
    """The table of the heads of A with their partners; computed at the first request."""
    matching = matched_heads(two)
    titles = [f"head of {name}" for name in lettered(two)]
    shares = known_shares(two.own), known_shares(two.other)
    rows = [_row(state, two, matching, number, shares) for number in range(len(matching.heads))]
    columns = [title for name, own in zip(titles, shares, strict=True) for title in (name, *role_titles(own))]
    table = stacked_cells([*columns, "divergence, nats"], rows, {"divergence, nats"})
    about = f"Divergence over {sample_caption(two, matching.sample)}."
    return [
        scrolling(table, "Matching heads"),
        html.P([_in_place(two, matching), info("the sample of the matching", about)], className="caption"),
        file_links(data_link(two.own), "All partners", f"compare/{two.other.name}/matching"),
    ]


def _row(state: LinkState, two: ModelPair, matching: Matching, number: int, shares: BothShares) -> list[html.Td]:
    partner, divergence = matching.partner_of(number), float(matching.least[number])
    both = zip((two.own, two.other), (matching.heads[number], partner), shares, strict=True)
    cells = [
        cell
        for model, head, roles in both
        for cell in (html.Td(_link(state, model, head)), *(role_cells(roles, *head) if head else _no_role(roles)))
    ]
    return [*cells, html.Td("" if partner is None else f"{divergence:.4f}", className="number")]


def _no_role(shares: RoleShares | None) -> list[html.Td]:
    """The empty cell of a head without a partner, where there is a column of roles."""
    return [html.Td()] if shares else []


def _link(state: LinkState, model: Corpus, head: Head | None) -> dcc.Link | str:
    """A link to the page of a head in its model."""
    if head is None:
        return f"none left in {LETTERS[1]}"
    shown = state.on("head").with_(model=model.name, layer=head[0], head=head[1], other=None)
    return dcc.Link(head_name(*head), href=shown.href)


def _in_place(two: ModelPair, matching: Matching) -> str:
    """A caption: how many heads have a partner, and how many have the head of the same layer and number."""
    paired = int((matching.partner >= 0).sum())
    every = f"{paired:,} of {many(len(matching.heads), 'head')} of A have a partner"
    if not two.same_heads:
        return f"{every} among {many(len(matching.other_heads), 'head')} of B. "
    return f"{matching.in_place:,} of {many(paired, 'head')} match the head of the same layer and number. "
