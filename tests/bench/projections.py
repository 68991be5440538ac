"""Seconds a head for pictures of 10,042 points, as many as AttentionViz has: our pictures, and its six fits on this machine."""

import time
from collections.abc import Callable

import numpy as np
import torch

from ingest.projections.attention_projection import train
from ingest.projections.projection import PROJECTIONS, Projection
from ingest.run.settings import USUAL
from store import open_corpus
from store.kernels.projection import NEIGHBOURS, exact_mode, fit_pca, place, place_by_neighbours, place_by_network, unit
from store.schema.pictures import ATTENTIONVIZ_TOKENS
from tests.bench.table import show

#: Median seconds of AttentionViz's authors for the six fits of a head.
PUBLISHED = 66.6
HEADS = 1


def seconds_per_head(store: str) -> None:
    """Time each projection for some heads on one core, and print the table."""
    torch.set_num_threads(1)
    corpus = open_corpus(store)
    rows = corpus.rows[:ATTENTIONVIZ_TOKENS]
    sizes = corpus.sentences.row_size.values.astype(np.int64)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), ATTENTIONVIZ_TOKENS, side="right"))]
    layer = corpus.layers // 2
    query, key = (
        array[layer, :HEADS, : int(rows[-1]) + 1].values[:, rows].astype(np.float32)
        for array in (corpus.query, corpus.key)
    )
    radius = np.linalg.norm(key, axis=-1).max(axis=-1)
    points = np.concatenate([unit(vectors) for vectors in exact_mode(query, key, radius)], axis=1)
    timed = {
        "pca": lambda dims: [place(head, *fit_pca(head, components=dims)[:2]) for head in points],
        "attention": lambda dims: _attention(query, key, sizes, dims),
        "tsne": lambda dims: [_sampled(head, "tsne", dims) for head in points],
        "umap": lambda dims: [_sampled(head, "umap", dims) for head in points],
        "AttentionViz's t-SNE": lambda dims: [
            Projection.of_heads("attentionviz", components=dims, seed=0).fit(head)["fitted"] for head in points
        ],
        "UMAP of all points": lambda dims: [
            Projection.of_heads("umap", components=dims, seed=0).fit(head)["fitted"] for head in points
        ],
    }
    Projection.of_heads("umap", components=2, seed=0).fit(points[0][:200])["fitted"]  # compiles
    times = {name: [_seconds(act, dims) for dims in (2, 3)] for name, act in timed.items()}
    ours = sum(sum(times[name]) for name in ("pca", "attention", "tsne", "umap"))
    theirs = sum(sum(times[name]) for name in ("pca", "AttentionViz's t-SNE", "UMAP of all points"))
    table = [(name, f"{flat:.2f}", f"{solid:.2f}") for name, (flat, solid) in times.items()]
    table += [
        ("ours, 8 pictures", f"{ours:.1f}", ""),
        ("AttentionViz's 6 fits here", f"{theirs:.1f}", f"ratio {ours / theirs:.2f}"),
    ]
    table += [("AttentionViz's 6 fits, as its authors timed them", f"{PUBLISHED}", "")]
    show(f"Seconds a head for {2 * ATTENTIONVIZ_TOKENS:,} points, one core", ("projection", "2D", "3D"), table)


def _seconds(act: Callable[[int], object], dims: int) -> float:
    began = time.perf_counter()
    act(dims)
    return (time.perf_counter() - began) / HEADS


def _attention(query: np.ndarray, key: np.ndarray, sizes: np.ndarray, dims: int) -> list[np.ndarray]:
    """Places of every point by the attention projection, all heads together as in an ingest."""
    fitted = int(sizes.sum())
    queries, keys = (torch.from_numpy(vectors[:, :fitted]) for vectors in (query, key))
    weights = train(queries, keys, sizes, components=dims, seed=0, steps=USUAL.attention_steps, advance=lambda: None)
    return [
        place_by_network(vectors, **{name: array[:, role] for name, array in weights.items()})
        for role, vectors in enumerate((query, key))
    ]


def _sampled(points: np.ndarray, projection: str, dims: int) -> np.ndarray:
    """Places by a projection that is fitted on a sample; other points are placed among their nearest fitted points."""
    tokens = PROJECTIONS[projection].head_tokens
    assert tokens is not None
    sample = np.concatenate([points[:tokens], points[ATTENTIONVIZ_TOKENS : ATTENTIONVIZ_TOKENS + tokens]])
    fitted = Projection.of_heads(projection, components=dims, seed=0).fit(sample)["fitted"]
    cosine, index = torch.topk(torch.from_numpy(points @ sample.T), NEIGHBOURS, dim=-1)
    near = np.clip(2 - 2 * cosine.numpy(), 0, None)
    placed: np.ndarray = place_by_neighbours(near, fitted[index.numpy()])
    return placed
