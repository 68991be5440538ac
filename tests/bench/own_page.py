"""One sentence's attention in all heads, as this dashboard shows it: the page Sentence on a production server."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from store import Corpus, open_corpus
from tests.bench.browser import production_server
from tests.bench.page_cost import Cost, measure
from tests.bench.peer_views import HEADS, LAYERS
from tests.bench.synthetic import make_store

CHANNELS = 64
#: Sentences of the corpus, as many as a picture needs.
SENTENCES = 12
#: Words that are one wordpiece each.
WORDS = [
    "the",
    "film",
    "was",
    "good",
    "and",
    "a",
    "plot",
    "not",
    "music",
    "of",
    "it",
    "we",
    "never",
    "watch",
    "again",
    "long",
    "slow",
    "sad",
]

#: Query of the page by its row of the table. Peers draw every weight as a line, so weak lines are drawn, too.
SHOWN = {
    "Headscape, model view": "show=model",
    "Headscape, head view: the heads of one layer": "show=head&least=0",
}
#: A condition in JavaScript: the weights have come and are painted.
READY = 'document.querySelector("#sentence").dataset.drawn.startsWith("/data/")'


@contextmanager
def served(folder: Path, tokens: int) -> Iterator[tuple[str, Corpus]]:
    """The address of a dashboard on sentences of `tokens` tokens, and the corpus; its queries and keys are random."""
    data = write_sentences(folder / "sentences.txt", tokens)
    shape: dict[str, Any] = {"layers": LAYERS, "heads": HEADS, "channels": CHANNELS}
    store = make_store(folder / "store", **shape, sentences=SENTENCES, data=str(data), max_length=tokens)
    corpus = open_corpus(store)
    assert set(corpus.sentences.row_size.values) == {tokens}
    with production_server(store) as address:
        yield address, corpus


def write_sentences(path: Path, tokens: int) -> Path:
    """Write one sentence a line; each has `tokens` wordpieces with [CLS] and [SEP]."""
    choose = random.Random(0)
    path.write_text("".join(" ".join(choose.choices(WORDS, k=tokens - 2)) + "\n" for _ in range(SENTENCES)))
    return path


def open_ours(address: str, query: str) -> Cost:
    """Open the page of the first sentence in a browser with an empty cache."""
    return measure(f"{address}/sentence?{query}", READY)
