"""Sentences of the corpus that get a page: weights of all heads, which the head view of page Sentence draws."""

from dataclasses import asdict
from typing import Any

import numpy as np

from dashboard.notebook.weights import PackedWeights, pack_weights, window_pattern
from dashboard.overview.role_cards import example_of, heads_of_cards
from dashboard.sentence.sentence import PatternOptions, stored_sentence, unhidden_units
from dashboard.ui.theme import PALETTE, head_colours
from store import Corpus
from store.text import Window

#: Sentences with a page, and tokens of one at most: as many lines as a window has room for.
MOST_SENTENCES, FEWEST_TOKENS, MOST_TOKENS = 36, 6, 24
#: Bytes of the weights of a sentence at most.
MOST_BYTES = 200_000


def chosen_sentences(corpus: Corpus, count: int = MOST_SENTENCES) -> list[int]:
    """Those of the cards of heads, then the first short ones: a uniform sample."""
    examples = (example_of(corpus, of) for of in heads_of_cards(corpus))
    of_cards = [example.sentence for example in examples if example]
    sizes = corpus.sentences.row_size.values[: corpus.n_sentences]
    short = np.flatnonzero((sizes >= FEWEST_TOKENS) & (sizes <= MOST_TOKENS)).tolist()
    return sorted(list(dict.fromkeys([*of_cards, *(short or range(len(sizes)))]))[:count])


def sentence_files(corpus: Corpus, number: int, source: str) -> tuple[dict[str, Any], PackedWeights]:
    """What the views draw of a sentence, see `SentenceContent` of assets/types/notebook.d.ts, and the packed weights."""
    sentence = stored_sentence(corpus, number)
    window = Window.at(0, len(sentence.wordpieces))
    pattern = window_pattern(sentence, window)
    packed = pack_weights(pattern, MOST_BYTES)
    layers, heads, tokens = pattern.shape[:3]
    units = [unit for unit in unhidden_units(sentence, PatternOptions())[0] if unit.positions[0] in window]
    return {
        "kind": "sentence",
        "name": corpus.title,
        "units": list(map(asdict, units)),
        "weights": {"layers": layers, "heads": heads, "first": 0, "tokens": tokens, "levels": packed.levels},
        "colours": head_colours(heads),
        "palette": PALETTE,
        "source": f"{source}; weights within {packed.error:.1g}",
        "stem": f"{corpus.name}-sentence-{number}",
    }, packed
