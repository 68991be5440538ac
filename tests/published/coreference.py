"""`python -m tests.published.coreference --data=FILE [--model=MODEL --sentences=100 --answers=FILE]`: antecedents that heads find.

The store beside a reference; exit status 0 where they agree, 1 where they differ, 2 where nothing was checked.
The reference takes head words from spaCy's own `Span.root` and attention from transformers, in float64, and counts one by
one. For GAP `--answers` writes the answers of the best head in the format of gap_scorer.py.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import spacy
from numpy.typing import NDArray
from spacy.tokens import Doc

import store
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from ingest.run.settings import parse_flags, setting
from ingest.words.annotate import ENGLISH
from store.results import best_antecedent_head
from store.schema.corpus import CANDIDATES, CHAINS
from tests.bench.table import show
from tests.published.ingested import Ingested, ingested
from tests.published.reference import ROOT, BankWord, Weights, sentence_reader

AGREES, DIFFERS, NOT_CHECKED = 0, 1, 2
#: Share of the counted mentions that may differ: with 16 bits in the store, either of two almost equal weights may be larger.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Flags(Ingested):
    """Flags of the check."""

    data: str = setting("", "CoNLL-2012, or the tsv of GAP")
    sentences: int = setting(100, "how many passages", int)
    max_length: int = setting(128, "wordpieces of a passage", int)
    answers: str = setting("", "where to write the answers of the best head to GAP, for its scorer")


class Passage(NamedTuple):
    """Words by spaCy, the attention between them (layer, head, word, word), and mentions as (head word, entity)."""

    doc: Doc
    pattern: Weights
    mentions: list[tuple[int, int]]


class Counts(NamedTuple):
    """Mentions with an antecedent, and those for which a head finds one: (candidates, layer, head)."""

    mentions: int
    found: NDArray[np.int64]


def main(arguments: Sequence[str]) -> int:
    """Run the check; returns its exit status. One sentence says so where nothing can be ingested."""
    try:
        flags = parse_flags(Flags, arguments, command="python -m tests.published.coreference", description=__doc__)
        with tempfile.TemporaryDirectory() as folder:
            corpus = ingested(Path(folder), flags, max_length=flags.max_length)
            return check(corpus, find_checkpoint(flags.model).folder, flags)
    except IngestError as error:
        print(f"Coreference was not checked. {error}", file=sys.stderr)
        return NOT_CHECKED


def check(corpus: store.Corpus, model: Path, flags: Flags) -> int:
    """Print the table, and write the answers; returns the exit status."""
    passages = passages_of(corpus, model)
    count = count_chains if corpus.coreference.attrs["scheme"] == CHAINS else count_gap
    rows = []
    for half, title in enumerate(("first half", "second half")):
        ours, theirs = stored_counts(corpus, half), count([passages(number) for number in halves(corpus, half)])
        rows.append((title, ours, theirs, int(np.abs(ours.found - theirs.found).max())))
    show(
        f"Coreference: {corpus.attributes['model_id']} on {corpus.n_sentences} passages",
        ("", "mentions", "reference", "found by the best head", "reference", "of all heads at most apart"),
        [
            (title, str(ours.mentions), str(theirs.mentions), *map(str, best_of(ours, theirs)), str(apart))
            for title, ours, theirs, apart in rows
        ],
    )
    if flags.answers:
        Path(flags.answers).write_text("".join(gap_answers(corpus, Path(flags.data))), "utf-8")
    near = all(
        ours.mentions == theirs.mentions and apart <= TOLERANCE * ours.mentions for _, ours, theirs, apart in rows
    )
    return AGREES if near else DIFFERS


def best_of(ours: Counts, theirs: Counts) -> tuple[int, int]:
    """Mentions whose antecedent the store's best head finds, by the store and by the reference."""
    best = np.unravel_index(int(ours.found[0].argmax()), ours.found.shape[1:])
    return int(ours.found[0][best]), int(theirs.found[0][best])


def halves(corpus: store.Corpus, half: int) -> range:
    """Numbers of the passages of a half."""
    return range(half, corpus.n_sentences, 2)


def stored_counts(corpus: store.Corpus, half: int) -> Counts:
    """Counts of a half that the store has."""
    numbers = corpus.coreference.isel(half=half, gender=0, kind=0, missing_dims="ignore")
    found: NDArray[np.int64] = numbers.found.values
    return Counts(int(numbers.mentions), found.reshape(-1, *found.shape[-2:]))


