"""The default picture against AttentionViz's at the size that its authors fit, head by head; results are appended to a file.

AttentionViz fits each head's queries and keys of 5,021 tokens together, keys moved onto the queries' mean, by scikit-learn's
t-SNE (its UMAP is less faithful, see `fidelity`). The fit is judged on the sentences that it was made of. The default picture
is judged on the same sentences. They follow the sentences of its own fit, so that they are held out.
"""

import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from ingest.pipeline import run
from ingest.run.settings import Settings
from store import Corpus, open_corpus
from store.kernels.attention import attention_pattern
from store.kernels.projection import centroid_shift, recall, screen_distance, spearman
from store.schema.model import head_name
from store.schema.pictures import ATTENTIONVIZ_TOKENS, RECALL_KEYS
from tests.bench.table import show

VIEW = "attention-raw-2d"
#: File of results. A fit takes half a minute on a core: an interrupted benchmark continues with this file.
RESULTS = Path("data/bench-attentionviz.jsonl")
#: Heads in the second table.
CLOSEST = 8

Floats = NDArray[np.floating]
Spans = NDArray[np.int64]
Result = dict[str, float]
open_once = cache(open_corpus)


def against_attentionviz(store: str) -> None:
    """Fit the heads that are not in the file yet, and print the tables."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    run(Settings(store=store, views=VIEW, features="none"))
    corpus = open_corpus(store)
    heads = list(np.ndindex(corpus.layers, corpus.heads))
    theirs = _theirs(store, heads)
    ours = [_judged(corpus, *_placed(corpus, *head), *head) for head in heads]
    _show_means(corpus, ours, theirs)
    _show_closest(heads, ours, theirs)


# -- the sentences --------------------------------------------------------------------------------------------


def _sentences(corpus: Corpus) -> Spans:
    """First row and end (sentence, 2) of the sentences after those of the default picture's fit, within AttentionViz's number of tokens."""
    after = int(corpus.view(VIEW).attrs["sample_sentences"])
    start, size = (corpus.sentences[name].values[after:].astype(np.int64) for name in ("row_start", "row_size"))
    count = int(np.searchsorted(np.cumsum(size), ATTENTIONVIZ_TOKENS, side="right"))
    return np.stack([start, start + size], axis=-1)[:count]


def _rows(corpus: Corpus) -> NDArray[np.int64]:
    return np.concatenate([np.arange(*span) for span in _sentences(corpus)])


def _vectors(corpus: Corpus, layer: int, head: int) -> tuple[Floats, Floats]:
    """Queries and keys (token, channel)."""
    rows = _rows(corpus)
    query, key = (
        array.variable[layer, head, : int(rows[-1]) + 1].values[rows].astype(np.float32)
        for array in (corpus.query, corpus.key)
    )
    return query, key


def _judged(corpus: Corpus, query_place: Floats, key_place: Floats, layer: int, head: int) -> Result:
    """Means over sentences of one picture (token, component) of queries and keys."""
    query, key = _vectors(corpus, layer, head)
    sizes = np.diff(_sentences(corpus), axis=-1)[:, 0]
    measures = []
    for stop, size in zip(np.cumsum(sizes), sizes, strict=True):
        rows = slice(stop - size, stop)
        pattern = attention_pattern(query[rows], key[rows])
        distance = screen_distance(query_place[rows], key_place[rows])
        measures.append((float(spearman(pattern, distance)), float(recall(pattern, distance, k=RECALL_KEYS))))
    means = np.mean(measures, axis=0)
    return {"spearman": float(means[0]), "recall": float(means[1])}


def _placed(corpus: Corpus, layer: int, head: int) -> tuple[Floats, Floats]:
    """Places (token, component) of queries and of keys in the default picture."""
    places = corpus.places(VIEW, _rows(corpus), layer=layer, head=head)
    return places[:, 0], places[:, 1]


# -- their fits -----------------------------------------------------------------------------------------------


def _theirs(store: str, heads: list[tuple[int, ...]]) -> list[Result]:
    """Results of AttentionViz's fits, head by head; each is appended to the file once it is computed."""
    corpus = open_corpus(store)
    names = {f"{corpus.name} {_sentences(corpus)[0, 0]} t-SNE {head_name(*head)}": head for head in heads}
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    results: dict[str, Result] = {name: result for name, result in map(json.loads, lines) if name in names}
    with ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn")) as pool, RESULTS.open("a") as file:
        missing = names.keys() - results.keys()
        fits = {pool.submit(_fit, store, *names[name]): name for name in sorted(missing)}
        for fit in as_completed(fits):
            results[fits[fit]] = fit.result()
            print(json.dumps((fits[fit], fit.result())), file=file, flush=True)
    return [results[name] for name in names]


def _fit(store: str, layer: int, head: int) -> Result:
    """Fit a head on one core as AttentionViz does: github.com/catherinesyeh/attention-exploration, generate_data.ipynb."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    corpus, began = open_once(store), process_time()
    query, key = _vectors(corpus, layer, head)
    with threadpool_limits(1):
        places: Floats = TSNE(perplexity=50, max_iter=300, metric="cosine", random_state=0, n_jobs=1).fit_transform(
            np.concatenate([query, key + centroid_shift(query, key)])
        )
    own_query, own_key = np.split(places, 2)
    judged = _judged(corpus, own_query, own_key, layer, head)
    return judged | {"seconds": process_time() - began}


# -- the tables -----------------------------------------------------------------------------------------------


def _show_means(corpus: Corpus, ours: list[Result], theirs: list[Result]) -> None:
    worse = [sum(_ahead(name, *pair) < 0 for pair in zip(ours, theirs, strict=True)) for name in ("spearman", "recall")]
    seconds = np.mean([result["seconds"] for result in theirs])
    rows = [(VIEW, *_means(ours), *worse, "-"), ("AttentionViz, t-SNE", *_means(theirs), "-", "-", f"{seconds:.0f}")]
    title = f"{len(ours)} heads, {len(_rows(corpus)):,} tokens, {len(_sentences(corpus))} sentences: AttentionViz's own fit of them; held out of ours"
    show(title, ("picture", "Spearman", "recall@3", "worse heads: Spearman", "recall@3", "CPU s per head"), rows)


def _show_closest(heads: list[tuple[int, ...]], ours: list[Result], theirs: list[Result]) -> None:
    """Print the heads in which the default picture is ahead by the least, in either measure."""
    all_heads = sorted(
        (min(_ahead("spearman", own, other), _ahead("recall", own, other)), head_name(*head), own, other)
        for head, own, other in zip(heads, ours, theirs, strict=True)
    )
    rows = [
        (name, *(f"{results[measure]:.3f}" for measure in ("spearman", "recall") for results in (own, other)))
        for _, name, own, other in all_heads[:CLOSEST]
    ]
    show("Closest heads", ("head", "Spearman: ours", "theirs", "recall@3: ours", "theirs"), rows)


def _ahead(measure: str, own: Result, other: Result) -> float:
    """How much better `own` is than `other` in a measure; Spearman is best at -1."""
    return (other[measure] - own[measure]) * (1 if measure == "spearman" else -1)


def _means(results: list[Result]) -> tuple[str, str]:
    spearman_mean, recall_mean = (np.mean([result[name] for result in results]) for name in ("spearman", "recall"))
    return f"{spearman_mean:.3f}", f"{recall_mean:.3f}"
