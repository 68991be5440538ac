"""A model that returns the vectors at every feature point, in float32 whatever dtype encoded the corpus."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count

import numpy as np
import torch
from numpy.typing import NDArray

from ingest.encode.batches import Batch, make_batches
from ingest.encode.encoder import BATCH_TOKENS
from ingest.encode.hooked_model import HookedModel
from ingest.encode.loading import load_model
from ingest.encode.weights import weight_shapes
from ingest.run.checkpoint import Checkpoint
from ingest.run.parallel import one_thread_each
from ingest.text.blocks import Block
from store.schema.features import point_names

#: The largest number of float16.
LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class Vectors:
    """Vectors at the feature points, of some inputs.

    Attributes
    ----------
    feature
        (point, token, feature).
    value
        (layer, head, token, channel).
    class_probability
        (sentence, class), without classes where the model is no classifier.
    clipped
        How many numbers were beyond the range of float16, and are the largest of that range.
    """

    feature: NDArray[np.float16]
    value: NDArray[np.float16]
    class_probability: NDArray[np.float32]
    clipped: int


class PointModel:
    """A loaded checkpoint with hooks at its feature points, and its classifier if it has one."""

    def __init__(
        self, checkpoint: Checkpoint, *, device: torch.device, fine: bool, batch_tokens: int | None = None
    ) -> None:
        self.model = HookedModel(checkpoint, device=device, dtype=torch.float32)
        self._batch_tokens = batch_tokens or BATCH_TOKENS[device.type]
        self.points = point_names(self.model.layers, fine=fine)
        self.model.listen_at_points(self.points)
        self.class_names = class_names(checkpoint)
        self._family = checkpoint.family
        self._classifier = (
            load_model(checkpoint, _classifier(checkpoint)).to(device).eval() if self.class_names else None
        )

    def run(self, block: Block) -> Vectors:
        """One forward pass over every sentence of the block."""
        features, layers = self.model.heads * self.model.channels, self.model.layers
        feature = np.empty((len(self.points), block.tokens, features), np.float16)
        value = np.empty((layers, self.model.heads, block.tokens, self.model.channels), np.float16)
        probability = np.empty((block.sentences, len(self.class_names)), np.float32)
        into = Vectors(feature, value, probability, 0)
        batches = make_batches(block, tokens=self._batch_tokens)
        first = np.cumsum(block.lengths) - block.lengths
        workers = cpu_count() if self.model.device.type == "cpu" else 1
        with one_thread_each(workers), ThreadPoolExecutor(workers, "features") as pool:
            clipped = sum(pool.map(lambda batch: self._run(batch, first, into), batches))
        return Vectors(feature, value, probability, clipped)

    def _run(self, batch: Batch, first: NDArray[np.integer], into: Vectors) -> int:
        """Store the vectors of a batch; how many numbers were clipped."""
        token_ids, real = (torch.from_numpy(array).to(self.model.device) for array in (batch.token_ids, batch.real))
        capture = self.model.run(token_ids, None if batch.real.all() else real)
        clipped = 0
        for number, point in enumerate(self.points):
            into.feature[number, batch.rows], beyond = as_half(capture.points[point][real])
            clipped += beyond
        for layer, value in enumerate(capture.value):
            half, beyond = as_half(value[real])
            into.value[layer][:, batch.rows] = half.reshape(len(half), self.model.heads, -1).swapaxes(0, 1)
            clipped += beyond
        if self._classifier is not None:
            sentences = np.searchsorted(first, batch.rows[np.cumsum(batch.real.sum(axis=1)) - 1], side="right") - 1
            into.class_probability[sentences] = self._classify(capture.points[self.points[-1]])
        return clipped

    def _classify(self, last: torch.Tensor) -> NDArray[np.float32]:
        """(sentence, class) from the last vectors (sentence, token, feature)."""
        assert self._classifier is not None
        with torch.inference_mode():
            logits = self._family.guess_labels(self._classifier, last)
            probability: NDArray[np.float32] = torch.softmax(logits, dim=-1).cpu().numpy()
        return probability


def as_half(vectors: torch.Tensor) -> tuple[NDArray[np.float16], int]:
    """The vectors clipped to float16, and how many numbers were clipped."""
    beyond = int((vectors.abs() > LARGEST).sum())
    return vectors.clamp(-LARGEST, LARGEST).half().cpu().numpy(), beyond


def class_names(checkpoint: Checkpoint) -> list[str]:
    """Names of the labels of a classifier; empty for any other checkpoint."""
    config = checkpoint.config
    several = config.get("problem_type") in (None, "single_label_classification")
    if _classifier(checkpoint) not in (config.get("architectures") or ()) or not several:
        return []
    if checkpoint.family.head_weights["classification"][0] not in weight_shapes(checkpoint):
        return []
    named = config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    names = [str(named[number]) for number in sorted(named, key=int)]
    return names if len(names) > 1 else []


def _classifier(checkpoint: Checkpoint) -> str:
    """Transformers' class of a classifier."""
    return checkpoint.family.architectures["classification"]


def parts(block: Block, *, tokens: int) -> Iterator[Block]:
    """The sentences of a block in parts of so many tokens, or of one sentence."""
    stops = np.cumsum(block.lengths)
    start = 0
    while start < block.sentences:
        before = int(stops[start] - block.lengths[start])
        stop = max(start + 1, int(np.searchsorted(stops, before + tokens, side="right")))
        rows = slice(before, int(stops[stop - 1]))
        yield Block(
            0, rows.stop - rows.start, block.lengths[start:stop], block.token_ids[rows], block.token_flags[rows]
        )
        start = stop
