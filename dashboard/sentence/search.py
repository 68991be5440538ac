"""Where a page looks for sentences, how it ranks them, and where they are shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dashboard.sentence.chosen import isolated_head
from dashboard.sentence.finder import ORDER, RANKED, Ranking, Wanted, statistic_ranking
from dashboard.web.state import Address
from dashboard.web.view import Place
from store import STATISTICS

#: Rankings that every page has, by their names in the link.
RANKINGS: Mapping[str, str] = {ORDER: "in their order"} | {name: STATISTICS[name].title for name in RANKED}


@dataclass(frozen=True, eq=False)
class Search:
    """The search for sentences on a page.

    Attributes
    ----------
    rankings, by
        Titles of the rankings that can be chosen by their names, and the name of the chosen one.
    ranking
        None where sentences stand in their order.
    among
        How many sentences are looked at, from the first on.
    href
        The link to a sentence.
    says
        What else is to be said of them.
    head
        Of the link's layer; by what it does sentences are ranked.
    """

    rankings: Mapping[str, str]
    by: str
    ranking: Ranking | None
    among: int
    href: Callable[[int], str]
    says: str = ""
    head: int = 0


def wanted_of(address: Address) -> Wanted:
    """What the link asks of a sentence."""
    return Wanted(address.find or "", address.labelled or "", address.fewest, address.most)


def search_of(place: Place) -> Search:
    """On page Sentence: all sentences of the corpus, which open there, ranked in the head whose lines are drawn alone."""
    address = place.address.with_(head=isolated_head(place))
    ranking = ranking_by(place, address.by, address.head)
    return Search(
        RANKINGS,
        address.by or ORDER,
        ranking,
        place.corpus.n_sentences,
        lambda sentence: place.address.of_sentence(sentence).href,
        head=address.head,
    )


def ranking_by(place: Place, by: str | None, head: int) -> Ranking | None:
    """By a statistic of a head of the link's layer; None where sentences stand in their order."""
    if by in (None, ORDER):
        return None
    return statistic_ranking(place.corpus, str(by), place.address.layer, head)


def choices(place: Place) -> tuple[dict[str, object], dict[str, object]]:
    """What the control of the ranking stands at, and where it stands by default."""
    return {"by": place.address.by or ORDER}, {"by": ORDER}
