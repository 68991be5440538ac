"""Data of the section on what vectors are made of, by class of token: means of the tokens that filters keep, and by label."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.points.head_tokens import columns
from dashboard.points.point_set import Condition, parse_conditions, write_conditions
from dashboard.statistics.figures import LabelLine
from dashboard.statistics.parts import Part, part_of
from dashboard.ui.text import first_of
from dashboard.ui.work import current_job
from dashboard.web.http import data_link
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.mixing import LONGEST
from store.phrases import many
from store.reach import FEWEST, KINDS, ClassedTokens, reach_by, reach_contrast
from store.schema.corpus import NO_WORD
from store.schema.mixing import TARGETS

#: Number of classes in each figure; in the table, of classes that attention hides and that it overrates.
DRAWN, HIDDEN, OVERRATED = 20, 6, 2
#: Fields of a link that the section depends on.
FIELDS = ("reached", "reachedby", "after", "reachedclass", "labelled", "where")
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class HiddenClass:
    """A class whose reach differs from the attention that it gets, and a link to a sentence with a usual token of the class."""

    name: str
    reach: float
    received: float
    low: float
    high: float
    sentences: int
    href: str | None


@dataclass(frozen=True)
class Reach:
    """Data of the section.

    Attributes
    ----------
    largest
        Classes with the largest reach at one layer, from `reach_by`.
    contrast
        Classes whose share differs most between labels at one layer, from `reach_contrast`; None where labels are not compared.
    labels
        Names of the two sides; empty without two labels.
    contrast_where
        The filters of the contrast: the link's filters except filters by label that keep one side alone.
    no_class, few
        Why no class is shown, why labels are not compared, and what to do; each empty where it does not apply.
    chosen, lines
        The class that is shown by layer.
    hidden
        Classes that attention hides, and those that it overrates.
    layer, target
        The layer, and the vector in words.
    counted, contrast_counted
        Number of tokens that filters keep, in words, in all figures and in the contrast; empty without filters.
    state, files
        The link, and the beginning of the URLs of the files.
    """

    largest: xr.Dataset
    contrast: xr.Dataset | None
    labels: tuple[str, str]
    contrast_where: str | None
    no_class: str
    few: str
    chosen: str
    lines: Sequence[LabelLine]
    hidden: Sequence[HiddenClass]
    layer: int
    target: str
    counted: str
    contrast_counted: str
    state: LinkState
    files: str


class Counted(NamedTuple):
    """Kind of class, vector, filters that choose the tokens, and the least number of sentences with a class."""

    kind: str
    target: str
    where: str | None
    fewest: int


def kinds_of(corpus: Corpus) -> dict[str, str]:
    """Kinds of class that the corpus has -> their titles."""
    return {name: title for name, title in KINDS.items() if corpus.has_words or name in ("wordpiece", "position")}


def shown_labels(corpus: Corpus) -> list[str]:
    """Labels of the corpus's sentences; empty where all sentences have the same label or none."""
    codes = np.unique(corpus.sentences.label.values)
    return [corpus.label_names[code] for code in codes if code >= 0] if len(codes) > 1 else []


def counted_part(corpus: Corpus, where: str | None, longest: int = LONGEST) -> Part:
    """The tokens that the filters of a link keep, without tokens of sentences that are too long to have a reach."""
    part, of_token = part_of(corpus, where), corpus.tokens.sentence_index.values[corpus.rows]
    short = corpus.sentences.row_size.values[of_token] <= longest
    if part.whole or short.all():
        return part
    rows = part.rows & short
    return replace(part, rows=rows, tokens=int(rows.sum()), sentences=len(np.unique(of_token[rows])))


def sides_of(corpus: Corpus, label: str, kept: Mask | None) -> tuple[Mask, Mask]:
    """Kept tokens in sentences of a label, and kept tokens in all other sentences: (token,) each."""
    of_token = corpus.sentences.label.values[corpus.tokens.sentence_index.values[corpus.rows]]
    own: Mask = of_token == corpus.label_names.index(label)
    return (own, ~own) if kept is None else (own & kept, ~own & kept)


