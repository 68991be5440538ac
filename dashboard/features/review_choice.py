"""The part of page Features that chooses a review of the data: by its index, or from a search for words."""

from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.features.data import FoundReview, FoundReviews, drawn_token_sets, sought_words, token_set_title
from dashboard.features.reading import LISTED, MISSING, Reading
from dashboard.ui.controls import choice, number, text_input
from dashboard.ui.deferred import job_place
from dashboard.ui.markup import Page, heading, scrolling
from dashboard.ui.text import capital
from dashboard.ui.work import Job, WorkKind
from dashboard.web.context import Context
from dashboard.web.state import MOST_REVIEWS, LinkState
from dashboard.web.token_sets import review_number, shown_token_set
from store import Corpus
from store.phrases import many

#: Pixels that a page reserves for a review that is being read, and for a search.
READ_HEIGHT, SOUGHT_HEIGHT = 320, 120
#: A review that is being read.
READING = WorkKind(
    place="reading",
    waiting="Waiting for the process that reads reviews.",
    cancelled="Reading was cancelled.",
    again="Try again",
    fields=("model", "snapshot", "review"),
)
#: A search for reviews.
SEEKING = WorkKind(
    place="seeking",
    waiting="Waiting for the process that reads reviews.",
    cancelled="The search was cancelled.",
    again="Try again",
    fields=("model", "snapshot", "seek"),
)


@dataclass(frozen=True)
class ReviewChoice:
    """The review that a link shows, and the result of its search.

    Attributes
    ----------
    token_set
        The token set of the link.
    data
        The name of the data.
    can_read
        Whether this server can read reviews that the store lacks.
    found
        Result of the search; None without a search, and before it is made.
    """

    corpus: Corpus
    state: LinkState
    token_set: str
    data: str
    can_read: bool
    found: FoundReviews | None

    @classmethod
    def of(cls, corpus: Corpus, state: LinkState, reading: Reading) -> "ReviewChoice":
        """The choice of a link."""
        found = reading.found(corpus, state.seek) if state.seek else None
        token_set = shown_token_set(corpus, state)
        return cls(corpus, state, token_set, str(corpus.corpus_attributes["name"]), reading.can_read(), found)

    @property
    def is_stored(self) -> bool:
        """Whether the store has the token set."""
        return self.token_set in self.corpus.token_sets


def token_set_choice(chosen: ReviewChoice) -> dmc.Select:
    """The token sets with a picture, and the token set of the link."""
    names = dict.fromkeys([*drawn_token_sets(chosen.corpus), chosen.token_set])
    titles = {name: token_set_title(name) for name in names}
    return choice("material", "Tokens of", titles, chosen.token_set, 120)


def review_section(chosen: ReviewChoice) -> list[Any]:
    """The section of reviews, open where the link names one or has a search; none where this server cannot read reviews."""
    state = chosen.state
    if not chosen.can_read:
        return []
    index: Any = review_number(chosen.token_set)
    controls = [
        number("review", "Review", index, 0, MOST_REVIEWS - 1, 1),
        text_input("seek", "Find reviews", "words, then Enter", state.seek, 190),
    ]
    inner: list[Any] = [html.Div(controls, className="controls"), *_found(chosen)]
    is_open = state.review is not None or bool(state.seek)
    return [html.Details([html.Summary(f"Read any review of {chosen.data}"), *inner], id="any-review", open=is_open)]


def unread_page(chosen: ReviewChoice) -> Page:
    """The page of a review that is being read; its picture follows once the review is read."""
    title = html.H1(f"{capital(token_set_title(chosen.token_set))} of {chosen.data}")
    alert = dmc.Alert(MISSING, color="blue", variant="light")
    read = job_place(READING, READ_HEIGHT) if chosen.can_read else alert
    how = html.P("The model reads the whole review; then its tokens are drawn.", className="how-to-read")
    controls = html.Div(html.Div(token_set_choice(chosen), className="controls"), className="control-rows")
    return Page(above=[title, how, controls, *review_section(chosen), read])


def _found(chosen: ReviewChoice) -> list[Any]:
    """The result of the search, or its progress; nothing without a search."""
    if not chosen.state.seek:
        return []
    if chosen.found is None:
        return [job_place(SEEKING, SOUGHT_HEIGHT)]
    return [html.P(_summary(chosen, chosen.found), className="caption", role="status"), *_table(chosen, chosen.found)]


def _summary(chosen: ReviewChoice, found: FoundReviews) -> list[Any]:
    words = " and ".join(f"“{word}”" for word in sought_words(chosen.state.seek or ""))
    close = dcc.Link("Close the search", href=chosen.state.with_(seek=None).href)
    if not found.count:
        return [f"No review of {chosen.data} has {words}. Type other words, or the number of a review. ", close]
    first = f"; the first {len(found.first)}" if found.count > LISTED else ""
    count = f"{found.count:,} of {many(found.among, 'review')} {'has' if found.count == 1 else 'have'} {words}{first}."
    return [f"{count} Click a number to read the review. ", close]


def _table(chosen: ReviewChoice, found: FoundReviews) -> list[object]:
    if not found.first:
        return []
    rows = [html.Tr(_cells(chosen, review)) for review in found.first]
    table = html.Table([heading(["review", "label", "text"], {"review"}), html.Tbody(rows)], className="rows found")
    return [scrolling(table, "Reviews with these words", "scroll found-reviews")]


def _cells(chosen: ReviewChoice, review: FoundReview) -> list[html.Td]:
    changes = dict.fromkeys(("material", "ftoken", "flasso", "fonly", "at"))
    link = dcc.Link(f"{review.number:,}", href=chosen.state.with_(review=review.number, **changes).href)
    return [
        html.Td(link, className="number"),
        html.Td(html.Bdi(review.label)),
        html.Td(review.excerpt, className="text", dir="auto"),
    ]


def read_review(context: Context, job: Job) -> list[object]:
    """Read the review of the link; the page is then fetched again. Raises `Refusal` where it cannot be read now."""
    number = review_number(shown_token_set(context.corpus, context.state))
    if number is not None:
        context.served_store.service(Reading).read(context.corpus, number, job)
    return _done(READING)


def seek_reviews(context: Context, job: Job) -> list[object]:
    """Find the reviews with the words of the link; the page is then fetched again. Raises `Refusal` as `read_review` does."""
    if context.state.seek:
        context.served_store.service(Reading).seek(context.corpus, context.state.seek, job)
    return _done(SEEKING)


def _done(kind: WorkKind) -> list[object]:
    """The end of a job: the browser fetches the page of the link again (assets/web/follow.mjs)."""
    return [dcc.Store(id={"done": kind.place}, data={})]
