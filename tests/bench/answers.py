"""How faithful methods of context mixing are to the answers of a classifier: `MODEL=... python -m tests.bench answers`.

MODEL is what `make finetune` or `make compare` wrote. In reviews that MODEL was not taught, the words that a method finds important are
deleted (comprehensiveness: the more the probability of the answer falls, the better), or kept alone (sufficiency: the less it falls,
the better), mean over 1, 5, 10, 20 and 50% of the words: the area over the perturbation curve of DeYoung et al. (2020, section 4.2).
Of a review only the first tokens are read.
"""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ingest.encode.decomposition import Answer, TracedLayer, decompose, decompose_answer, trace
from ingest.encode.hooked_model import HookedModel
from ingest.finetuning.data import Drawn, Labelled, hold_out, read_labelled, read_test
from ingest.run.checkpoint import Checkpoint, find_checkpoint
from ingest.text.reviews import find_data
from ingest.text.tokenizer import Tokenizer
from store.schema.corpus import IDLE
from tests.bench.arrival import COLUMNS, Scores, last_point, row, scores_of, without_and_alone
from tests.bench.table import show

MODEL = os.environ.get("MODEL") or "data/finetuned"
REVIEWS, TOKENS = 500, 64
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


class Classifier:
    """A model with its classifier, and the probabilities of its answers."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.model = HookedModel(checkpoint, device=torch.device("cpu"), dtype=torch.float32, classifies=True)
        self.model.listen_at_points([last_point(self.model)])
        self.label = 0

    def probabilities(self, token_ids: NDArray[np.int64]) -> NDArray[np.floating]:
        """Probabilities (sentence, label) of the answers to sentences of one length (sentence, token)."""
        capture = self.model.run(torch.from_numpy(token_ids), None)
        with torch.inference_mode():
            logits = self.model.guess_labels(capture.points[last_point(self.model)])
        return np.asarray(logits.softmax(-1).numpy())

    def direction(self, vector: torch.Tensor) -> torch.Tensor:
        """Gradient of the label's logit, less the mean logit, by the vector of the first token."""
        with torch.enable_grad():
            own = vector.clone().requires_grad_()
            logits = self.model.guess_labels(own[None, None])[0]
            (gradient,) = torch.autograd.grad(logits[self.label] - logits.mean(), own)
        return gradient

    def shares_of_answer(self, layers: list[TracedLayer]) -> NDArray[np.floating]:
        """DecompX through the classifier, as on page Sentence: the exact part of each token in the same logit."""
        *_, last = decompose(layers)
        added = decompose_answer(Answer.of(self.model, last.sum(1)), last)
        assert added is not None, "the classifier reads one token"
        return np.asarray((added[:, self.label] - added.mean(1)).numpy())


def answers() -> None:
    """Print a table of the methods."""
    checkpoint = find_checkpoint(MODEL)
    classifier = Classifier(checkpoint)
    methods = {
        **scores_of(classifier.model, lambda rows: rows[0], classifier.direction),
        "DecompX, of the output": classifier.shares_of_answer,
    }
    found: dict[str, tuple[list[float], list[float], list[float]]] = {name: ([], [], []) for name in methods}
    right, reviews = 0, untaught(Path(MODEL))
    for text, label in reviews:
        ids, words = first_tokens(checkpoint, text)
        whole = classifier.probabilities(ids[None])[0]
        classifier.label = int(whole.argmax())
        right += classifier.label == label
        judge(classifier, methods, ids, words, float(whole.max()), found)
    title = f"{checkpoint.name}: {len(reviews)} reviews, the first {TOKENS} tokens; right {right / len(reviews):.3f}"
    show(title, COLUMNS, [row(name, found) for name in methods])


def untaught(folder: Path) -> list[tuple[str, int]]:
    """Reviews that the model was not taught, with their labels; as many of each label.

    Reviews of the test split; without one, reviews that were not drawn; where all were drawn, held-out reviews, by which the best
    evaluation was chosen.
    """
    asked = json.loads((folder / "metrics.json").read_text("utf-8"))["asked"]
    data, columns = find_data(asked["data"]), {"text": asked["text"], "label": asked["label"]}
    count = asked["reviews"].partition("#drawn=")[2]
    drawn = read_labelled(data, **columns, drawn=Drawn(int(count), asked["seed"]) if count else None)
    others = read_test(data, drawn, **columns)[0], _without(read_labelled(data, **columns), drawn)
    held_out = drawn.select(hold_out(drawn.labels, seed=asked["seed"])[1])
    every = next((labelled for labelled in others if labelled.texts), held_out)
    order = np.random.default_rng(0).permutation(len(every.texts))
    each = [order[every.labels[order] == label][: REVIEWS // len(every.names)] for label in np.unique(every.labels)]
    return [(every.texts[index], int(every.labels[index])) for index in np.concatenate(each).tolist()]


def _without(every: Labelled, known: Labelled) -> Labelled:
    texts = set(known.texts)
    return every.select(np.array([row for row, text in enumerate(every.texts) if text not in texts], np.intp))


def first_tokens(checkpoint: Checkpoint, text: str) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Wordpieces of the start of a text, and the positions of the tokens that are not special."""
    tokens = Tokenizer(checkpoint.folder, max_length=TOKENS).tokenize([text])
    return tokens.token_id.astype(np.int64), np.flatnonzero((tokens.token_flags & IDLE) == 0)


def judge(
    classifier: Classifier,
    methods: Mapping[str, Scores],
    ids: NDArray[np.int64],
    words: NDArray[np.intp],
    whole: float,
    found: Mapping[str, tuple[list[float], list[float], list[float]]],
) -> None:
    """Add how far each method's words decide the answer of one review, and the milliseconds of each."""
    traced = trace(classifier.model, torch.from_numpy(ids))
    scores, spent = zip(*(_timed(score, traced) for score in methods.values()), strict=True)
    falls = np.empty((len(methods), 2, len(SHARES)))
    for number, share in enumerate(SHARES):
        for kind, rows in enumerate(
            zip(*(without_and_alone(len(ids), words, each, share) for each in scores), strict=True)
        ):
            falls[:, kind, number] = whole - classifier.probabilities(ids[np.stack(rows)])[:, classifier.label]
    for name, (removed, kept), milliseconds in zip(methods, falls.mean(axis=-1), spent, strict=True):
        for numbers, number in zip(found[name], (float(removed), float(kept), milliseconds), strict=True):
            numbers.append(number)


def _timed(score: Scores, traced: list[TracedLayer]) -> tuple[NDArray[np.floating], float]:
    began = time.process_time()
    return score(traced), 1000 * (time.process_time() - began)
