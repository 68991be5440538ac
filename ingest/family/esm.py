"""ESM-1b and ESM-2 (Rives et al. 2021, Lin et al. 2023) of proteins: the modules of BERT with norms before them, and a token for each letter.

ESM-2 turns queries and keys by their positions; the older model adds a vector. Queries are scaled before they are turned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.family.bert import DEFAULTS, MODEL_FIELDS, MOST, READ_FIELDS, trained
from ingest.family.prelayernorm import PreLayerNormLayer
from ingest.family.protocol import TRUTH, Field, ModelParts, number, whole
from ingest.family.roberta import Roberta, RobertaParts

_NOT_ITS = ("hidden_act", "type_vocab_size", "classifier_dropout")


class Esm(Roberta):
    """The family of ESM: see `ingest.family.protocol.Family`."""

    model_type = "esm"
    name = "ESM"
    config_class, encoder_class = "EsmConfig", "EsmModel"
    norm_first = True
    architectures = trained("Esm")
    prefix = "esm."
    vocabulary: Sequence[str] = ("vocab.txt",)
    post_processor = "TemplateProcessing"
    embedding_rows: Mapping[str, str] = {"word": "vocab_size"}
    defaults: Mapping[str, int] = DEFAULTS | {"max_position_embeddings": 1026, "type_vocab_size": 1, "pad_token_id": 1}
    model_fields: Mapping[str, Field] = {
        **{name: field for name, field in MODEL_FIELDS.items() if name not in _NOT_ITS},
        "pad_token_id": whole(0, MOST),
        "mask_token_id": whole(0, MOST, none=True),
        "rope_theta": number(0, 1e12),
        "position_embedding_type": Field(
            "absolute, rotary or null", lambda value: value in ("absolute", "rotary", None)
        ),
        "emb_layer_norm_before": Field("true, false or null", lambda value: value in (True, False, None)),
        "token_dropout": TRUTH,
    }
    fields: Mapping[str, Field] = {**READ_FIELDS, **model_fields}

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return EsmParts(model.base_model)


class EsmParts(RobertaParts):
    """Modules of a `transformers.EsmModel`."""

    has_token_types = False

    @property
    def layers(self) -> "Sequence[EsmLayer]":
        """The layers in order."""
        *others, last = self.module.encoder.layer
        return [*map(EsmLayer, others), EsmLayer(last, self.module.encoder.emb_layer_norm_after)]

    def positions(self, token_ids: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place in the sentence where queries and keys are turned, else as RoBERTa counts."""
        turns = self.module.config.position_embedding_type == "rotary"
        return place if turns else super().positions(token_ids, place)


class EsmLayer(PreLayerNormLayer):
    """Modules of an `EsmLayer`, whose own layer norm is that of the feed-forward network."""

    paths = replace(PreLayerNormLayer.paths, norm="LayerNorm")
