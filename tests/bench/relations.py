"""Seconds of page Relations to rank heads and the sentences with most of their links: `python -m tests.bench relations`."""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from dashboard.relations.accuracies import RANKED, first_heads
from dashboard.relations.data import links_of
from dashboard.relations.example import MarkedPair, kind_of, rank_heads
from dashboard.relations.linked_sentences import CommonKind, Kind, NamedKind, linked_sentences
from dashboard.web.results import BUDGET, Cache
from store import Corpus, open_corpus
from tests.bench.synthetic import temporary_store
from tests.bench.table import show

ROUNDS = 7
#: Marked pairs of one kind, each in another sentence.
MARKED = 4


def relations(*, layers: int, heads: int, channels: int, tokens: int) -> None:
    """Print the time to rank heads by a relation, a pattern and marked pairs, with the sentences of each."""
    place = temporary_store(layers=layers, heads=heads, channels=channels, tokens=tokens, words=True)
    corpus = open_corpus(place)
    _by_relation(corpus, "dobj")
    rows = [
        ("relation dobj", *_times(lambda: _by_relation(corpus, "dobj"))),
        ("pattern ADJ -> NOUN", *_times(lambda: _by_relation(corpus, "ADJ -> NOUN"))),
        ("pattern * -> *", *_times(lambda: _by_relation(corpus, "* -> *"))),
        ("one marked pair, ADJ -> NOUN", *_times(lambda: _by_example(corpus, _marked(corpus)[:1]))),
        (f"{MARKED} marked pairs of as many sentences", *_times(lambda: _by_example(corpus, _marked(corpus)))),
        ("NOUN -> NOUN, no dependency", *_times(lambda: _sentences(corpus, _apart(), [(0, 0), (layers - 1, 0)]))),
    ]
    shutil.rmtree(Path(place).parent)
    title = (
        f"Page Relations, {layers}x{heads}x{channels} heads, {corpus.n_tokens:,} tokens, {len(corpus.words):,} words"
    )
    show(title, ("heads ranked, with their sentences, nothing cached", f"median of {ROUNDS}", "longest"), rows)


def _by_relation(corpus: Corpus, relation: str) -> None:
    links = links_of(corpus, relation).sel(direction="forward")
    _sentences(corpus, NamedKind(relation, "forward"), first_heads(links))


def _by_example(corpus: Corpus, pairs: Sequence[MarkedPair]) -> None:
    ranked = [(each.layer, each.head) for each in rank_heads(corpus, pairs)[:RANKED]]
    _sentences(corpus, kind_of(corpus, pairs), ranked)


def _sentences(corpus: Corpus, kind: Kind, heads: Sequence[tuple[int, int]]) -> None:
    for head in heads:
        linked_sentences(corpus, kind, *head)


def _marked(corpus: Corpus) -> list[MarkedPair]:
    found = corpus.words.find_pairs("ADJ -> NOUN")
    places = list(zip(found.sentence, found.source_word, found.target_word, strict=True))[
        :: len(found.source) // MARKED
    ]
    return [MarkedPair(*map(int, place)) for place in places[:MARKED]]


def _apart() -> CommonKind:
    return CommonKind("NOUN", "NOUN", False)


def _times(work: Callable[[], object]) -> tuple[str, str]:
    """Median and longest of some rounds, each with an empty cache."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        Cache(BUDGET).run(work)
        times.append(1000 * (time.perf_counter() - began))
    return f"{median(times):,.0f} ms", f"{max(times):,.0f} ms"
