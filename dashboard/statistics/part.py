"""The part of a corpus that conditions choose."""

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
    """Tokens of a corpus, each of them a row of every head's pattern.

    Attributes
    ----------
    chosen
        What of a link chooses them: conditions that are the same in all heads, and a search.
    rows
        (token,), whether the token belongs to the part.
    tokens, sentences
        How many tokens it has, and how many sentences have one of them.
    notices
        A sentence on everything in the link that chooses nothing.
    """

    chosen: Selection
    rows: NDArray[np.bool_]
    tokens: int
    sentences: int
    notices: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """The same for every filter that chooses these tokens."""
        return sha256(np.packbits(self.rows).tobytes()).hexdigest()


def part_of(corpus: Corpus, where: str | None, *, q: str | None = None, within: str | None = None) -> Part:
    """The tokens that meet all conditions of a link's `where` and that its search finds; all, where it says nothing."""
    given = {"where": where or "", "q": q or "", "within": within or ""}
    selection, notices = parse_selection(given, corpus)
    left_out = [said for condition in selection.where if (said := _left_out(corpus, condition))]
    where_of_tokens = tuple(one for one in selection.where if _says_something(one) and not _left_out(corpus, one))
    chosen = replace(selection, where=where_of_tokens)
    part = _part(corpus, chosen)
    return replace(part, notices=(*notices, *left_out))


def part_labels(corpus: Corpus, part: Part, means: xr.DataArray) -> xr.DataArray:
    """The label that every head has in the part, (layer, head): by the part's means and the length of its sentences."""
    if part.tokens == corpus.n_tokens:
        return corpus.head_labels
    if not part.tokens:
        return xr.full_like(corpus.head_labels, "")
    return head_labels(means, _lengths(corpus, part))


def uniform_entropy(corpus: Corpus, part: Part) -> float:
    """Entropy that uniform attention would have, in nats: the mean over the part's sentences of ln tokens; NaN without any."""
    return float(np.log(_lengths(corpus, part)).mean()) if part.tokens else float("nan")


def _lengths(corpus: Corpus, part: Part) -> NDArray[np.int32]:
    """Tokens of every sentence that has a row in the part: (sentence,)."""
    sentences = np.unique(corpus.tokens.sentence_index.values[corpus.rows[part.rows]])
    sizes: NDArray[np.int32] = corpus.sentences.row_size.values[sentences]
    return sizes


def _left_out(corpus: Corpus, condition: Condition) -> str | None:
    """Why a condition chooses no tokens, None where it does."""
    column = column_of(corpus, condition.column)
    if column.per_head:
        return f"“{column.title}” differs from head to head, and a part of the corpus is the same in all. The condition is left out."
    if column.per_role:
        return f"Every token is a query and a key. The condition on “{column.title}” is left out."
    return None


def _says_something(condition: Condition) -> bool:
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
