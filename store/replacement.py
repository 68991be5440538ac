"""What heads of a corpus can attend to instead, in sentences that no rule of them was fitted on."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from store.corpus import Corpus
from store.kernels.head_tables import HeadTables
from store.repository.errors import StoreError
from store.rules import chosen_rules, predict

#: Takes what is done now, once for each head.
Step = Callable[[str], object]
Heads = Sequence[tuple[int, int]]
READS = "Reading what the heads do instead"
#: Sentences of a sample by default.
SENTENCES = 100
#: What heads do instead -> in words.
INSTEAD: Mapping[str, str] = {
    "off": "nothing: it is off",
    "even": "attend evenly to all tokens",
    "mean": "attend as on average",
    "rule": "attend as its rules predict",
}
#: In which order heads are replaced -> what the first ones are.
ORDERS: Mapping[str, str] = {
    "explained": "those that rules explain best, by IoU",
    "unimportant": "those without which the loss grows least, where the ingest has measured it",
    "random": "drawn at random",
}


def judged_sentences(corpus: Corpus, most: int) -> NDArray[np.int64]:
    """At most so many sentences with words that no rule of a head and no mean pattern was fitted on, the first ones: ascending."""
    first, word = corpus.sentences.row_start.values, corpus.tokens.word_index.values >= 0
    judged = corpus.rule_sentences.judged
    stop = first[judged] + corpus.sentences.row_size.values[judged]
    words = np.append(0, np.cumsum(word))
    return judged[words[stop] > words[first[judged]]][:most]


class RulePatterns:
    """What the rules of some heads predict in some sentences. Of the tables of heads it keeps the wordpieces of these sentences.

    Parameters
    ----------
    heads
        Layer and head of each.
    sentences
        Indices of sentences.
    step
        Called before the tables of each head are read; an error that it raises ends the reading.
    """

    def __init__(
        self, corpus: Corpus, heads: Heads, sentences: NDArray[np.integer], step: Step = lambda _: None
    ) -> None:
        self._text = corpus.rule_text
        token_id = corpus.tokens.token_id.values
        pieces = np.unique(np.concatenate([token_id[corpus.sentence_rows(int(index))] for index in sentences]))
        chosen, weights = corpus.rules.chosen.values, corpus.rules.rule_weight.values
        self._rules, tables = [], []
        for layer, head in heads:
            step(READS)
            self._rules.append(chosen_rules(chosen[layer, head], weights[layer, head]))
            tables.append(corpus.head_tables(layer, head).of_types(pieces))
        self._tables = HeadTables.joined(tables)

    def patterns(self, sentence: int) -> NDArray[np.float32]:
        """(head, query_token, key_token) in one of the sentences."""
        return predict(self._rules, self._text.sentence(sentence), self._tables)


def mean_patterns(corpus: Corpus, heads: Heads, flags: NDArray[np.integer]) -> NDArray[np.float32]:
    """Mean patterns (head, query_token, key_token) of some heads in a sentence with these flags (token,)."""
    return corpus.mean_patterns.patterns([layer * corpus.heads + head for layer, head in heads], flags)


def ordered_heads(corpus: Corpus, order: str, seed: int = 0) -> list[tuple[int, int]]:
    """Layer and head of all heads in one of `ORDERS`, of equal ones the first; `NotIngested` where it needs what is not there."""
    if order == "random":
        scores = np.random.default_rng(seed).permutation(corpus.layers * corpus.heads).astype(np.float64)
    elif order == "explained":
        scores = -corpus.rules.iou.sel(rules="six").values.ravel()
    else:
        scores = corpus.importance.change.values.ravel()
    layers, heads = np.divmod(np.argsort(scores, kind="stable"), corpus.heads)
    return list(zip(layers.tolist(), heads.tolist(), strict=True))


def checked_heads(corpus: Corpus, heads: Heads) -> list[tuple[int, int]]:
    """The same heads, each once; StoreError where the model has no such head, or none is given."""
    for layer, head in heads:
        if not (0 <= layer < corpus.layers and 0 <= head < corpus.heads):
            raise StoreError(
                f"The model has no head {layer}-{head}. Choose layers 0 to {corpus.layers - 1} and heads 0 to {corpus.heads - 1}."
            )
    if not heads:
        raise StoreError("No head is replaced. Give at least one.")
    return list(dict.fromkeys((int(layer), int(head)) for layer, head in heads))
