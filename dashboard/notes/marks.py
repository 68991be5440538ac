"""Marks of notes on what a page shows: panels, points, tokens of a sentence, and the number of notes on each thing."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dashboard.notes.notes import Notes
from dashboard.notes.target import HeadTarget, PointTarget, Target, TokenTarget, sentence_name
from dashboard.web.context import Context
from dashboard.web.errors import Refusal
from dashboard.web.http import data_link
from dashboard.web.library import Library
from store.schema.features import point_title
from store.schema.model import head_name

Counts = Mapping[Target, int]
#: Things of a kind that a page marks at most.
MOST = 2_000


def marks_of(context: Context, counts: Counts) -> dict[str, Any]:
    """JSON-ready: how many notes the panels, the points and the tokens of a page have, and every target by its key.

    `base` is how the data URLs of the picture begin that the marks are for.
    """
    page = context.state.page
    nothing: dict[str, Any] = {"panels": {}, "tokens": {}, "positions": {}}
    marks = {"features": _of_features, "sentence": _of_sentence}.get(page, _of_heads)(context, counts)
    return {"base": data_link(context.corpus), "counts": dict(_by_key(counts)), **nothing, **marks}


def _by_key(counts: Counts) -> Iterator[tuple[str, int]]:
    return ((target.key, count) for target, count in counts.items())


def _of_heads(context: Context, counts: Counts) -> dict[str, Any]:
    """Heads by their names, and tokens of the corpus by their numbers."""
    corpus = context.corpus
    heads = {
        head_name(target.layer, target.head): count
        for target, count in counts.items()
        if isinstance(target, HeadTarget) and target.fits(corpus)
    }
    tokens = ((target.token(corpus), count) for target, count in _most(counts) if isinstance(target, TokenTarget))
    return {"base": f"{data_link(corpus)}/points", "panels": heads, "tokens": _numbered(tokens)}


def _of_sentence(context: Context, counts: Counts) -> dict[str, Any]:
    """Tokens of the sentence by their positions; a typed sentence has none, nor has one without vectors."""
    state, corpus = context.state, context.corpus
    if state.text or context.has_no_vectors:
        return {}
    own = sentence_name(corpus, state.sentence)
    tokens = (
        (target.position if target.fits(corpus) else None, count)
        for target, count in counts.items()
        if isinstance(target, TokenTarget) and target.sentence == own
    )
    return {"base": f"{data_link(corpus)}/sentence/{state.sentence}", "positions": _numbered(tokens)}


def _of_features(context: Context, counts: Counts) -> dict[str, Any]:
    """Feature points by their titles; in the large panel, tokens of the shown token set by their numbers."""
    corpus, state = context.corpus, context.state
    if not corpus.token_sets:
        return {}
    token_set = state.material or corpus.token_sets[0]
    base = f"{data_link(corpus)}/features/{token_set}"
    own = [
        (target, count) for target, count in _most(counts) if isinstance(target, PointTarget) and target.fits(corpus)
    ]
    panels = {point_title(target.point): count for target, count in own if not target.token}
    shown = ((t, count) for t, count in own if (t.point, t.token_set) == (state.point, token_set))
    return {"base": base, "panels": panels, "tokens": _numbered((t.number(corpus), count) for t, count in shown)}


def _numbered(counts: Iterable[tuple[int | None, int]]) -> dict[str, int]:
    return {str(number): count for number, count in counts if number is not None}


def _most(counts: Counts) -> list[tuple[Target, int]]:
    return list(counts.items())[:MOST]


def notes_version(library: Library) -> str | None:
    """A text that is another one after every change of the notes; None where they cannot be read."""
    try:
        return library.get(Notes).version()
    except Refusal:
        return None
