"""Stage `importance`: the increase of the loss when a head is silenced, for every head, on held-out sentences.

The loss is that of the head the checkpoint was trained with (Michel et al. 2019, section 3: one head at a time). It costs
a forward pass over these sentences for every head and one more, so it is computed only where IMPORTANCE is set.
"""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ingest.encode.sample import Sample, take_sentences
from ingest.encode.tensors import ModelGroup
from ingest.heads.silenced_model import (
    ImportanceTask,
    SilencedModel,
    find_kind,
    held_out,
    label_outputs,
    label_task,
    masked_task,
)
from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError
from ingest.run.progress import bar
from ingest.run.settings import Settings
from ingest.text.corpus import PlannedCorpus, label_names
from ingest.text.tokenizer import Tokenizer
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema.model import IMPORTANCE_ARRAYS, LOSSES

VERSION = "importance/1"


def check_model(settings: Settings, checkpoint: Checkpoint) -> None:
    """Refuse a model without a loss at once, not after the hours of an ingest."""
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
    by_label = find_kind(checkpoint) == "classification"
    candidates = np.flatnonzero(labels >= 0) if by_label else np.arange(corpus.sentences)
    if not len(candidates):
        raise IngestError(
            "None of the sentences has a label. Name their column with --label=..., or raise --sentences."
        )
    chosen = held_out(candidates, after=sample.sentences, count=settings.importance)
    sentences = take_sentences(corpus, chosen)
    if by_label:
        return label_task(sentences, label_outputs(checkpoint.config, names)[labels[chosen]])
    return masked_task(sentences, mask_id=_mask_id(checkpoint, settings), seed=settings.seed)


def _mask_id(checkpoint: Checkpoint, settings: Settings) -> int:
    mask_id = Tokenizer(checkpoint.folder, max_length=settings.max_length).mask_id
    if mask_id is None:
        raise IngestError(
            f"The tokenizer of {checkpoint.name} has no [MASK]. Save one that has, or leave --importance out."
        )
    return mask_id


def _judge(writer: Writer, model: ModelGroup, judged: "SilencedModel", task: ImportanceTask, hash_: int) -> None:
    """The loss without each head of the layers that are not done yet."""
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
    """Loss of the whole model; found once, also if the ingest is killed afterwards."""
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
    """What readers read, at once: until here they had the numbers of the run before."""
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
