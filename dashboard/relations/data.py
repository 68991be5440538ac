"""Accuracies of heads at relations, and the sentences in which a head links the words of a relation or does not."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus, StoreError
from store.kernels.relations import DIRECTION_TITLES, DIRECTIONS, ENDS, StrongestWords, WordPairs, halves, linked
from store.repository.errors import NotIngested
from store.results import best_heads, count_links
from store.schema.corpus import ALL
from store.words import COREFERENCE, PATTERN

#: Most example pairs that a head links, and most that it does not link.
LISTED = 8
#: Names of the two words of a pattern's pairs: a dependency may join them in either direction, or not at all.
TWO_WORDS = "first word", "second word"
#: The attended word of a word that attends to no other word, such as the first word in a causal model.
NO_OTHER = -1
#: Least number of reported pairs of a relation among the clearest.
ENOUGH_PAIRS = 100


@dataclass(frozen=True)
class BestHead:
    """The best head at a relation, with baselines; accuracies are shares of pairs.

    `offset` is the offset of the baseline; `random` the accuracy of the best head with random weights; `pairs` the number of pairs
    that accuracies are counted from. `is_chosen` is False where no pair chooses: direction, head and offset then say nothing.
    """

    relation: str
    direction: str
    layer: int
    head: int
    accuracy: float
    interval: tuple[float, float]
    offset: int
    offset_accuracy: float
    random: float
    pairs: int
    is_chosen: bool = True


@dataclass(frozen=True)
class WordOfSentence:
    """A word of a sentence of the corpus, by the position of its first wordpiece."""

    sentence: int
    token: int

    def href(self, state: LinkState, head: tuple[int, int]) -> str:
        """The link to the sentence with a head (layer, head) alone and the word selected."""
        shown = {"layer": head[0], "heads": str(head[1]), "queries": str(self.token), "show": "head"}
        return state.of_sentence(self.sentence, **shown).href


@dataclass(frozen=True)
class PairExample:
    """A pair in its sentence: number and words of the sentence, and indices of the pair's two words and of the attended word.

    `attended` is `NO_OTHER` where no other word gets any attention; `place` is the first word of the pair.
    """

    sentence: int
    words: tuple[str, ...]
    source: int
    target: int
    attended: int
    place: WordOfSentence


@dataclass(frozen=True)
class Examples:
    """The first pairs that a head links and the first that it does not, in the order of the corpus; and the number of each."""

    hits: tuple[PairExample, ...]
    misses: tuple[PairExample, ...]
    linked: int
    pairs: int


def ends_of(relation: str) -> tuple[str, str]:
    """Names of the two words of a pair; in a pattern, either word can depend on the other."""
    if relation == COREFERENCE:
        return "mention", "antecedent"
    return TWO_WORDS if PATTERN.fullmatch(relation) else ENDS


def direction_titles(relation: str = ALL) -> dict[str, str]:
    """Direction -> what a head does in that direction of a relation, in words."""
    return {name: title.format(*ends_of(relation)) for name, title in DIRECTION_TITLES.items()}


@cached
def best_of(corpus: Corpus) -> tuple[BestHead, ...]:
    """The best head of every relation, in the order of the relations."""
    best = best_heads(corpus.relations)
    return tuple(_best_head(best.isel(relation=number)) for number in range(best.sizes["relation"]))


def known_relations(corpus: Corpus) -> list[BestHead]:
    """`clearest_relations` of a corpus; empty where the ingest has counted no relations."""
    try:
        return clearest_relations(best_of(corpus))
    except NotIngested:
        return []


def clearest_relations(best: Iterable[BestHead]) -> list[BestHead]:
    """Relations sorted by the gain of their best head over the offset and random weights; those with few pairs are left out."""
    enough = [row for row in best if row.relation != ALL and row.pairs >= ENOUGH_PAIRS and _gain(row) > 0]
    return sorted(enough, key=lambda row: -_gain(row))


def _gain(row: BestHead) -> float:
    return row.accuracy - max(row.offset_accuracy, row.random)


def _best_head(row: xr.Dataset) -> BestHead:
    low, high = map(float, row.interval)
    return BestHead(
        relation=str(row.relation.values),
        direction=str(row.direction.values),
        layer=int(row["layer"]),
        head=int(row["head"]),
        accuracy=float(row.accuracy),
        interval=(low, high),
        offset=int(row.offset),
        offset_accuracy=float(row.offset_accuracy),
        random=float(row.random_accuracy),
        pairs=int(row.pairs),
        is_chosen=bool(row.choosing_pairs > 0),
    )


def clear_gains(links: xr.Dataset) -> NDArray[np.float64]:
    """Accuracy of every head less that of the best offset (relation, layer, head); 0 where the interval is not above the offset.

    `links` have one direction, and intervals (bound, ...).
    """
    accuracy = links.reported_accuracy.transpose("relation", "layer", "head").values
    low = links.interval.transpose("bound", "relation", "layer", "head").values[0]
    offset = links.offset_accuracy.values[:, None, None]
    return np.where(low > offset, accuracy - offset, 0)


@cached
def links_of(corpus: Corpus, relation: str) -> xr.Dataset:
    """Counts, shares and intervals of every head at a relation of the store, or at a pattern, which is counted now.

    StoreError where the corpus has no relation or pattern of this name.
    """
    if relation in corpus.relations.relation.values:
        return corpus.relations.sel(relation=relation)
    seed = int(corpus.attributes["provenance"]["settings"]["seed"])
    pairs = corpus.words.find_pairs(relation)
    return count_links(corpus.strongest_words, pairs, sentences=corpus.n_sentences, seed=seed)


def shown_relation(corpus: Corpus, relation: str) -> tuple[str, tuple[str, ...]]:
    """The relation of a link; where the corpus has no such relation, all relations and a notice."""
    try:
        links_of(corpus, relation)
    except NotIngested:
        raise
    except StoreError as error:
        return ALL, (f"{error} Showing all relations.",)
    return relation, ()


def shown_head(corpus: Corpus, state: LinkState, relation: str) -> tuple[int, int]:
    """The head whose links are shown: the chosen head, or the best at the relation in the link's direction.

    Where no pair chooses the best head, the first head of the model.
    """
    if state.examples == "chosen":
        return state.layer, state.head
    cell = links_of(corpus, relation).chosen_accuracy.sel(direction=state.direction).values
    layer, head = np.unravel_index(int(np.nan_to_num(cell, nan=-1).argmax()), cell.shape)
    return int(layer), int(head)


def pairs_of(corpus: Corpus, relation: str) -> WordPairs:
    """The pairs of a relation in the reported half of the sentences."""
    words = corpus.words
    pairs = words.dependencies if relation == ALL else words.find_pairs(relation)
    return pairs.only(halves(corpus.n_sentences)[pairs.sentence])


def examples(corpus: Corpus, relation: str, direction: str, layer: int, head: int) -> Examples:
    """Pairs of a relation that one head links, and pairs that it does not link."""
    pairs = pairs_of(corpus, relation)
    strongest = strongest_of(corpus, layer, head)
    hits = linked(strongest, pairs)[list(DIRECTIONS).index(direction)]
    found = [
        tuple(_example(corpus, pairs.only(chosen), number, direction, strongest) for number in range(len(chosen)))
        for chosen in (np.flatnonzero(hits)[:LISTED], np.flatnonzero(~hits)[:LISTED])
    ]
    return Examples(found[0], found[1], int(hits.sum()), len(hits))


def links_of_pairs(corpus: Corpus, best: BestHead) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Whether the best head of a relation links each of its reported pairs, and their sentences: (pair,)."""
    pairs = pairs_of(corpus, best.relation)
    hits = linked(strongest_of(corpus, best.layer, best.head), pairs)[list(DIRECTIONS).index(best.direction)]
    return hits, pairs.sentence


def word_of_sentence(corpus: Corpus, sentence: int, word: int) -> WordOfSentence:
    """A word of a sentence by its index in the sentence."""
    first = corpus.words.rows(sentence).start
    return WordOfSentence(sentence, int(corpus.words.table.token_start.values[first + word]))


@cached
def strongest_of(corpus: Corpus, layer: int, head: int) -> StrongestWords:
    """The strongest words of one head: arrays (word,)."""
    of_head = corpus.strongest_words.isel(layer=layer, head=head)
    return StrongestWords(*(of_head[name].values for name in StrongestWords._fields))


def _example(corpus: Corpus, pairs: WordPairs, number: int, direction: str, strongest: StrongestWords) -> PairExample:
    sentence = int(pairs.sentence[number])
    found: dict[str, NDArray[np.int16]] = {
        "forward": strongest.most_attended[pairs.source],
        "backward": strongest.most_attended[pairs.target],
        "received": strongest.most_attending[pairs.source],
    }
    return PairExample(
        sentence,
        tuple(corpus.words.texts(corpus.words.rows(sentence))),
        int(pairs.source_word[number]),
        int(pairs.target_word[number]),
        int(found[direction][number]),
        word_of_sentence(corpus, sentence, int(pairs.source_word[number])),
    )
