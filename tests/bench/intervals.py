"""How often 95% intervals from a few sentences hold the mean of all sentences: the percentile bootstrap beside other methods."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from store import Corpus, open_corpus
from store.kernels.intervals import PERCENTILES, draw_counts
from tests.bench.table import show

Floats = NDArray[np.float64]
Interval = Callable[[Floats, Floats], tuple[Floats, Floats]]
#: Draws of sentences for each size.
DRAWS = 60
ENDS = np.array(PERCENTILES) / 100


def intervals(store: str, sizes: tuple[int, ...]) -> None:
    """Print mean and lowest coverage over all statistics of all heads, for each number of sentences drawn from a store."""
    means = sentence_means(open_corpus(store))
    rows = [(f"{size:,}", *(coverage(means, size, interval) for interval in INTERVALS.values())) for size in sizes]
    title = f"Share of {DRAWS} intervals that hold the mean of {len(means):,} sentences, {means.shape[1]:,} numbers: mean (5%, lowest)"
    show(title, ("sentences", *INTERVALS), rows)


def sentence_means(corpus: Corpus) -> Floats:
    """Means of every token statistic of every head in every sentence with vectors: (sentence, number)."""
    rows, size = corpus.rows, corpus.sentences.row_size.values[: corpus.n_sentences]
    start = np.cumsum(size) - size
    layers = [
        np.add.reduceat(np.nan_to_num(values.values[:, rows].astype(np.float64)), start, axis=-1).T / size[:, None]
        for statistic in corpus.token_statistic.statistic
        for values in corpus.token_statistic.sel(statistic=statistic).transpose("layer", "head", "token")
    ]
    return np.concatenate(layers, axis=1)


def coverage(means: Floats, size: int, interval: Interval) -> str:
    """How often an interval from `size` drawn sentences holds the mean of all sentences."""
    generator, truth = np.random.default_rng(0), means.mean(axis=0)
    held = np.zeros(means.shape[1])
    for draw in range(DRAWS):
        drawn = means[generator.choice(len(means), size, replace=False)]
        low, high = interval(drawn, replicates(drawn, draw))
        held += (low <= truth) & (truth <= high)
    shares = held / DRAWS
    return f"{shares.mean():.2f} ({np.quantile(shares, 0.05):.2f}, {shares.min():.2f})"


def replicates(drawn: Floats, seed: int) -> Floats:
    """Bootstrap means as the store counts them, ascending: (replicate, number)."""
    counts = draw_counts(seed, 0, len(drawn))
    counts = counts[:, counts.sum(axis=0) > 0]
    return np.sort(counts.T @ drawn / counts.sum(axis=0)[:, None], axis=0)


def percentile(_: Floats, means: Floats) -> tuple[Floats, Floats]:
    """The percentile interval, which the store has."""
    low, high = np.percentile(means, PERCENTILES, axis=0)
    return low, high


def bias_corrected(drawn: Floats, means: Floats) -> tuple[Floats, Floats]:
    """BCa interval (Efron 1987), with the acceleration of a mean."""
    deviation = drawn - drawn.mean(axis=0)
    acceleration = (deviation**3).sum(axis=0) / (6 * np.maximum((deviation**2).sum(axis=0), 1e-30) ** 1.5)
    below = (means < drawn.mean(axis=0)).mean(axis=0)
    bias = norm.ppf(np.clip(below, 1 / len(means), 1 - 1 / len(means)))
    low, high = (_at(means, norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))) for z in norm.ppf(ENDS))
    return low, high


def _at(means: Floats, share: Floats) -> Floats:
    place = np.clip(share * (len(means) - 1), 0, len(means) - 1).round().astype(int)
    return np.take_along_axis(means, place[None], axis=0)[0]


def student(drawn: Floats, _: Floats) -> tuple[Floats, Floats]:
    """Interval of Student's distribution, from mean and standard error."""
    half = t.ppf(ENDS[1], len(drawn) - 1) * drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    return drawn.mean(axis=0) - half, drawn.mean(axis=0) + half


INTERVALS: dict[str, Interval] = {"percentile (the store's)": percentile, "BCa": bias_corrected, "Student's t": student}
