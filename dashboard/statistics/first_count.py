"""Numbers of a part of a large corpus: of its first tokens at once, then of all."""

from dataclasses import replace

from dash import html

from dashboard.statistics.data import is_counted
from dashboard.statistics.page import COUNT, numbers
from dashboard.statistics.parts import Part, first_part, part_of
from dashboard.ui.job import Job, job_place
from dashboard.ui.text import capital, every_of, searched_tokens
from dashboard.web.context import Context
from dashboard.web.errors import ReaderLeft
from store import Corpus
from store.phrases import many

#: The count of all tokens, beside the numbers of the first.
COUNT_ALL = replace(COUNT, place="all-numbers")


def first_numbers(context: Context, counting: Job) -> list[object]:
    """All numbers of the link's part, or those of the first tokens with a job that replaces them."""
    part = part_of(context.corpus, context.state.where)
    first = first_part(context.corpus, part)
    if first is None or is_counted(context, part):
        return numbers(context, counting)
    shown = numbers(replace(context, first=True), counting)
    return [job_place(COUNT_ALL, 0, [_caption(context.corpus, first, "So far", " are being counted."), *shown])]


def all_numbers(context: Context, counting: Job) -> list[object]:
    """The numbers of all tokens of the part; where the reader cancels their count, those of the first stay."""
    try:
        return numbers(context, counting)
    except ReaderLeft:
        first = first_part(context.corpus, part_of(context.corpus, context.state.where))
        if first is None:
            raise
        again = html.A("Count them", href=context.state.href)
        caption = _caption(context.corpus, first, "Shown", " are not counted. ", again, ".")
        return [caption, *numbers(replace(context, first=True))]


def _caption(corpus: Corpus, first: Part, shown: str, *of_all: str | html.A) -> html.P:
    """What the numbers are of, and what becomes of all tokens."""
    of = searched_tokens(corpus, first.first or corpus.n_tokens)
    match = f"{many(first.tokens, 'token')} in {many(first.sentences, 'sentence')}"
    means = f"{shown}: means over {match}, those of {of}, a uniform sample. {capital(every_of(corpus, 'token'))}"
    return html.P([means, *of_all], className="count")
