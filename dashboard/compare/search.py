"""The search for sentences that two models have: where a head differs most between them, or by what this one does."""

from dataclasses import replace

from dashboard.compare.divergence import head_divergence, head_sample
from dashboard.compare.sample import said_of
from dashboard.compare.two import Two
from dashboard.sentence.finder import ORDER, Ranking
from dashboard.sentence.search import RANKINGS, Search, ranking_by
from dashboard.web.view import Place

#: The ranking by how far a head's patterns in both models are apart. It is the page's own, so that no link says it.
DIVERGENCE = "divergence"


def ranked_by(place: Place, two: Two) -> str:
    """Name of the ranking: divergence where the link names none and heads have counterparts."""
    return place.address.by or standard_ranking(two)


def standard_ranking(two: Two) -> str:
    """Where a link names none."""
    return DIVERGENCE if two.same_heads else ORDER


def search_in_both(place: Place, two: Two) -> Search:
    """Links stay on the page; counts divergences when first asked for."""
    by = ranked_by(place, two)
    names = {name: title if name == ORDER else f"{title}, this" for name, title in RANKINGS.items()}
    own = {DIVERGENCE: "divergence of the two"} if two.same_heads else {}
    if by == DIVERGENCE:
        ranking: Ranking | None = _divergence(place, two)
        among = head_sample(two).sentences
    else:
        ranking, among = _of_this(ranking_by(place, by, place.address.head)), two.sentences
    says, head = _says(two, by), place.address.head
    return Search(own | names, by, ranking, among, lambda sentence: sentence_href(place, sentence), says, head)


def sentence_href(place: Place, sentence: int) -> str:
    """The same page with another sentence, at its patterns."""
    return f"{place.address.with_(sentence=sentence).href}#sentence-in-both"


def _divergence(place: Place, two: Two) -> Ranking:
    values = head_divergence(two, place.address.layer, place.address.head)
    return Ranking("divergence, nats", values, "{:.4f}".format)


def _of_this(ranking: Ranking | None) -> Ranking | None:
    return ranking and replace(ranking, title=f"{ranking.title}, this")


def _says(two: Two, by: str) -> str:
    """Over which sentences it was looked for, where not over all."""
    if by == DIVERGENCE:
        return f"Looked at: {said_of(two, head_sample(two))}. Divergence is the mean of a sentence's rows."
    every = two.own.n_sentences
    return (
        ""
        if two.sentences == every
        else f"Looked at: the first {two.sentences:,} of {every:,}, which both models have."
    )