def read_reach(corpus: Corpus, state: LinkState, fewest: int = FEWEST) -> Reach:
    """Read means of all classes, and intervals of the drawn classes."""
    layer = corpus.layers - 1 if state.after is None else state.after
    kind = state.reachedby if state.reachedby in kinds_of(corpus) else "wordpiece"
    part = counted_part(corpus, state.where)
    of = Counted(kind, state.reached, None if part.whole else state.where, fewest)
    every = _by(corpus, of, layer, ())
    largest = _first(every, every.reach.values[0])
    hidden = [str(every.category.values[place]) for place in _hidden_places(every)]
    drawn = _by(corpus, of, layer, (*map(str, largest.category.values), *hidden))
    labels = compared_labels(corpus, state)
    where = filters_of_both(corpus, state.where, labels[0])
    both = part if where == state.where else counted_part(corpus, where)
    of_both = of._replace(where=None if both.whole else where)
    no_class = "" if every.sizes["category"] else _no_class(part, fewest)
    few = _few_of_label(corpus, both, labels, fewest)
    contrast, chosen, lines = None, "", list[LabelLine]()
    if any(labels) and not (no_class or few):
        contrast = _differing(corpus, of_both, layer, labels[0])
        chosen = _chosen_class(corpus, of_both, layer, labels[0], state.reachedclass, contrast)
        lines = _lines(corpus, of_both, labels, chosen) if chosen else []
    return Reach(
        largest=drawn.sel(category=largest.category.values),
        contrast=contrast,
        labels=labels,
        contrast_where=where,
        no_class=no_class,
        few=few,
        chosen=chosen,
        lines=lines,
        hidden=_hidden_classes(corpus, state, of, drawn.sel(category=hidden)),
        layer=layer,
        target=TARGETS[of.target],
        counted=_count(corpus, part),
        contrast_counted=_count(corpus, both),
        state=state,
        files=data_link(corpus),
    )


def compared_labels(corpus: Corpus, state: LinkState) -> tuple[str, str]:
    """Names of the label of a link and of the sentences that it is compared with; empty where the corpus has no two labels.

    The default is the last label among those that filters keep, or among all.
    """
    labels = shown_labels(corpus)
    if not labels:
        return "", ""
    conditions, _ = parse_conditions(state.where or "", columns(corpus))
    by_label = list(filter(_is_by_label, conditions))
    kept = [name for name in labels if all(name in each.categories for each in by_label)]
    own = state.labelled if state.labelled in labels else (kept or labels)[-1]
    others = [name for name in labels if name != own]
    both = len(labels) == len(np.unique(corpus.sentences.label.values)) == 2
    return own, others[0] if both else "all others"


def filters_of_both(corpus: Corpus, where: str | None, label: str) -> str | None:
    """The filters of a link, except filters by label that keep only sentences of this label or no sentence of it."""
    conditions, _ = parse_conditions(where or "", columns(corpus))
    both = tuple(
        each
        for each in conditions
        if not _is_by_label(each) or (label in each.categories and set(each.categories) != {label})
    )
    return where if len(both) == len(conditions) else write_conditions(both) or None


def _is_by_label(condition: Condition) -> bool:
    return condition.column == "label" and bool(condition.categories)


def _count(corpus: Corpus, part: Part) -> str:
    """Number of tokens that filters keep, in words; empty without filters."""
    return "" if part.whole else f"{part.tokens:,} of {first_of(corpus, 'token')}"


def _no_class(part: Part, fewest: int) -> str:
    """Why there is no class with enough sentences, and what to do."""
    kept = many(part.sentences, "sentence")
    if part.whole:
        return f"No class has tokens in {fewest} sentences: the corpus has {kept}. Ingest more."
    return f"No class has tokens in {fewest} sentences: the filters keep {kept}. Remove a filter."


def _few_of_label(corpus: Corpus, part: Part, labels: tuple[str, str], fewest: int) -> str:
    """Why the sentences that filters keep are too few to compare labels, and what to do; empty where they suffice."""
    if part.whole or not any(labels):
        return ""
    of_token = corpus.tokens.sentence_index.values[corpus.rows]
    own, rest = (len(np.unique(of_token[side])) for side in sides_of(corpus, labels[0], part.rows))
    if min(own, rest) >= fewest:
        return ""
    kept = f"{many(own, 'sentence')} of {labels[0]} and {rest:,} of {labels[1]}"
    return f"Labels are compared from {fewest} sentences each; the filters keep {kept}. Remove a filter."


def _kept(corpus: Corpus, of: Counted) -> Mask | None:
    """The tokens that count: (token,); None for all."""
    return None if of.where is None else part_of(corpus, of.where).rows


@cached
def _by(corpus: Corpus, of: Counted, layer: int, only: tuple[str, ...]) -> xr.Dataset:
    kept, watch = _kept(corpus, of), current_job().watch
    return reach_by(corpus, of.kind, of.target, layers=[layer], chosen=kept, fewest=of.fewest, watch=watch, only=only)


