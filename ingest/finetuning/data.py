"""The labelled reviews of a data set: which are held out, what a model reads of them, and in which order it is trained on them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.run.errors import IngestError, listed
from ingest.run.progress import counted_on_bar
from ingest.text.reviews import Data, Reviews, has_split, read_reviews
from ingest.text.tokenizer import NO_TEXT, Layout
from store.phrases import many

#: Share of the reviews of every label that is held out, and most in all: then the standard error of the accuracy is
#: below 0.01.
HELD_SHARE, MOST_HELD = 0.1, 2000
#: Reviews tokenized in one call: enough for all cores.
AT_ONCE = 500
#: Share of a long review's wordpieces that is taken from its beginning; the others are from its end.
#: Sun et al. 2019, section 5.3: reviews say at their ends what they mean; of 510 wordpieces they take the first 128.
#: Cut so to 128 wordpieces, all-MiniLM-L6-v2 has an accuracy of 0.847 on 1,000 held-out IMDB reviews after training on 1,600,
#: and of 0.802 with the first 128 wordpieces alone (one seed).
HEAD_SHARE = 0.25
#: Batches within which reviews are sorted by length: enough for batches of like length, few enough to stay a mixture.
POOL = 50

#: `input_ids` and `labels`, as transformers' models take them.
Example = dict[str, Any]


@dataclass(frozen=True)
class Labelled:
    """Different texts, each with the number of its label: (review,)."""

    texts: list[str]
    labels: NDArray[np.int64]
    names: list[str]
    #: Whether the reviews are a part of the data, drawn by chance.
    drawn: bool = False

    def named(self, data: str) -> str:
        """Name of the data, with the number of reviews where these are drawn."""
        return f"{data} ({many(len(self.texts), 'review')} by chance)" if self.drawn else data

    def select(self, rows: NDArray[np.integer]) -> "Labelled":
        """The reviews of these rows."""
        return Labelled([self.texts[row] for row in rows], self.labels[rows], self.names)


@dataclass(frozen=True)
class Drawn:
    """Number of reviews that are drawn by chance from a split, the same share of each label, and the seed."""

    count: int
    seed: int


def read_labelled(data: Data, *, text: str, label: str, drawn: Drawn | None = None) -> Labelled:
    """The different reviews to train on: a text in both the training and the held-out part would flatter the result."""
    reviews = read_reviews(data, text=text, label=label)
    if not reviews.label_names:
        there = reviews.table.titles
        problem = f"is empty in {data.name}" if label in there else f"is not in {data.name}"
        raise IngestError(
            f"The label column {label!r} {problem}, which has: {listed(there)}. Name the label column with --label=..."
        )
    labelled = _labelled(reviews, reviews.label_names)
    _check_labels(data, labelled)
    return _draw(labelled, drawn)


def read_test(
    data: Data, known: Labelled, *, text: str, label: str, drawn: Drawn | None = None
) -> tuple[Labelled, int]:
    """The test split of a data set without the texts of `known`, and the number of texts that are left out.

    Labels are numbered as in `known`. The split is empty where the data has no other split of that name, or none with labels.
    """
    if data.split == "test" or not has_split(data, "test"):
        return known.select(np.array([], np.intp)), 0
    test = _labelled(read_reviews(data, text=text, label=label, split="test"), known.names)
    texts = set(known.texts)
    new = [row for row, review in enumerate(test.texts) if review not in texts]
    return _draw(test.select(np.array(new, np.intp)), drawn), len(test.texts) - len(new)


def encode(labelled: Labelled, tokenizer: Any, *, max_length: int) -> list[Example]:
    """Every review between the tokenizer's special tokens, cut to `max_length` wordpieces."""
    layout = Layout.of(tokenizer, texts=1)
    room = max_length - layout.special
    pieces = counted_on_bar(
        _wordpieces(labelled.texts, tokenizer), "tokenize", total=len(labelled.texts), unit="reviews"
    )
    return [
        {"input_ids": layout.fill([head_and_tail(piece, room)]).token_id.tolist(), "labels": int(label)}
        for piece, label in zip(pieces, labelled.labels, strict=True)
    ]


def told_cut(tokenizer: Any, *, max_length: int) -> str:
    """Rule by which `encode` cuts a longer review, in words."""
    layout = Layout.of(tokenizer, texts=1)
    room = max_length - layout.special
    head = head_length(room)
    special = tokenizer.convert_ids_to_tokens([slot.token_id for slot in layout.slots if slot.owner == NO_TEXT])
    beside = f" beside {' and '.join(special)}" if special else ""
    return f"longer reviews keep the first {head} and the last {room - head}{beside}"


