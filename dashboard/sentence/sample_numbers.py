"""The numbers of a sample with changed heads in words: once for page Sentence, tab Role and the command `headscape replace`."""

from typing import NamedTuple

from dashboard.sentence.sample import LabelChange, SampleChange
from dashboard.ui.text import decimal, in_interval
from store.phrases import many

_SPEARMAN = "Spearman's correlation of the cosines of all pairs of sentences before and after: 1 is the same order."
_LINKS = (
    "Of each relation of grammar the later head that links most pairs, chosen on the other half of the sentences: how many of the "
    "pairs it links before and after. Later heads are above a replaced one and not replaced themselves."
)
_HIDDEN = (
    "15% of the wordpieces of each sentence are hidden from the model, always the same ones (Devlin et al. 2019). The loss is -ln of the "
    "probability of the right one. Rules do not see them either, but the grammar of the whole sentence."
)


class NumberRow(NamedTuple):
    """What a number is, and the number; behind an (i) what more there is to say of it."""

    title: str
    number: str
    about: str = ""


def number_rows(found: SampleChange) -> list[NumberRow]:
    """Every number that there is."""
    vectors, (low, high) = found.vectors, found.interval
    rows = [
        NumberRow("sentences", f"{found.sentences:,} of {found.wanted:,}"),
        NumberRow(
            "change of the sentence vector (1 − cosine, 95% interval)",
            f"{vectors.mean:.4f}{in_interval(low, high, 4)}",
        ),
    ]
    if found.sentences > 1:
        rows += [
            NumberRow("1 − cosine of two different sentences", f"{vectors.distance:.3f}"),
            NumberRow("change as a share of the distance between two sentences", f"{100 * vectors.share:.2f}%"),
            NumberRow("order of similarities", decimal(vectors.spearman, 3), _SPEARMAN),
            NumberRow("same nearest sentence", f"{100 * vectors.nearest:.0f}%"),
        ]
    pairs, before, after = found.linked
    if pairs:
        linked = f"{100 * before:.1f}% before, {100 * after:.1f}% after"
        rows.append(NumberRow(f"of {many(pairs, 'pair')} of words, linked by later heads", linked, _LINKS))
    if found.hidden:
        title = f"mean loss of {many(found.hidden.wordpieces, 'hidden wordpiece')} in nats"
        rows.append(NumberRow(title, f"{found.hidden.before:.3f} before, {found.hidden.after:.3f} after", _HIDDEN))
    else:
        rows.append(NumberRow("mean loss of hidden wordpieces", "none: the model predicts no hidden wordpieces"))
    return [*rows, *(_label_rows(found.labels) if found.labels else [])]


def _label_rows(labels: LabelChange) -> list[NumberRow]:
    rows = [NumberRow("same answer of the classifier", f"{labels.same:.0%}")]
    if (own := labels.before) and (other := labels.after):
        right = f"{own.accuracy:.1%} before, {other.accuracy:.1%} after"
        rows.append(NumberRow(f"right answers of {labels.labelled:,}", right))
        rows.append(NumberRow("mean loss in nats", f"{own.loss:.3f} before, {other.loss:.3f} after"))
    return rows
