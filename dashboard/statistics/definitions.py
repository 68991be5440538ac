"""Where each statistic was defined, what it is called in a narrow column, and how its number is written there."""

from store import STATISTICS
from store.schema.model import SOURCES

_CLARK = "Clark et al. 2019, section 3"
_NORM = "Kobayashi et al. 2020, section 4"
#: Statistic -> the paper it is from.
PAPERS = {
    **dict.fromkeys(STATISTICS, _CLARK),
    "attended_keys": "Yeh et al. 2023 (AttentionViz), whose lines start at 5 %",
    "distance": "Vig and Belinkov 2019, section 3",
    "received": "Clark et al. 2019: the column's sum",
    "confidence": "Voita et al. 2019, section 4",
    "participation": "inverse participation ratio",
    "to_sink": "Gu et al. 2024, threshold 0.3, or 1.5 / n if that is more",
    **{name: _NORM for name in STATISTICS if name.startswith("norm_")},
}
#: Statistic -> its name in a column of a table.
SHORT = {
    "to_cls": "[CLS]",
    "to_sep": "[SEP]",
    "to_punctuation": ". ,",
    "to_previous": "prev.",
    "to_next": "next",
    "to_self": "self",
    "entropy": "entropy",
    "attended_keys": "> 5 %",
    "distance": "distance",
    "received": "received",
    "confidence": "confid.",
    "participation": "particip.",
    "to_sink": "sinks",
    "norm_to_cls": "n. [CLS]",
    "norm_to_sep": "n. [SEP]",
    "norm_to_punctuation": "n. . ,",
    "norm_to_self": "n. self",
}
_ROWS = ("all tokens", "[CLS] alone", "[SEP] alone", "full stops and commas", "words", "all but [SEP]")
#: Source -> the rows a mean is over, in words.
ROWS = dict(zip(SOURCES, _ROWS, strict=True))


def brief(value: float, unit: str) -> str:
    """A number without its unit: shares as per cent."""
    if value != value:
        return ""
    return f"{100 * value:.1f}" if unit == "share" else f"{value:.2f}"


def unit_title(unit: str) -> str:
    """A unit as an axis or a column says it."""
    return "%" if unit == "share" else unit


def difference_unit(unit: str) -> str:
    """The unit of a difference; that of two shares is in points of per cent."""
    return "points" if unit == "share" else unit