def _wordpieces(texts: Sequence[str], tokenizer: Any) -> Iterator[list[int]]:
    """Wordpieces of each text, which `encode` cuts; not `verbose`, as the tokenizer would warn of longer reviews than the model reads."""
    options = {"add_special_tokens": False, "truncation": False, "padding": False, "verbose": False}
    for start in range(0, len(texts), AT_ONCE):
        yield from tokenizer(texts[start : start + AT_ONCE], **options)["input_ids"]


def _labelled(reviews: Reviews, names: Sequence[str]) -> Labelled:
    numbers = [names.index(name) if name in names else -1 for name in reviews.label_names]
    labels: dict[str, int] = {}
    for review in reviews:
        if review.label >= 0 and numbers[review.label] >= 0 and review.text.strip():
            labels.setdefault(review.text, numbers[review.label])
    return Labelled(list(labels), np.array(list(labels.values()), np.int64), list(names))


def _check_labels(data: Data, labelled: Labelled) -> None:
    counts = np.bincount(labelled.labels, minlength=len(labelled.names))
    if len(counts) < 2:
        sorted_ = "The data may be sorted by label. Give a larger --first."
        raise IngestError(
            f"All reviews of {data.name} have one label ({labelled.names[0]}), so there is nothing to tell apart. "
            + (sorted_ if data.first else "Give data with two labels or more.")
        )
    scarce = _names_of(labelled.names, counts < 2)
    if scarce:
        raise IngestError(
            f"{data.name} needs two different reviews of each label, and has fewer of {', '.join(scarce)}. "
            "Give more reviews of each label, or name another column with --label=..."
        )


def _names_of(names: Iterable[str], chosen: NDArray[np.bool_], most: int = 5) -> list[str]:
    """Some of the chosen names; no more than a person reads."""
    some = [name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen]
    return some if len(some) <= most else [*some[:most], f"{len(some) - most} others"]


def _draw(labelled: Labelled, drawn: Drawn | None) -> Labelled:
    """About `drawn.count` reviews by chance, at least two of each label: the first reviews of data sorted by label have one label."""
    labels = labelled.labels
    if drawn is None or drawn.count >= len(labels):
        return labelled
    least = 2 * len(labelled.names)
    if drawn.count < least:
        raise IngestError(f"--first={drawn.count} leaves fewer than two reviews of each label. Give at least {least}.")
    chosen = _share_of_each(labels, drawn.count / len(labels), least=2, seed=drawn.seed)
    return replace(labelled.select(np.flatnonzero(chosen)), drawn=True)


def _share_of_each(labels: NDArray[np.integer], share: float, *, least: int, seed: int) -> NDArray[np.bool_]:
    """Mask (review,) of reviews drawn by chance: the same share of every label, at least `least` reviews of each."""
    generator = np.random.default_rng(seed)
    chosen = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = generator.permutation(np.flatnonzero(labels == label))
        chosen[rows[: max(least, round(share * len(rows)))]] = True
    return chosen


def hold_out(labels: NDArray[np.integer], *, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to train on and held-out rows, both ascending: the same share of every label, by chance.

    Every label has at least one row in both if it has two or more.

    Parameters
    ----------
    labels
        (review,), codes.
    """
    held = _share_of_each(labels, min(HELD_SHARE, MOST_HELD / len(labels)), least=1, seed=seed)
    return np.flatnonzero(~held), np.flatnonzero(held)


def head_length(room: int) -> int:
    """Number of wordpieces, out of `room`, that come from the beginning of a longer review."""
    return int(HEAD_SHARE * room)


def head_and_tail(token_ids: Sequence[int], room: int) -> list[int]:
    """At most `room` wordpieces in their order: the beginning and the end of a longer review."""
    if len(token_ids) <= room:
        return list(token_ids)
    head = head_length(room)
    return [*token_ids[:head], *token_ids[len(token_ids) - (room - head) :]]


def training_order(lengths: NDArray[np.integer], *, batch: int, seed: int, epoch: int) -> NDArray[np.intp]:
    """Every row once, `batch` by `batch`: reviews of like length together, so that little is padded, else by chance.

    The last batch is the one that may be smaller.

    Parameters
    ----------
    lengths
        (review,), wordpieces.
    """
    generator = np.random.default_rng([seed, epoch])
    rows = generator.permutation(len(lengths))
    pools = [rows[start : start + POOL * batch] for start in range(0, len(rows), POOL * batch)]
    ordered = np.concatenate([pool[np.argsort(-lengths[pool], kind="stable")] for pool in pools])
    whole = len(rows) // batch * batch
    batches = ordered[:whole].reshape(-1, batch)
    return np.concatenate([generator.permutation(batches).reshape(-1), ordered[whole:]])
