"""Everything a point can be coloured by, sized by and filtered by: the columns of a corpus.

`dashboard/points/token_numbers.py` reads what each token has; `dashboard/points/colours.py` makes colours of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dashboard.points import token_numbers
from dashboard.points.drawn import Drawn
from dashboard.web.cache import cached
from store import STATISTICS, Corpus, StoreError
from store.schema import ROLES

Kind = Literal["category", "number"]
Values = NDArray[np.float64 | np.int64]

KINDS = ("[CLS]", "[SEP]", "full stop or comma", "symbol", "continuation", "word")
#: AttentionViz colours [CLS] and [SEP] with the punctuation; here they are a category of their own beside it.
PUNCTUATION = ("word", "punctuation", "[CLS] or [SEP]")
#: Occurrences of the wordpiece in the corpus; a band begins at each of `token_numbers.FREQUENCIES`.
FREQUENCY_BANDS = ("once", "2 to 9 times", "10 to 99 times", "100 to 999 times", "1,000 times and more")


@dataclass(frozen=True)
class Column:
    """What is known of every point: a number, or one of a few categories.

    Attributes
    ----------
    title, unit
        As a person reads them. The unit `share` is written as per cent.
    per_head, per_role
        Whether heads, and query and key of one token, differ in it.
    names
        Category of each code; empty where the code itself is the category's number.
    logarithmic
        Whether colours go by its logarithm.
    """

    name: str
    title: str
    kind: Kind = "number"
    unit: str = ""
    per_head: bool = False
    per_role: bool = False
    names: tuple[str, ...] = ()
    logarithmic: bool = False
    read: Callable[[Drawn], Values] = field(default=token_numbers.position, repr=False, compare=False)

    def category(self, code: int) -> str:
        """Name of a category."""
        return self.names[code] if code < len(self.names) else f"{code}"

    def code(self, name: str) -> int | None:
        """Code of a category by its name, None where there is no such category."""
        if self.names:
            return self.names.index(name) if name in self.names else None
        return int(name) if name.isascii() and name.isdigit() and len(name) < 10 else None


@cached
def columns(corpus: Corpus) -> dict[str, Column]:
    """Every column of a corpus by its name, in the order of a menu."""
    own = [*_of_positions(), *_of_tokens(), *_of_frequencies()]
    every = [*own, *_of_heads(), *_of_sentences(corpus), *_of_data(corpus)]
    return {column.name: column for column in every}


def column_of(corpus: Corpus, name: str) -> Column:
    """A column by its name."""
    found = columns(corpus).get(name)
    if found is None:
        raise StoreError(f"There is no column {name[:60]!r}. Choose one of {', '.join(columns(corpus))}.")
    return found


def values(column: Column, drawn: Drawn) -> Values:
    """What the drawn points have: (panel, token, role), read-only.

    One panel where it is the same in all. Numbers in float64, NaN where there is none; categories as codes in int64, -1
    where there is none.
    """
    read = column.read(drawn)
    return np.broadcast_to(read, (len(read), len(drawn.rows), len(ROLES)))


def _of_positions() -> list[Column]:
    return [
        Column("role", "query or key", "category", per_role=True, names=ROLES, read=token_numbers.role),
        Column("position", "position in the sentence", unit="tokens", read=token_numbers.position),
        Column("position_share", "place in the sentence", unit="share", read=token_numbers.position_share),
        Column(
            "position_mod_5",
            "position modulo 5",
            "category",
            names=tuple("01234"),
            read=token_numbers.position_modulo_5,
        ),
    ]


def _of_tokens() -> list[Column]:
    return [
        Column("kind", "kind of token", "category", names=KINDS, read=token_numbers.kind),
        Column("is_punctuation", "punctuation", "category", names=PUNCTUATION, read=token_numbers.punctuation),
        Column("token_length", "length of the wordpiece", unit="characters", read=token_numbers.token_length),
        Column("sentence_length", "length of the sentence", unit="tokens", read=token_numbers.sentence_length),
    ]


def _of_frequencies() -> list[Column]:
    return [
        Column(
            "frequency",
            "occurrences of the wordpiece in the corpus",
            unit="times",
            logarithmic=True,
            read=token_numbers.frequency,
        ),
        Column(
            "frequency_band",
            "how often the wordpiece occurs",
            "category",
            names=FREQUENCY_BANDS,
            read=token_numbers.frequency_band,
        ),
    ]


def _of_heads() -> list[Column]:
    """What differs from head to head. Statistics are of the token's row of the pattern; its key is given the same."""
    statistics = [
        Column(name, one.title, unit=one.unit, per_head=True, read=partial(token_numbers.statistic, name=name))
        for name, one in STATISTICS.items()
    ]
    return [
        Column("norm", "norm of the query or key vector", per_head=True, per_role=True, read=token_numbers.norm),
        Column("value_norm", "length of the value handed on", per_head=True, read=token_numbers.value_norm),
        *statistics,
        Column("given", "attention given to other tokens", unit="share", per_head=True, read=token_numbers.given),
    ]


def _of_sentences(corpus: Corpus) -> list[Column]:
    label = Column("label", "label of the review", "category", names=corpus.label_names, read=token_numbers.label)
    return [
        *([label] if corpus.label_names else []),
        Column("review", "review, by its number in the data", "category", read=token_numbers.review),
    ]


def _of_data(corpus: Corpus) -> list[Column]:
    return [
        Column(
            f"data.{name}",
            str(array.attrs["title"]),
            "category",
            names=tuple(map(str, array.attrs["names"])),
            read=partial(token_numbers.of_data, name=str(name)),
        )
        for name, array in corpus.columns.items()
    ]
