"""Whether methods of context mixing rank the words of a sentence alike: `STORE=... MODEL=... python -m tests.bench agreement`.

Spearman correlation between two methods' shares of the words in the mean vector, over the words of a sentence; mean over sentences.
"""

import os
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from ingest.encode.decomposition import trace
from ingest.encode.hooked_model import HookedModel
from ingest.run.checkpoint import Checkpoint, find_checkpoint
from ingest.text.tokenizer import Tokenizer
from store import Corpus, open_corpus
from store.schema.corpus import IDLE
from tests.bench.arrival import FEWEST, MOST, scores_of
from tests.bench.table import show

MODEL = os.environ.get("MODEL", "")
SENTENCES = 300


def agreement(place: str) -> None:
    """Print a table of every method against every other one, for the model of a store, or for MODEL on its sentences."""
    corpus = open_corpus(place)
    checkpoint = find_checkpoint(MODEL or str(corpus.attributes["provenance"]["settings"]["model"]))
    model = HookedModel(checkpoint, device=torch.device("cpu"), dtype=torch.float32)
    methods = scores_of(model, lambda rows: rows.mean(0), lambda vector: vector)
    names = [name for name in methods if name != "random"]
    found = []
    for ids, words in tokenized(corpus, checkpoint):
        traced = trace(model, torch.from_numpy(ids))
        found.append(stats.spearmanr([methods[name](traced)[words] for name in names], axis=1).statistic)
    mean = np.nanmean(found, axis=0)
    rows = [(name, *(f"{value:.2f}" for value in own)) for name, own in zip(names, mean.tolist(), strict=True)]
    title = f"{checkpoint.name}: Spearman over words, mean of {len(found)} sentences of {FEWEST} to {MOST} tokens"
    show(title, ("", *names), rows)


def tokenized(corpus: Corpus, checkpoint: Checkpoint) -> list[tuple[NDArray[np.int64], NDArray[np.intp]]]:
    """Wordpieces of sentences from the end of the corpus by the tokenizer of a model, and the positions of the words."""
    tokens = Tokenizer(checkpoint.folder, max_length=MOST + 1).tokenize(
        [str(text) for text in corpus.sentences.text.values[::-1]]
    )
    ends = np.append(0, np.cumsum(tokens.lengths))
    parts = [slice(start, stop) for start, stop in pairwise(ends.tolist()) if FEWEST <= stop - start <= MOST]
    return [
        (tokens.token_id[own].astype(np.int64), np.flatnonzero((tokens.token_flags[own] & IDLE) == 0))
        for own in parts[:SENTENCES]
    ]
