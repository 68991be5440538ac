"""A part of a corpus: the tokens that the filters of a link select."""

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.points.columns import column_of
from dashboard.points.drawn import Drawn
from dashboard.points.search import matching_tokens
from dashboard.points.selection import Condition, Selection, matching_points, parse_selection
from dashboard.web.cache import cached
from store import Corpus
from store.kernels.labels import head_labels


@dataclass(frozen=True, eq=False)
class Part:
    """Tokens of a corpus, each of them a query in every head.

    Attributes
    ----------
    chosen
        What selects them: conditions that are the same in all heads, and a search.
    rows
        (token,), whether the token belongs to the part.
    tokens, sentences
        How many tokens it has, and how many sentences have one of them.
    notices
        A sentence on every filter of the link that was ignored.
    """

    chosen: Selection
    rows: NDArray[np.bool_]
    tokens: int
    sentences: int
    notices: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """A hash of the tokens: equal for all filters that select the same ones."""
        return sha256(np.packbits(self.rows).tobytes()).hexdigest()


def part_of(corpus: Corpus, where: str | None, *, q: str | None = None, within: str | None = None) -> Part:
    """The tokens that match all conditions of a link's `where` and its search; all tokens without any."""
    written = {"where": where or "", "q": q or "", "within": within or ""}
    selection, notices = parse_selection(written, corpus)
    ignored = [notice for condition in selection.where if (notice := _ignored(corpus, condition))]
    selecting = tuple(part for part in selection.where if _is_complete(part) and not _ignored(corpus, part))
    chosen = replace(selection, where=selecting)
    part = _part(corpus, chosen)
    return replace(part, notices=(*notices, *ignored))


def part_labels(corpus: Corpus, part: Part, means: xr.DataArray) -> xr.DataArray:
    """Labels of all heads (layer, head), from the means of the part and the lengths of its sentences."""
    if part.tokens == corpus.n_tokens:
        return corpus.head_labels
    if not part.tokens:
        return xr.full_like(corpus.head_labels, "")
    return head_labels(means, _lengths(corpus, part))


def uniform_entropy(corpus: Corpus, part: Part) -> float:
    """Entropy of uniform attention in nats: the mean over the part's sentences of ln tokens; NaN without any."""
    return float(np.log(_lengths(corpus, part)).mean()) if part.tokens else float("nan")


def _lengths(corpus: Corpus, part: Part) -> NDArray[np.int32]:
    """Tokens of every sentence that has a token in the part: (sentence,)."""
    sentences = np.unique(corpus.tokens.sentence_index.values[corpus.rows[part.rows]])
    sizes: NDArray[np.int32] = corpus.sentences.row_size.values[sentences]
    return sizes


def _ignored(corpus: Corpus, condition: Condition) -> str | None:
    """Why a condition cannot select tokens, None where it can."""
    column = column_of(corpus, condition.column)
    if column.per_head:
        return f"Ignored a filter: “{column.title}” differs between heads."
    if column.per_role:
        return f"Ignored a filter: every token is both query and key, so “{column.title}” selects none."
    return None


def _is_complete(condition: Condition) -> bool:
    return bool(condition.categories) or condition.low is not None or condition.high is not None


@cached
def _part(corpus: Corpus, chosen: Selection) -> Part:
    drawn = Drawn(corpus, corpus.n_tokens)
    rows = matching_tokens(corpus, chosen.q, chosen.within).copy() if chosen.q else np.ones(corpus.n_tokens, bool)
    for condition in chosen.where:
        rows &= matching_points(condition, drawn)[0, :, 0]
    rows.flags.writeable = False
    sentences = np.unique(corpus.tokens.sentence_index.values[corpus.rows[rows]])
    return Part(chosen, rows, int(rows.sum()), len(sentences))
