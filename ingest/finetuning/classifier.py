"""The model that is trained: BERT, its pooler, dropout, and one linear layer with an output for every label."""

from typing import Any

from torch import nn

from ingest.checkpoint import Checkpoint
from ingest.encode.bert import load_model
from ingest.errors import IngestError

#: What a checkpoint need not have: it is random at first, by the seed.
FRESH = ("classifier.", "bert.pooler.")


def load_classifier(checkpoint: Checkpoint, names: list[str], *, freeze: int, seed: int) -> Any:
    """`BertForSequenceClassification` with the checkpoint's weights, whose outputs are named as the labels."""
    import transformers

    transformers.set_seed(seed)
    model = load_model(
        checkpoint,
        "BertForSequenceClassification",
        fresh=FRESH,
        ignore_mismatched_sizes=True,
        config={"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}},
    )
    freeze_lower(model, freeze)
    return model


def check_freeze(checkpoint: Checkpoint, freeze: int) -> None:
    """Say at once that there are not so many layers."""
    layers = int(checkpoint.config["num_hidden_layers"])
    if freeze > layers:
        raise IngestError(
            f"FREEZE={freeze} is more than the {layers} layers of {checkpoint.name}. Give {layers} or less."
        )


def freeze_lower(model: Any, layers: int) -> None:
    """The embeddings and the lowest layers are trained no more; 0 freezes nothing."""
    frozen: list[nn.Module] = [model.bert.embeddings, *model.bert.encoder.layer[:layers]] if layers else []
    for module in frozen:
        module.requires_grad_(False)
