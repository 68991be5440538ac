"""A model with the head it was trained with: its loss on a task, whole or with an attention head silenced."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import Any

import torch
from torch import Tensor, nn

from ingest.encode.encoder import BATCH_TOKENS
from ingest.encode.loading import load_model
from ingest.encode.weights import weight_shapes
from ingest.heads.importance_task import NO_ANSWER, ImportanceTask
from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError
from ingest.run.parallel import one_thread_each


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