@cached
def _contrast(corpus: Corpus, of: Counted, layers: tuple[int, ...], label: str, only: tuple[str, ...]) -> xr.Dataset:
    (own, rest), watch = sides_of(corpus, label, _kept(corpus, of)), current_job().watch
    return reach_contrast(
        corpus, of.kind, of.target, chosen=own, others=rest, layers=layers, fewest=of.fewest, watch=watch, only=only
    )


def _first(every: xr.Dataset, values: Floats) -> xr.Dataset:
    """The classes with the largest values."""
    return every.isel(category=np.argsort(-values, kind="stable")[:DRAWN])


def _differing(corpus: Corpus, of: Counted, layer: int, label: str) -> xr.Dataset:
    """Classes whose share differs between the labels, the largest difference first, with intervals."""
    every = _contrast(corpus, of, (layer,), label, ())
    is_found = every.share_found.values[0] & ~np.isin(every.category.values.astype(str), _special(corpus))
    found = every.isel(category=np.flatnonzero(is_found))
    first = _first(found, np.abs(found.share_difference.values[0])).category.values
    drawn = _contrast(corpus, of, (layer,), label, tuple(map(str, first)))
    return drawn.sel(category=first)


@cached
def _special(corpus: Corpus) -> list[str]:
    """Wordpieces of special tokens, whose shares differ where sentences differ in length."""
    special = corpus.tokens.token_flags.values[corpus.rows] & NO_WORD != 0
    return list(map(str, corpus.vocab[np.unique(corpus.tokens.token_id.values[corpus.rows[special]])]))


def _chosen_class(corpus: Corpus, of: Counted, layer: int, label: str, wanted: str | None, contrast: xr.Dataset) -> str:
    """The class of the link where the corpus has it, else the class that differs most clearly; empty where none differs."""
    known = _contrast(corpus, of, (layer,), label, ()).category.values.astype(str)
    if wanted in known:
        return str(wanted)
    if not contrast.sizes["category"]:
        return ""
    low, high = contrast.share_difference_interval.values[:, 0]
    clear = np.abs(contrast.share_difference.values[0]) / (high - low)
    return str(contrast.category.values[int(np.argmax(clear))])


def _lines(corpus: Corpus, of: Counted, labels: tuple[str, str], chosen: str) -> list[LabelLine]:
    every = _contrast(corpus, of, tuple(range(corpus.layers)), labels[0], (chosen,)).sel(category=chosen)
    return [
        LabelLine(title, every[f"{side}_share"].values, every[f"{side}_share_interval"].values, _even(every, side))
        for side, title in zip(("own", "rest"), labels, strict=True)
    ]


def _even(of: xr.Dataset, side: str) -> float:
    return float(of[f"{side}_share"][0] - of[f"{side}_excess"][0])


def _hidden_places(every: xr.Dataset) -> list[int]:
    """Places of the classes that attention hides most, then of classes that it overrates, the most overrated last."""
    order = np.argsort(-every.hidden.values[0], kind="stable")
    found = [int(place) for place in order if every.hidden_found.values[0, place]]
    values = every.hidden.values[0]
    above = [place for place in found if values[place] > 0][:HIDDEN]
    return above + [place for place in found if values[place] < 0][-OVERRATED:]


def _hidden_classes(corpus: Corpus, state: LinkState, of: Counted, drawn: xr.Dataset) -> list[HiddenClass]:
    layer = int(drawn.layer.item())
    tokens, kept = ClassedTokens(corpus, of.kind, of.target, [layer]), _kept(corpus, of)
    return [
        _hidden_class(own, _href(corpus, state, tokens.typical("hidden", str(own.category.item()), kept), layer))
        for own in (drawn.isel(layer=0, category=place) for place in range(drawn.sizes["category"]))
    ]


def _hidden_class(own: xr.Dataset, href: str | None) -> HiddenClass:
    low, high = own.hidden_interval.values.tolist()
    name, sentences = str(own.category.item()), int(own.sentences)
    return HiddenClass(name, float(own.reach), float(own.received), low, high, sentences, href)


def _href(corpus: Corpus, state: LinkState, token: int | None, layer: int) -> str | None:
    """The link to page Sentence with the token as key: its share in the vectors of other tokens."""
    if token is None:
        return None
    row = corpus.rows[token]
    position, sentence = (int(corpus.tokens[name].values[row]) for name in ("position", "sentence_index"))
    of = {"layer": layer, "show": "matrix", "rollout": "globenc", "role": "key", "queries": str(position)}
    return state.of_sentence(sentence, **of).href
