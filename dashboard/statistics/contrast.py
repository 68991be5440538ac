"""A part of a corpus beside all its other tokens: the names and the size of both, and links that compare labels."""

import numpy as np

from dashboard.points.head_tokens import HeadTokens, column_of
from dashboard.points.point_set import values
from dashboard.points.selection import Condition
from dashboard.statistics.parts import Part
from dashboard.ui.text import of_first
from dashboard.web.cache import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.phrases import many

#: Names of a part and of the rest that no single category names.
PART, REST = "filtered tokens", "all others"
#: Labels of which each has a link; of two, one link says it all.
MOST_LABELS = 5


def sides(corpus: Corpus, part: Part) -> tuple[str, str]:
    """Names of a part and of the rest, such as `positive` and `negative` where the corpus has two labels."""
    conditions = part.chosen.where
    if part.chosen.q or len(conditions) != 1 or len(conditions[0].categories) != 1:
        return PART, REST
    column = column_of(corpus, conditions[0].column)
    codes = np.unique(values(column, HeadTokens(corpus, corpus.n_tokens))[0, part.others, 0])
    alone = len(codes) == 1 and codes[0] >= 0
    return conditions[0].categories[0], column.category(int(codes[0])) if alone else REST


def size_of_rest(corpus: Corpus, part: Part) -> str:
    """How many tokens and sentences the part is compared with."""
    sentences = np.unique(corpus.tokens.sentence_index.values[corpus.rows[part.others]])
    tokens = many(int(part.others.sum()), "token")
    return f"Subtracted: means over the other {tokens}, in {many(len(sentences), 'sentence')}.{of_first(corpus)}"


def label_contrasts(corpus: Corpus, state: LinkState) -> dict[str, str]:
    """Titles and links of page Statistics that compare the sentences of a label with all others; empty without two kinds."""
    return {f"{label} minus {other}": _contrast_href(state, label) for label, other in _labels(corpus).items()}


@cached
def _labels(corpus: Corpus) -> dict[str, str]:
    """Labels that sentences of the corpus have, each with the name of all other sentences."""
    codes = np.unique(corpus.sentences.label.values)
    names = [corpus.label_names[code] for code in codes if code >= 0]
    if len(codes) < 2:
        return {}
    return {names[1]: names[0]} if len(codes) == len(names) == 2 else dict.fromkeys(names[:MOST_LABELS], REST)


def _contrast_href(state: LinkState, label: str) -> str:
    where = str(Condition("label", (label,)))
    return state.on("statistics").with_(where=where, values="rest").href
