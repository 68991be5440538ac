"""`python -m tests.published.relations [--data=FILE --model=MODEL --sentences=100]`: relations of heads in a store beside
the reference of `tests.published.reference`; exit status 0 where they agree, 1 where they differ, 2 where nothing was checked.

A store computes from queries and keys in float16: where two words get nearly the same attention, another one may win.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import store
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from ingest.run.settings import parse_flags, setting
from tests.bench.table import show
from tests.published.ingested import Ingested, ingested, uas_of
from tests.published.reference import (
    ReferenceSentence,
    Weights,
    head_uas,
    link_counts,
    offset_counts,
    read_bank,
    sentence_reader,
    without_own,
)
from tests.treebanks import write_treebank

AGREES, DIFFERS, NOT_CHECKED = 0, 1, 2
#: Stored weights differ by at most 1.2e-3 from the model's (docs/ingest.md); a word may have several wordpieces.
PATTERN_TOLERANCE = 2e-3
#: Tolerated difference of the share of right governors: where two heads find as many, either may be chosen.
UAS_TOLERANCE = 0.01
COLUMNS = ("", "store", "reference", "difference", "")


@dataclass(frozen=True)
class Flags(Ingested):
    """Flags of the check."""

    data: str = setting("", "treebank, CoNLL-U or CoNLL-X; made-up sentences where none is given")
    sentences: int = setting(100, "how many sentences", int)


class Row(NamedTuple):
    """A line of the table: the numbers of both sides, how far they are apart, and whether that is near enough."""

    title: str
    store: str
    reference: str
    difference: str
    agrees: bool


def main(arguments: Sequence[str]) -> int:
    """Run the check; returns its exit status. One sentence says so where nothing can be ingested."""
    try:
        flags = parse_flags(Flags, arguments, command="python -m tests.published.relations", description=__doc__)
        with tempfile.TemporaryDirectory() as folder:
            return check(flags, Path(folder))
    except IngestError as error:
        print(f"The relations were not checked. {error}", file=sys.stderr)
        return NOT_CHECKED


def check(flags: Flags, folder: Path) -> int:
    """Ingest the sentences into a store in a folder, and print the table; returns the exit status."""
    data = Path(flags.data) if flags.data else write_treebank(folder / "bank.conllu", sentences=2 * flags.sentences)
    corpus = ingested(folder, flags, data=str(data))
    rows = compare(corpus, reference_sentences(corpus, data, find_checkpoint(flags.model).folder))
    show(
        f"Relations: {corpus.attributes['model_id']} on {corpus.n_sentences} sentences",
        COLUMNS,
        list(map(_cells, rows)),
    )
    return AGREES if all(row.agrees for row in rows) else DIFFERS


def _cells(row: Row) -> tuple[str, ...]:
    return (*row[:-1], "agrees" if row.agrees else "DIFFERS")


def reference_sentences(corpus: store.Corpus, data: Path, model: Path) -> list[ReferenceSentence]:
    """The sentences of a corpus, read again from the treebank and run again through transformers."""
    bank = read_bank(data)
    read = sentence_reader(model, max_length=corpus.corpus_attributes["max_length"])
    return [read(str(text), bank[str(text)]) for text in corpus.sentences.text.values]


def compare(corpus: store.Corpus, sentences: Sequence[ReferenceSentence]) -> list[Row]:
    """All rows of the table."""
    ties = Ties.of(corpus, sentences)
    return [
        *pattern_rows(ties, sentences),
        *link_rows(corpus, sentences, ties.words),
        *offset_rows(corpus, sentences),
        *uas_rows(corpus, sentences),
    ]


# -- attention between words ----------------------------------------------------------------------


@dataclass(frozen=True)
class Ties:
    """Differences of strongest words between the store and the reference.

    Attributes
    ----------
    apart
        Largest difference of an attention weight between words.
    words
        Strongest words that differ: (attended or attending, layer, head).
    margin
        Largest lead in attention of the reference's word over the store's.
    """

    apart: float
    words: NDArray[np.int64]
    margin: float

    @classmethod
    def of(cls, corpus: store.Corpus, sentences: Sequence[ReferenceSentence]) -> "Ties":
        """The differences in all sentences of a corpus."""
        apart, margins, words = 0.0, [0.0], np.zeros((2, corpus.layers, corpus.heads), np.int64)
        for number, sentence in enumerate(sentences):
            apart = max(apart, float(np.abs(corpus.word_pattern(number).values - sentence.pattern).max(initial=0)))
            found = corpus.strongest_words.isel(word=corpus.words.rows(number))
            others = without_own(sentence.pattern)
            attended = lost_weight(others, found.most_attended.values)
            attending = lost_weight(others.swapaxes(-1, -2), found.most_attending.values)
            words += np.stack([(lost > 0).sum(axis=-1) for lost in (attended, attending)])
            margins += [float(lost.max(initial=0)) for lost in (attended, attending)]
        return cls(apart, words, max(margins))


def lost_weight(weights: Weights, chosen: NDArray[np.integer]) -> Weights:
    """Lead in attention of the strongest word over the chosen one: (layer, head, word).

    Parameters
    ----------
    weights
        (layer, head, word, other_word), less than 0 between a word and itself.
    chosen
        (layer, head, word), -1 where the sentence has no other word.
    """
    if weights.shape[-1] < 2:
        return np.zeros(chosen.shape)
    of_chosen = np.take_along_axis(weights, chosen.astype(np.int64)[..., None], axis=-1)[..., 0]
    lost: Weights = weights.max(axis=-1) - of_chosen
    return lost


def pattern_rows(ties: Ties, sentences: Sequence[ReferenceSentence]) -> Iterator[Row]:
    """Rows on whether attention between words is the same, and whether strongest words differ at ties alone."""
    weights = sum(sentence.pattern.size for sentence in sentences)
    fine = ties.apart <= PATTERN_TOLERANCE
    yield Row("attention between words", f"{weights:,} weights", "", f"at most {ties.apart:.1e}", fine)
    words = 2 * sum(sentence.pattern[..., 0].size for sentence in sentences)
    differ = f"{int(ties.words.sum()):,} differ, by at most {ties.margin:.1e} of attention"
    yield Row("strongest words", f"{words:,}", "", differ, ties.margin <= 2 * ties.apart)


# -- relations ------------------------------------------------------------------------------------


def link_rows(corpus: store.Corpus, sentences: Sequence[ReferenceSentence], ties: NDArray[np.int64]) -> Iterator[Row]:
    """Rows with the accuracy of the best head at each relation and direction, and the largest difference in a head's count."""
    halves = [link_counts(sentences[half::2]) for half in (0, 1)]
    for relation in _labels(corpus):
        cell = corpus.relations.sel(relation=relation)
        pairs = [count[relation] for count, _ in halves]
        zeros = np.zeros((3, *ties.shape[1:]), np.int64)
        links = np.stack([linked.get(relation, zeros) for _, linked in halves])
        yield Row(
            f"{relation}: pairs", f"{int(cell.pairs.sum())}", f"{sum(pairs)}", "", cell.pairs.values.tolist() == pairs
        )
        yield from _direction_rows(relation, cell.linked.values, links, sum(pairs), ties)