def passages_of(corpus: store.Corpus, model: Path) -> Callable[[int], Passage]:
    """A function that reads a passage of the corpus again, by its index."""
    pipeline = spacy.load(ENGLISH)
    read = sentence_reader(model, max_length=corpus.corpus_attributes["max_length"])

    @cache
    def passage(number: int) -> Passage:
        text = str(corpus.sentences.text.values[number])
        doc = pipeline(text)
        words = [BankWord(word.idx, word.idx + len(word), ROOT, "") for word in doc if not word.is_space]
        return Passage(doc, read(text, words).pattern, list(mentions_of(corpus, number, doc)))

    return passage


def mentions_of(corpus: store.Corpus, number: int, doc: Doc) -> Iterator[tuple[int, int]]:
    """Head word and entity of the mentions of a passage, by spaCy's span of their characters; white space is no word."""
    assert corpus.words.mentions
    table = corpus.words.mentions.table
    for row in np.flatnonzero(table.sentence.values == number):
        start, stop, entity = (int(table[name][row]) for name in ("character_start", "character_stop", "entity"))
        span = doc.char_span(start, stop, alignment_mode="expand")
        assert span is not None
        yield sum(not word.is_space for word in doc[: span.root.i]), entity


def count_chains(passages: Sequence[Passage]) -> Counts:
    """Counts over chains, mention by mention, among the earlier mentions and among all words."""
    count, found = 0, np.zeros((len(CANDIDATES), *passages[0].pattern.shape[:2]), np.int64)
    for _, pattern, mentions in passages:
        for own, entity in mentions:
            right = {word for word, other in mentions if word < own and other == entity}
            if not right or own >= pattern.shape[-1]:
                continue
            count += 1
            before = [word for word, _ in mentions if word < own]
            row = pattern[:, :, own].copy()
            entities = np.array([other == entity for word, other in mentions if word < own])
            found[0] += entities[row[..., before].argmax(axis=-1)]
            row[..., own] = -1
            found[1] += np.isin(row.argmax(axis=-1), sorted(right))
    return Counts(count, found)


def count_gap(passages: Sequence[Passage]) -> Counts:
    """Counts of GAP: pronouns of one of two names, and pronouns whose name gets more attention than the other."""
    count, found = 0, np.zeros((1, *passages[0].pattern.shape[:2]), np.int64)
    for _, pattern, mentions in passages:
        for first in range(0, len(mentions), 3):
            (pronoun, entity), *names = mentions[first : first + 3]
            right = [other == entity for _, other in names]
            count += any(right)
            if max(pronoun, *(word for word, _ in names)) < pattern.shape[-1]:
                two = pattern[:, :, pronoun][..., [word for word, _ in names]]
                found[0] += np.array(right)[two.argmax(axis=-1)]
    return Counts(count, found)


def gap_answers(corpus: store.Corpus, data: Path) -> Iterator[str]:
    """A line for each row of GAP whose passage is in the corpus: name of the row, and whether the best head answers A and B."""
    assert corpus.words.mentions
    table, layer_head = corpus.words.mentions.table, best_antecedent_head(corpus.coreference)
    texts = {str(text): number for number, text in enumerate(corpus.sentences.text.values)}
    seen: dict[str, int] = {}
    for line in data.read_text("utf-8").splitlines()[1:]:
        name, text, *_ = line.split("\t")
        row = seen[text] = seen.get(text, -1) + 1
        if text in texts:
            first = int(np.searchsorted(table.sentence.values, texts[text])) + 3 * row
            chosen = answer(corpus, texts[text], table.head_word.values[first : first + 3], *layer_head)
            yield "\t".join([name, *("TRUE" if chosen == number else "FALSE" for number in (0, 1))]) + "\n"


def answer(corpus: store.Corpus, number: int, words: NDArray[np.int64], layer: int, head: int) -> int:
    """Index of the name that gets more of a pronoun's attention; -1 where one of the three words was cut off."""
    if (words < 0).any():
        return -1
    pronoun, *names = words - corpus.words.rows(number).start
    return int(corpus.word_pattern(number, layer=layer, head=head).values[pronoun, names].argmax())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
