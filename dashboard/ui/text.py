"""Numbers, units and names in a form for people."""

import re
from collections.abc import Iterable
from typing import Any

from dash import html

from store import Corpus, Snapshot
from store.phrases import many
from store.schema.corpus import RELATION_TITLES
from store.schema.model import SOURCES

#: Digits that float16 vectors and float32 weights carry.
DIGITS = 6
_QUERIES = ("all queries", "[CLS] only", "[SEP] only", "full stops and commas", "words", "all but [SEP]")
#: Source -> the queries that a mean is over.
QUERIES = dict(zip(SOURCES, _QUERIES, strict=True))


def spell(value: float, unit: str) -> str:
    """A number with its unit; shares in per cent."""
    return with_unit(brief(value, unit) or "nan", unit)


def decimal(value: float, digits: int = 2, sign: str = "-") -> str:
    """A number with `digits` decimals and a real minus (U+2212), as on the axes of charts; what rounds to 0 has no minus.

    `sign` "+" writes every sign, "+," also separates thousands.
    """
    return f"{value:{sign[0]}z{sign[1:]}.{digits}f}".replace("-", "−")


def with_unit(number: str, unit: str) -> str:
    """A written number with its unit: `12.5%`, `3 tokens`."""
    return f"{number}%" if unit == "share" else f"{number} {unit}".strip()


def unbroken(text: str) -> str:
    """A text without line breaks, such as a number and its unit."""
    return text.replace(" ", "\u00a0")


def in_brackets(relation: str) -> str:
    """The grammatical name of a relation in brackets, to follow its label; empty where the label is of another scheme."""
    return f" ({RELATION_TITLES[relation]})" if relation in RELATION_TITLES else ""


def printable(text: str) -> str:
    """A text for an SVG: control characters, which are no XML, are replaced."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def with_commands(sentences: str) -> list[str | html.Code]:
    """Sentences for a page: text in backticks is set as code."""
    parts = sentences.split("`")
    return [html.Code(part) if number % 2 else part for number, part in enumerate(parts) if part]


def naming(text: str, *names: str) -> list[Any]:
    """A text in which names from the data, such as names of models and relations, are elements that no browser translates."""
    known = "|".join(map(re.escape, sorted(filter(None, names), key=len, reverse=True)))
    parts = re.split(rf"(?<!\w)({known})(?!\w)", text) if known else [text]
    return [html.Bdi(part) if number % 2 else part for number, part in enumerate(parts) if part]


def brief(value: float, unit: str) -> str:
    """A number without its unit, shares in per cent; empty for NaN."""
    if value != value:
        return ""
    return decimal(100 * value, 1) if unit == "share" else decimal(value)


def signed(value: float, digits: int) -> str:
    """A difference with its sign; no sign where it rounds to 0. Empty for NaN."""
    rounded = round(value, digits)
    if rounded != rounded:
        return ""
    return decimal(rounded, digits, "+") if rounded else decimal(0, digits)


def span(low: float, high: float, unit: str) -> str:
    """A range with its unit: `0 to 127 tokens`, `0.4 to 12.0%`."""
    return f"{end_of_range(low, unit)} to {with_unit(end_of_range(high, unit), unit)}"


def in_interval(low: float, high: float, digits: int = 1) -> str:
    """The interval after a number: ` (0.2 to 0.4)`; empty where it is unknown, as for a single sentence."""
    return f" ({low:.{digits}f} to {high:.{digits}f})" if low == low else ""


def end_of_range(value: float, unit: str) -> str:
    """An end of a range without its unit: whole numbers without decimals, shares in per cent."""
    if unit == "share":
        return decimal(100 * value, 1)
    return f"{value:,.0f}".replace("-", "−") if value % 1 == 0 else decimal(value)


def unit_title(unit: str) -> str:
    """A unit as an axis or a column shows it."""
    return "%" if unit == "share" else unit


def difference_unit(unit: str) -> str:
    """The unit of a difference: percentage points for shares."""
    return "points" if unit == "share" else unit


def significant(numbers: Iterable[float]) -> list[float]:
    """The numbers rounded to `DIGITS` significant digits."""
    return [float(f"{number:.{DIGITS}g}") for number in numbers]


def model_names(snapshot: Snapshot) -> dict[str, str]:
    """Key of every finished model -> "model on corpus": a model may be in a store with several corpora.

    The hash at the end of a corpus' key is kept only where two corpora have the same name.
    """
    keys = {model["corpus"] for model in snapshot.models.values()}
    names = {key: key.rpartition("-")[0] or key for key in keys}
    told = {key: key if [*names.values()].count(name) > 1 else name for key, name in names.items()}
    return {key: f"{snapshot.titles[key]} on {told[model['corpus']]}" for key, model in snapshot.models.items()}


def sight(corpus: Corpus) -> str:
    """A remark on a model whose tokens do not see the whole sentence; empty for other models."""
    masks, near = corpus.masks, [mask for mask in corpus.masks if mask.window is not None]
    later = " Tokens see no later token." if masks[0].causal else ""
    if not near:
        return later
    where = "" if len(near) == len(masks) else f"In {len(near)} of {len(masks)} layers "
    farthest = many(max(mask.window or 0 for mask in near), "token")
    return f"{later} {capital(f'{where}tokens see none that is more than {farthest} away.')}"


def all_of(corpus: Corpus, noun: str) -> str:
    """Number of sentences or tokens that statistics of heads and layers are means over: `40,000 sentences`."""
    return many(_sizes(corpus, noun)[1], noun)


def first_of(corpus: Corpus, noun: str) -> str:
    """Sentences or tokens with vectors: `the first 7,800 of 40,000 sentences`; see `all_of` where all have vectors."""
    stored, counted = _sizes(corpus, noun)
    return many(stored, noun) if stored == counted else f"the first {stored:,} of {many(counted, noun)}"


def every_of(corpus: Corpus, noun: str) -> str:
    """Sentences or tokens with vectors, see `first_of`; `all 4,000 sentences` where all have vectors."""
    return first_of(corpus, noun) if has_part(corpus) else f"all {all_of(corpus, noun)}"


def searched_tokens(corpus: Corpus, searched: int) -> str:
    """The first tokens that a number is computed from: `the first 200,000 of 1,000,000 tokens`, `all 2,000 tokens`."""
    every = searched == corpus.counted_tokens
    return f"all {all_of(corpus, 'token')}" if every else f"the first {searched:,} of {all_of(corpus, 'token')}"


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return f"{text[:1].upper()}{text[1:]}"


def has_part(corpus: Corpus) -> bool:
    """Whether only the first sentences have vectors."""
    return corpus.n_sentences < corpus.counted_sentences


def of_first(corpus: Corpus) -> str:
    """A remark that names the sentences with vectors; empty where all have them."""
    return f" Vectors are stored of {first_of(corpus, 'sentence')}." if has_part(corpus) else ""


def kind_of_interval(corpus: Corpus, whole: bool = True) -> str:
    """The method of statistics' intervals, for the whole corpus or a part."""
    return "from the variance between sentences" if whole and has_part(corpus) else "by bootstrap over sentences"


def _sizes(corpus: Corpus, noun: str) -> tuple[int, int]:
    """Number of sentences or tokens with vectors, and of all."""
    if noun == "sentence":
        return corpus.n_sentences, corpus.counted_sentences
    return corpus.n_tokens, corpus.counted_tokens