def _labels(corpus: store.Corpus) -> list[str]:
    """Relations of the store, without all of them together."""
    return [str(name) for name in corpus.relations.relation.values if name != "all"]


def _direction_rows(
    relation: str, ours: NDArray[np.int64], theirs: NDArray[np.int64], pairs: int, ties: NDArray[np.int64]
) -> Iterator[Row]:
    """Rows from linked pairs (half, direction, layer, head). A differing word changes the count of its head by at most one pair."""
    for number, direction in enumerate(("forward", "backward", "received")):
        apart = np.abs(ours[:, number] - theirs[:, number])
        agrees = bool((apart <= ties[int(direction == "received")]).all())
        best = np.unravel_index(int(ours[:, number].sum(axis=0).argmax()), ours.shape[-2:])
        store_share, again = (side[:, number].sum(axis=0)[best] / max(1, pairs) for side in (ours, theirs))
        title = f"{relation}: {direction}, best head L{best[0]} H{best[1]}"
        yield Row(title, f"{store_share:.3f}", f"{again:.3f}", f"at most {int(apart.max())} pairs in a head", agrees)


def offset_rows(corpus: store.Corpus, sentences: Sequence[ReferenceSentence]) -> Iterator[Row]:
    """Rows with the most frequent offset of the first half, and its share in the second half."""
    chosen, reported = (offset_counts(sentences[half::2]) for half in (0, 1))
    pairs = link_counts(sentences[1::2])[0]
    for relation in _labels(corpus):
        cell = corpus.relations.sel(relation=relation)
        offset, share = int(cell.offset), float(cell.offset_accuracy)
        first, second = (counts.get(relation, Counter()) for counts in (chosen, reported))
        again = second[offset] / max(1, pairs[relation])
        most = first[offset] == max(first.values(), default=0)
        title = f"{relation}: offset {offset:+d}"
        yield Row(title, f"{share:.3f}", f"{again:.3f}", "", most and bool(np.isclose(share, again)))


def uas_rows(corpus: store.Corpus, sentences: Sequence[ReferenceSentence]) -> Iterator[Row]:
    """Rows with the governors that the best head finds, by both decodings; no row where sentences are too few."""
    uas = uas_of(corpus)
    if uas is None:
        return
    for decoding, again in head_uas(sentences).items():
        share = float(uas.uas.sel(approach="best_head", decoding=decoding))
        apart = abs(share - again)
        title = f"UAS of the best head, {decoding}"
        yield Row(title, f"{share:.4f}", f"{again:.4f}", f"{apart:.4f}", apart <= UAS_TOLERANCE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
