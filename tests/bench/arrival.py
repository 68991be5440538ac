"""How faithful methods of context mixing are to the vector of a sentence, and their time: `STORE=... python -m tests.bench arrival`.

Words that a method finds important are deleted from the sentence (comprehensiveness: the more the vector changes, the better), or kept alone
(sufficiency: the less it changes, the better), as DeYoung et al. (2020) do for answers: the change is 1 - cosine of the mean vectors,
mean over 10, 20 and 50% of the words.
"""

import time
from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from ingest.encode.decomposition import TracedLayer, alti, decompose, trace, value_zeroing
from ingest.encode.hooked_model import HookedModel
from ingest.run.checkpoint import find_checkpoint
from store import Corpus, open_corpus
from store.kernels.mixing import layer_matrix, mixing_products, roll_out
from store.schema.corpus import IDLE
from tests.bench.table import show

SENTENCES, FEWEST, MOST = 60, 10, 40
SHARES = (0.1, 0.2, 0.5)
RESAMPLES = 2_000
#: The method with which the others are compared.
COMPARED = "GlobEnc"
COLUMNS = ("method", "comprehensiveness", "less GlobEnc's (95%)", "sufficiency", "less GlobEnc's (95%)", "CPU ms")

Scores = Callable[[list[TracedLayer]], NDArray[np.floating]]


def arrival(place: str) -> None:
    """Print a table of the methods."""
    corpus = open_corpus(place)
    checkpoint = find_checkpoint(str(corpus.attributes["provenance"]["settings"]["model"]))
    model = HookedModel(checkpoint, device=torch.device("cpu"), dtype=torch.float32)
    model.listen_at_points([last_point(model)])
    methods = scores_of(model, lambda rows: rows.mean(0), lambda vector: vector)
    sentences = chosen_sentences(corpus)
    found: dict[str, tuple[list[float], list[float], list[float]]] = {name: ([], [], []) for name in methods}
    for ids, words in sentences:
        traced = trace(model, torch.from_numpy(ids))
        whole = mean_vector(model, ids)
        for name, score in methods.items():
            began = time.process_time()
            scores = score(traced)
            spent = 1000 * (time.process_time() - began)
            removed, kept = changes(model, ids, words, scores, whole)
            for numbers, number in zip(found[name], (removed, kept, spent), strict=True):
                numbers.append(number)
    title = f"{corpus.title}: {len(sentences)} sentences of {FEWEST} to {MOST} tokens"
    show(title, COLUMNS, [row(name, found) for name in methods])


def last_point(model: HookedModel) -> str:
    """Name of the output of the last layer."""
    return f"L{model.layers - 1:02d}.feedforward"


def chosen_sentences(corpus: Corpus) -> list[tuple[NDArray[np.int64], NDArray[np.intp]]]:
    """Wordpieces of sentences from the end of the corpus, and the positions of the tokens that are not special."""
    sizes = corpus.sentences.row_size.values
    fit = np.flatnonzero((sizes >= FEWEST) & (sizes <= MOST))[-SENTENCES:]
    flags, pieces = corpus.tokens.token_flags.values, corpus.tokens.token_id.values
    rows = [corpus.sentence_rows(int(sentence)) for sentence in fit]
    return [(pieces[own].astype(np.int64), np.flatnonzero((flags[own] & IDLE) == 0)) for own in rows]


def scores_of(
    model: HookedModel, read: Callable[[torch.Tensor], torch.Tensor], direction: Callable[[torch.Tensor], torch.Tensor]
) -> Mapping[str, Scores]:
    """Methods by name; each gives scores of the input tokens for a vector that is read from the last vectors: (token,).

    `read` makes one vector of those of all tokens (token, ...); parts of this vector are measured along `direction`.
    """
    maps = model.product_maps()
    random = np.random.default_rng(0)

    def rolled(matrix: Callable[[TracedLayer, int], torch.Tensor]) -> Scores:
        return lambda layers: read(roll_out([matrix(own, number) for number, own in enumerate(layers)])[-1]).numpy()

    def globenc(layer: TracedLayer, number: int) -> torch.Tensor:
        products = mixing_products(layer.value, layer.layer_input, maps[number])
        matrix: torch.Tensor = layer_matrix("globenc", layer.pattern, products=products)
        return matrix

    def signed(layers: list[TracedLayer]) -> NDArray[np.floating]:
        *_, last = decompose(layers)
        parts = read(last)
        return np.asarray((parts @ direction(parts.sum(0))).numpy())

    return {
        "random": lambda layers: random.random(len(layers[0].layer_input)),
        "attention of the last layer": lambda layers: read(layers[-1].pattern.mean(0)).numpy(),
        "attention rollout": rolled(lambda layer, _: layer_matrix("rollout", layer.pattern)),
        COMPARED: rolled(globenc),
        "ALTI": rolled(lambda layer, _: alti(layer)),
        "Value Zeroing": rolled(lambda layer, _: value_zeroing(layer)),
        "DecompX, signed": signed,
    }


def mean_vector(model: HookedModel, ids: NDArray[np.int64]) -> NDArray[np.floating]:
    """The mean of the last vectors."""
    capture = model.run(torch.from_numpy(ids)[None], None)
    return np.asarray(capture.points[last_point(model)][0].mean(0).numpy())


def changes(
    model: HookedModel,
    ids: NDArray[np.int64],
    words: NDArray[np.intp],
    scores: NDArray[np.floating],
    whole: NDArray[np.floating],
) -> tuple[float, float]:
    """Mean change of the sentence's vector without the most important words, and with these words alone."""
    both = [without_and_alone(len(ids), words, scores, share) for share in SHARES]
    removed, kept = ([_change(whole, mean_vector(model, ids[rows])) for rows in own] for own in zip(*both, strict=True))
    return float(np.mean(removed)), float(np.mean(kept))


def without_and_alone(
    tokens: int, words: NDArray[np.intp], scores: NDArray[np.floating], share: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions without the share of words with the highest scores, and positions of these words and the special tokens alone."""
    order = words[np.argsort(-scores[words], kind="stable")]
    top = order[: max(1, int(np.ceil(share * len(order))))]
    every = np.arange(tokens)
    return np.setdiff1d(every, top), np.sort(np.append(top, np.setdiff1d(every, words)))


def _change(first: NDArray[np.floating], second: NDArray[np.floating]) -> float:
    return float(1 - first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def row(name: str, found: Mapping[str, tuple[list[float], list[float], list[float]]]) -> tuple[str, ...]:
    """A row of the table: means, and differences from the compared method with their intervals, by bootstrap over sentences."""
    removed, kept, spent = map(np.array, found[name])
    other = [np.array(each) for each in found[COMPARED]]
    return (
        name,
        f"{removed.mean():.3f}",
        interval(removed - other[0]),
        f"{kept.mean():.3f}",
        interval(kept - other[1]),
        f"{spent.mean():.1f}",
    )


def interval(differences: NDArray[np.float64]) -> str:
    """Mean of differences with its 95% interval, by bootstrap; empty where all are 0."""
    if not differences.any():
        return ""
    drawn = np.random.default_rng(0).integers(len(differences), size=(RESAMPLES, len(differences)))
    low, high = np.percentile(differences[drawn].mean(axis=1), (2.5, 97.5))
    return f"{differences.mean():+.3f} ({low:+.3f} to {high:+.3f})"
