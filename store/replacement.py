"""What heads of a corpus can attend to instead, in sentences that no rule of them was fitted on."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from store.corpus import Corpus
from store.kernels.head_tables import HeadTables
from store.rules import predict

#: Takes what is done now, once for each head.
Step = Callable[[str], object]
Heads = Sequence[tuple[int, int]]
READS = "Reading what the heads do instead"


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
            names = [str(name) for name in chosen[layer, head] if name]
            self._rules.append((names, weights[layer, head, : len(names)]))
            tables.append(corpus.head_tables(layer, head).of_types(pieces))
        self._tables = HeadTables.joined(tables)

    def patterns(self, sentence: int) -> NDArray[np.float32]:
        """(head, query_token, key_token) in one of the sentences."""
        return predict(self._rules, self._text.sentence(sentence), self._tables)
