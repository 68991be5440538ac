"""Replacements for the attention of heads, in sentences of a corpus that no rule of the heads was fitted on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from store.corpus import Corpus
from store.kernels.head_tables import HeadTables
from store.kernels.rules import NEVER_RARE, OTHER_TEXT, SentenceTokens
from store.repository.errors import StoreError, check_head
from store.rules import chosen_rules, predict

#: Takes the name of the current step, once for each head.
Step = Callable[[str], object]
Heads = Sequence[tuple[int, int]]
READS = "Reading what the heads do instead"
#: Id of a wordpiece that no table of a head has.
UNKNOWN = -1
#: Default number of sentences of a sample.
SENTENCES = 100
#: Most tokens of a sentence with replaced heads: each head has a weight for every two tokens.
LONGEST = 1_024
#: Name of a replacement -> what the heads then attend to, in words.
INSTEAD: Mapping[str, str] = {
    "off": "add nothing (switched off)",
    "even": "attend evenly to all tokens",
    "mean": "attend as on average",
    "rule": "attend as rules predict",
}
#: Order in which heads are replaced -> its first heads, in words.
ORDERS: Mapping[str, str] = {
    "explained": "those that rules explain best, by IoU",
    "unimportant": "those without which the loss grows least, where the ingest has measured it",
    "random": "drawn at random",
}


def judged_sentences(corpus: Corpus, most: int) -> NDArray[np.int64]:
    """The first `most` sentences, ascending, that no rule and no mean pattern was fitted on, with words and at most `LONGEST` tokens."""
    first, word = corpus.sentences.row_start.values, corpus.tokens.word_index.values >= 0
    judged = corpus.rule_sentences.judged
    judged = judged[corpus.sentences.row_size.values[judged] <= LONGEST]
    stop = first[judged] + corpus.sentences.row_size.values[judged]
    words = np.append(0, np.cumsum(word))
    return judged[words[stop] > words[first[judged]]][:most]


class RuleReader:
    """The rules of heads, and their tables for the wordpieces of some sentences; each head is read once.

    Parameters
    ----------
    sentences
        Indices of sentences.
    """

    def __init__(self, corpus: Corpus, sentences: NDArray[np.integer]) -> None:
        self._corpus, self.text, self.masks = corpus, corpus.rule_text, corpus.masks
        token_id = corpus.tokens.token_id.values
        self._pieces = np.unique(np.concatenate([token_id[corpus.sentence_rows(int(index))] for index in sentences]))
        self._read: dict[tuple[int, int], HeadTables] = {}

    def rules(self, layer: int, head: int) -> tuple[list[str], NDArray[np.floating]]:
        """Names and weights of the rules of a head."""
        rules = self._corpus.rules
        return chosen_rules(rules.chosen.values[layer, head], rules.rule_weight.values[layer, head])

    def tables(self, layer: int, head: int) -> HeadTables:
        """The tables of a head, only with wordpieces of the sentences."""
        if (layer, head) not in self._read:
            self._read[layer, head] = self._corpus.head_tables(layer, head).of_types(self._pieces)
        return self._read[layer, head]


class RulePatterns:
    """Attention patterns that the rules of some heads predict in the sentences of a `RuleReader`.

    Parameters
    ----------
    heads
        Layer and head of each.
    step
        Called before each head is read; an error that it raises ends the reading.
    """

    def __init__(self, reader: RuleReader, heads: Heads, step: Step = lambda _: None) -> None:
        self._text = reader.text
        self._rules, tables = [], []
        self._masks = [reader.masks[layer] for layer, _ in heads]
        for layer, head in heads:
            step(READS)
            self._rules.append(reader.rules(layer, head))
            tables.append(reader.tables(layer, head))
        self._tables = HeadTables.joined(tables)

    def patterns(self, sentence: int, hidden: Sequence[int] = ()) -> NDArray[np.float32]:
        """Patterns (head, query_token, key_token) in one of the sentences, with hidden wordpieces at some positions."""
        tokens = self._text.sentence(sentence)
        return predict(self._rules, hide(tokens, hidden) if hidden else tokens, self._tables, self._masks)


def hide(tokens: SentenceTokens, hidden: Sequence[int]) -> SentenceTokens:
    """The tokens of a sentence; tokens at the hidden positions become unlike all others and not rare, but keep their grammar."""
    changed = {"token_id": UNKNOWN, "flags": 0, "text_class": OTHER_TEXT, "count": NEVER_RARE}
    places = list(hidden)
    arrays = {name: getattr(tokens, name).copy() for name in changed}
    for name, value in changed.items():
        arrays[name][places] = value
    return replace(tokens, **arrays)


def mean_patterns(corpus: Corpus, heads: Heads, flags: NDArray[np.integer]) -> NDArray[np.float32]:
    """Mean patterns (head, query_token, key_token) of some heads in a sentence with these flags (token,)."""
    return corpus.mean_patterns.patterns([layer * corpus.heads + head for layer, head in heads], flags)


def ordered_heads(corpus: Corpus, order: str, seed: int = 0) -> list[tuple[int, int]]:
    """Layer and head of all heads in one of `ORDERS`, ties by layer and head; `NotIngested` where the order needs missing results."""
    if order == "random":
        scores = np.random.default_rng(seed).permutation(corpus.layers * corpus.heads).astype(np.float64)
    elif order == "explained":
        scores = -corpus.rules.iou.sel(rules="six").values.ravel()
    else:
        scores = corpus.importance.change.values.ravel()
    layers, heads = np.divmod(np.argsort(scores, kind="stable"), corpus.heads)
    return list(zip(layers.tolist(), heads.tolist(), strict=True))


def checked_heads(corpus: Corpus, heads: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """The heads, each once; StoreError for values that are no heads, unknown heads, and an empty list."""
    try:
        pairs = [(layer, head) for layer, head in heads]
    except (TypeError, ValueError) as error:
        raise StoreError("A head is a pair of a layer and a head. Give a list of them, such as [(0, 1)].") from error
    for layer, head in pairs:
        check_head(layer, head, layers=corpus.layers, heads=corpus.heads)
    if not pairs:
        raise StoreError("No head is replaced. Give at least one.")
    return list(dict.fromkeys((int(layer), int(head)) for layer, head in pairs))
