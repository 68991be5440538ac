"""Stage `importance`: the increase of the loss when a head is silenced, for every head, on held-out sentences.

The loss is that of the head the checkpoint was trained with (Michel et al. 2019, section 3: one head at a time): to predict
masked wordpieces, the next wordpiece, or labels. It costs a forward pass over these sentences for every head and one more,
so it is computed only where IMPORTANCE is set.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os import cpu_count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ingest.encode.encoder import BATCH_TOKENS
from ingest.encode.loading import answer_names, class_names, load_model, weight_shapes
from ingest.encode.sample import Sample, take_sentences
from ingest.encode.tensors import ModelGroup
from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError
from ingest.run.parallel import one_thread_each
from ingest.run.progress import bar
from ingest.run.settings import Settings
from ingest.text.blocks import Batch, Block, PlannedCorpus, content_hash, make_batches
from ingest.text.corpus import label_names
from ingest.text.tokenizer import Tokenizer
from store.kernels.replacement import choose_hidden
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema.corpus import NO_WORD
from store.schema.model import IMPORTANCE_ARRAYS, LOSSES
from store.text import match_labels

#: Answer of a token that has none.
NO_ANSWER = -1


@dataclass(frozen=True)
class ImportanceTask:
    """Sentences as the model reads them, and the right answer per token (token,): a wordpiece or a label."""

    kind: str
    block: Block
    answer: NDArray[np.int64]

    @property
    def answers(self) -> int:
        """Number of tokens that have an answer."""
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
    """Task to predict masked wordpieces, some of every sentence."""
    hidden = hidden_tokens(sentences, seed=seed)
    answer = np.where(hidden, sentences.token_ids, NO_ANSWER).astype(np.int64)
    token_ids = np.where(hidden, mask_id, sentences.token_ids).astype(np.int32)
    return ImportanceTask("mlm", replace(sentences, token_ids=token_ids), answer)


def next_task(sentences: Block) -> ImportanceTask:
    """Task to predict the wordpiece after each token, but no special token; IngestError where no token has a next one."""
    answer = np.full(sentences.tokens, NO_ANSWER, np.int64)
    is_asked = (sentences.token_flags[1:] & NO_WORD) == 0
    is_asked[np.cumsum(sentences.lengths)[:-1] - 1] = False  # the next token is of another sentence
    if not is_asked.any():
        raise IngestError("No sentence has two tokens, so there is no next wordpiece. Leave --importance out.")
    answer[:-1][is_asked] = sentences.token_ids[1:][is_asked]
    return ImportanceTask("next", sentences, answer)


def label_task(sentences: Block, labels: NDArray[np.integer]) -> ImportanceTask:
    """Task to predict the label of every sentence at its [CLS]."""
    answer = np.full(sentences.tokens, NO_ANSWER, np.int64)
    answer[np.cumsum(sentences.lengths) - sentences.lengths] = labels
    return ImportanceTask("classification", sentences, answer)


def hidden_tokens(sentences: Block, *, seed: int) -> NDArray[np.bool_]:
    """Mask of the hidden wordpieces (token,); further sentences do not change the mask of the first ones."""
    generator = np.random.default_rng(seed & (1 << 64) - 1)
    hidden = np.zeros(sentences.tokens, bool)
    for stop, size in zip(np.cumsum(sentences.lengths), sentences.lengths, strict=True):
        hidden[stop - size + choose_hidden(sentences.token_flags[stop - size : stop], generator)] = True
    return hidden


def held_out(candidates: NDArray[np.integer], *, after: int, count: int) -> NDArray[np.integer]:
    """The `count` sentences after the first `after`; the last `count` where there are too few."""
    start = min(int(np.searchsorted(candidates, after)), len(candidates) - count)
    return candidates[max(0, start) :][:count]


def label_outputs(config: Mapping[str, Any], names: Sequence[str]) -> NDArray[np.int64]:
    """Index of the classifier's output for each label of the data: by name; by number where the names are numbers.

    Raises
    ------
    IngestError
        Where the data has other labels than the classifier, or none.
    """
    if not names:
        raise IngestError(
            "The model is a classifier and the data has no labels. Name their column with --label=..., or leave --importance out."
        )
    outputs = answer_names(config)
    if (found := match_labels(outputs, names)) is not None:
        return found
    raise IngestError(
        f"The classifier knows {len(outputs)} labels ({', '.join(outputs)}), the data has {len(names)} "
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
        self._answer = self._guess_labels if kind == "classification" else self._guess_wordpieces
        self.layers: int = self._model.config.num_hidden_layers
        self.heads: int = self._model.config.num_attention_heads
        self._silenced: tuple[int, int] | None = None
        for number, layer in enumerate(self._parts.layers):
            layer.output.register_forward_pre_hook(self._gate(number))

    def loss(self, task: ImportanceTask, silenced: tuple[int, int] | None = None) -> float:
        """Mean over the answers of -ln of the probability of the right answer, in nats.

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
            logits, right = self._answer(tokens, answered, real).cpu().double(), answers[answered].cpu()
            return float(nn.functional.cross_entropy(logits, right, reduction="sum"))

    def _guess_wordpieces(self, tokens: Tensor, answered: Tensor, _real: Tensor) -> Tensor:
        """Logits (answer, wordpiece), only of the tokens with an answer: the vocabulary is large."""
        return self._family.guess_wordpieces(self._model, tokens[answered])

    def _guess_labels(self, tokens: Tensor, _answered: Tensor, real: Tensor) -> Tensor:
        """Logits (answer, label), one answer for each sentence."""
        return self._family.guess_labels(self._model, tokens, real)

    def _gate(self, layer: int) -> Callable[..., tuple[Tensor] | None]:
        def hook(_module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
            if self._silenced is None or self._silenced[0] != layer:
                return None
            context = inputs[0].unflatten(-1, (self.heads, -1)).clone()
            context[..., self._silenced[1], :] = 0
            return (context.flatten(-2),)

        return hook


def find_kind(checkpoint: Checkpoint) -> str:
    """Key in `store.schema.model.LOSSES` of a checkpoint's loss, by the head it was trained with.

    Other heads share weights with a classifier: a checkpoint is a classifier only where `class_names` gives labels.

    Raises
    ------
    IngestError
        Where the checkpoint has no trained head.
    """
    names = weight_shapes(checkpoint).keys()
    for kind, weights in checkpoint.family.head_weights.items():
        if names >= set(weights) and (kind != "classification" or class_names(checkpoint)):
            return kind
    if checkpoint.family.architectures.get("next") in (checkpoint.config.get("architectures") or ()):
        return "next"
    raise IngestError(
        f"{checkpoint.name} predicts neither words nor labels, so head importance has no loss to measure. "
        "Give such a --model (bert-base-uncased, or a fine-tuned one), or leave --importance out."
    )


VERSION = "importance/1"


def check_model(settings: Settings, checkpoint: Checkpoint) -> None:
    """Refuse at once a model without a loss, not after the hours of an ingest."""
    if settings.importance:
        find_kind(checkpoint)


def check_labels(writer: Writer, settings: Settings, checkpoint: Checkpoint, corpus: PlannedCorpus) -> None:
    """Refuse a classifier whose labels are not those of the data, before anything is computed."""
    if settings.importance and find_kind(checkpoint) == "classification":
        label_outputs(checkpoint.config, label_names(writer.group(f"corpus/{corpus.key}")))


def update_importance(
    writer: Writer,
    model: ModelGroup,
    corpus: PlannedCorpus,
    sample: Sample,
    *,
    settings: Settings,
    checkpoint: Checkpoint,
    device: torch.device,
) -> bool:
    """Bring the importance up to date, with a commit per layer; False if there was nothing to do."""
    if not settings.importance:
        return False
    task = _make_task(writer, corpus, sample, settings, checkpoint)
    hash_ = task.content_hash(dict(model.identity) | {"version": VERSION})
    group = writer.group(f"{model.path}/importance")
    if group.attrs.get("importance_hash") == str(hash_):
        return False

    judged = SilencedModel(checkpoint, task.kind, device=device, batch_tokens=settings.batch)
    _judge(writer, model, judged, task, hash_)
    _complete(writer, model, task, hash_)
    return True


def _make_task(
    writer: Writer, corpus: PlannedCorpus, sample: Sample, settings: Settings, checkpoint: Checkpoint
) -> ImportanceTask:
    names = label_names(writer.group(f"corpus/{corpus.key}"))
    labels = np.asarray(array_of(writer.group(f"corpus/{corpus.key}"), "label")[: corpus.sentences])
    kind = find_kind(checkpoint)
    by_label = kind == "classification"
    candidates = np.flatnonzero(labels >= 0) if by_label else np.arange(corpus.sentences)
    if not len(candidates):
        raise IngestError(
            "None of the sentences has a label. Name their column with --label=..., or raise --sentences."
        )
    chosen = held_out(candidates, after=sample.sentences, count=settings.importance)
    sentences = take_sentences(corpus, chosen)
    if by_label:
        return label_task(sentences, label_outputs(checkpoint.config, names)[labels[chosen]])
    if kind == "next":
        return next_task(sentences)
    return masked_task(sentences, mask_id=_mask_id(checkpoint, settings), seed=settings.seed)


def _mask_id(checkpoint: Checkpoint, settings: Settings) -> int:
    mask_id = Tokenizer(checkpoint.folder, max_length=settings.max_length, name=checkpoint.name).mask_id
    if mask_id is None:
        raise IngestError(
            f"The tokenizer of {checkpoint.name} has no [MASK]. Save one that has, or leave --importance out."
        )
    return mask_id


def _judge(writer: Writer, model: ModelGroup, judged: "SilencedModel", task: ImportanceTask, hash_: int) -> None:
    """Measure and commit the loss without each head, for the layers that are not done yet."""
    _prepare(writer, model, judged)
    group = writer.group(f"{model.path}/importance")
    layers = np.flatnonzero(np.asarray(array_of(group, "new_hash")[:]) != np.uint64(hash_))
    passes, left = judged.layers * judged.heads, len(layers) * judged.heads
    with bar("importance", total=passes, unit="heads", done=passes - left) as progress:
        whole = _whole_loss(writer, model, judged, task, hash_)
        for layer in map(int, layers):
            losses = np.zeros(judged.heads)
            for head in range(judged.heads):
                losses[head] = judged.loss(task, (layer, head))
                progress.update()
            _keep_layer(writer, model, layer, losses - whole, hash_)


def _prepare(writer: Writer, model: ModelGroup, judged: "SilencedModel") -> None:
    group = writer.group(f"{model.path}/importance")
    create_arrays(group, IMPORTANCE_ARRAYS, {"layer": judged.layers, "head": judged.heads})
    array_of(group, "layer")[:] = np.arange(judged.layers)
    array_of(group, "head")[:] = np.arange(judged.heads)


def _whole_loss(writer: Writer, model: ModelGroup, judged: "SilencedModel", task: ImportanceTask, hash_: int) -> float:
    """Loss of the whole model; computed once, even if the ingest is killed afterwards."""
    group = writer.group(f"{model.path}/importance")
    stored: Any = group.attrs.get("new_loss")
    if stored and stored["hash"] == str(hash_):
        return float(stored["loss"])
    loss = judged.loss(task)
    group.attrs["new_loss"] = {"hash": str(hash_), "loss": loss}
    writer.commit(f"{model.key}: loss of the whole model")
    return loss


def _keep_layer(writer: Writer, model: ModelGroup, layer: int, change: NDArray[np.float64], hash_: int) -> None:
    group = writer.group(f"{model.path}/importance")
    array_of(group, "new_change")[layer] = change
    array_of(group, "new_hash")[layer] = np.uint64(hash_)
    writer.commit(f"{model.key}: importance of layer {layer}")


def _complete(writer: Writer, model: ModelGroup, task: ImportanceTask, hash_: int) -> None:
    """Write the numbers that readers read, at once: until here they had the numbers of the run before."""
    group = writer.group(f"{model.path}/importance")
    array_of(group, "change")[:] = np.asarray(array_of(group, "new_change")[:])
    stored: Any = group.attrs["new_loss"]
    group.attrs.update(
        {
            "kind": task.kind,
            "measure": LOSSES[task.kind],
            "loss": stored["loss"],
            "sentences": task.block.sentences,
            "answers": task.answers,
            "version": VERSION,
            "finished": datetime.now(UTC).isoformat(timespec="microseconds"),
            "importance_hash": str(hash_),
        }
    )
    writer.commit(f"{model.key}: importance on {task.block.sentences:,} sentences")
