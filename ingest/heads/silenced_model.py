"""A model with the head it was trained with: its loss on a task, whole or with an attention head silenced.

The task that head importance is measured on is to predict masked wordpieces, or labels.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from os import cpu_count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ingest.encode.batches import Batch, make_batches
from ingest.encode.encoder import BATCH_TOKENS
from ingest.encode.loading import load_model
from ingest.encode.weights import weight_shapes
from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError
from ingest.run.parallel import one_thread_each
from ingest.text.blocks import Block, content_hash
from store.schema.corpus import NO_WORD

#: Share of a sentence's wordpieces that are hidden (Devlin et al. 2019, section 3.1); at least one.
MASKED = 0.15
#: What a classifier without names calls its outputs.
NUMBER = re.compile(r"(LABEL_)?\d+")
#: This token has no answer.
NO_ANSWER = -1


@dataclass(frozen=True)
class ImportanceTask:
    """Sentences as the model reads them, and the right answer per token (token,): a wordpiece or a label."""

    kind: str
    block: Block
    answer: NDArray[np.int64]

    @property
    def answers(self) -> int:
        """How many tokens have an answer."""
        return int((self.answer != NO_ANSWER).sum())

    def batches(self, *, tokens: int) -> list[tuple[Batch, NDArray[np.int64]]]:
        """Sentences of like length, and their answers: (sentence, token)."""
        return [(batch, self._padded(batch)) for batch in make_batches(self.block, tokens=tokens)]

    def content_hash(self, identity: Mapping[str, Any]) -> int:
        """Hash of everything the loss depends on."""
        return content_hash(dict(identity) | {"kind": self.kind}, self.block.lengths, self.block.token_ids, self.answer)

    def _padded(self, batch: Batch) -> NDArray[np.int64]:
        answers = np.full(batch.real.shape, NO_ANSWER, np.int64)
        answers[batch.real] = self.answer[batch.rows]
        return answers


def masked_task(sentences: Block, *, mask_id: int, seed: int) -> ImportanceTask:
    """Predict masked wordpieces, some of every sentence."""
    hidden = choose_hidden(sentences, seed=seed)
    answer = np.where(hidden, sentences.token_ids, NO_ANSWER).astype(np.int64)
    token_ids = np.where(hidden, mask_id, sentences.token_ids).astype(np.int32)
    return ImportanceTask("mlm", replace(sentences, token_ids=token_ids), answer)


def label_task(sentences: Block, labels: NDArray[np.integer]) -> ImportanceTask:
    """Predict the label of every sentence at its [CLS]."""
    answer = np.full(sentences.tokens, NO_ANSWER, np.int64)
    answer[np.cumsum(sentences.lengths) - sentences.lengths] = labels
    return ImportanceTask("classification", sentences, answer)


def choose_hidden(sentences: Block, *, seed: int) -> NDArray[np.bool_]:
    """Mask of the hidden wordpieces (token,); more sentences leave those of the first ones as they are."""
    generator = np.random.default_rng(seed & (1 << 64) - 1)
    ordinary = (sentences.token_flags & NO_WORD) == 0
    hidden = np.zeros(len(ordinary), bool)
    for stop, size in zip(np.cumsum(sentences.lengths), sentences.lengths, strict=True):
        own = stop - size + np.flatnonzero(ordinary[stop - size : stop])
        hidden[generator.permutation(own)[: max(1, round(MASKED * len(own)))]] = True
    return hidden


def held_out(candidates: NDArray[np.integer], *, after: int, count: int) -> NDArray[np.integer]:
    """The `count` sentences after the first `after`; the last `count` where there are too few."""
    start = min(int(np.searchsorted(candidates, after)), len(candidates) - count)
    return candidates[max(0, start) :][:count]


def label_outputs(config: Mapping[str, Any], names: Sequence[str]) -> NDArray[np.int64]:
    """Which of a classifier's outputs stands for each label of the data: by name; by number where the names are numbers.

    Raises
    ------
    IngestError
        Where the data has other labels than the classifier, or none.
    """
    if not names:
        raise IngestError(
            "The model is a classifier and the data has no labels. Name their column with --label=..., or leave --importance out."
        )
    named = config.get("id2label") or {0: "LABEL_0", 1: "LABEL_1"}
    outputs = {int(number): str(name) for number, name in named.items()}
    by_name = {name.lower(): number for number, name in outputs.items()}
    if all(name.lower() in by_name for name in names):
        return np.array([by_name[name.lower()] for name in names])
    if len(names) == len(outputs) and all(NUMBER.fullmatch(name) for name in outputs.values()):
        return np.arange(len(names))
    raise IngestError(
        f"The classifier knows {len(outputs)} labels ({', '.join(outputs.values())}), the data has {len(names)} "
        f"({', '.join(names)}). Give data with the classifier's labels, or leave --importance out."
    )


class SilencedModel:
    """A model that can silence a head. In float32: the change by one head may be small beside the loss."""

    def __init__(
        self, checkpoint: Checkpoint, kind: str, *, device: torch.device, batch_tokens: int | None = None
    ) -> None:
        self.device = device
        self._batch_tokens = batch_tokens or BATCH_TOKENS[device.type]
        self._family = checkpoint.family
        self._model = load_model(checkpoint, self._family.architectures[kind]).to(device).eval()
        self._parts = self._family.parts(self._model)
        self._answer = self._guess_wordpieces if kind == "mlm" else self._guess_labels
        self.layers: int = self._model.config.num_hidden_layers
        self.heads: int = self._model.config.num_attention_heads
        self._channels: int = self._model.config.hidden_size // self.heads
        self._silenced: tuple[int, int] | None = None
        for number, layer in enumerate(self._parts.layers):
            layer.output.register_forward_pre_hook(self._gate(number))

    def loss(self, task: ImportanceTask, silenced: tuple[int, int] | None = None) -> float:
        """Mean over the answers of -ln of the probability of the right one, in nats.

        The context of a silenced (layer, head) is 0 before the output projection; the projection's bias stays.
        """
        self._silenced = silenced
        batches = task.batches(tokens=self._batch_tokens)
        workers = cpu_count() if self.device.type == "cpu" else 1
        with one_thread_each(workers), ThreadPoolExecutor(workers, "judge") as pool:
            # Added in their order, so that the loss is the same bit for bit every time.
            return (
                sum(pool.map(lambda batch: self._sum(batch[0].token_ids, batch[0].real, batch[1]), batches))
                / task.answers
            )

    def _sum(self, *arrays: Any) -> float:
        token_ids, real, answers = (torch.from_numpy(array).to(self.device) for array in arrays)
        answered = answers != NO_ANSWER
        with torch.inference_mode():
            tokens = self._parts.module(input_ids=token_ids, attention_mask=real.long()).last_hidden_state
            # On the host, as Apple's GPUs have no float64.
            logits, right = self._answer(tokens, answered).cpu().double(), answers[answered].cpu()
            return float(nn.functional.cross_entropy(logits, right, reduction="sum"))

    def _guess_wordpieces(self, tokens: Tensor, answered: Tensor) -> Tensor:
        """(answer, wordpiece). Only of the tokens asked for: the vocabulary is large."""
        return self._family.guess_wordpieces(self._model, tokens[answered])

    def _guess_labels(self, tokens: Tensor, answered: Tensor) -> Tensor:  # noqa: ARG002
        """(answer, label), one of every sentence."""
        return self._family.guess_labels(self._model, tokens)

    def _gate(self, layer: int) -> Callable[..., tuple[Tensor] | None]:
        def hook(_module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
            if self._silenced is None or self._silenced[0] != layer:
                return None
            context = inputs[0].unflatten(-1, (self.heads, self._channels)).clone()
            context[..., self._silenced[1], :] = 0
            return (context.flatten(-2),)

        return hook


def find_kind(checkpoint: Checkpoint) -> str:
    """Which of `store.schema.model.LOSSES` a checkpoint has, by the head it was trained with.

    Raises
    ------
    IngestError
        Where it has none that could be wrong.
    """
    names = weight_shapes(checkpoint).keys()
    for kind, weights in checkpoint.family.head_weights.items():
        if names >= set(weights):
            return kind
    raise IngestError(
        f"{checkpoint.name} predicts neither masked words nor labels, so head importance has no loss to measure. "
        "Give such a --model (bert-base-uncased, or a fine-tuned one), or leave --importance out."
    )
