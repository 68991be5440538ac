"""RoBERTa (Liu et al. 2019) and those built like it: the modules of BERT, whose positions begin after the number of the padding."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ingest.family.bert import DEFAULTS, MODEL_FIELDS, MOST, READ_FIELDS, Bert, BertParts, trained
from ingest.family.protocol import Config, Field, ModelParts, whole

if TYPE_CHECKING:
    from torch import Tensor


class Roberta(Bert):
    """The family of RoBERTa: see `ingest.family.protocol.Family`."""

    model_type = "roberta"
    name = "RoBERTa"
    config_class = "RobertaConfig"
    encoder_class = "RobertaModel"
    architectures = trained("Roberta")
    head_weights: Mapping[str, Sequence[str]] = {
        "mlm": ("lm_head.dense.weight",),
        "classification": ("classifier.out_proj.weight", "classifier.dense.weight"),
    }
    new_weights: tuple[str, ...] = ("classifier.",)
    prefix = "roberta."
    vocabulary: Sequence[str] = ("vocab.json", "merges.txt")
    post_processor = "RobertaProcessing"
    defaults: Mapping[str, int] = DEFAULTS | {"vocab_size": 50265, "pad_token_id": 1}
    model_fields: Mapping[str, Field] = MODEL_FIELDS | {"pad_token_id": whole(0, MOST)}
    fields: Mapping[str, Field] = {**model_fields, **READ_FIELDS}

    def longest_input(self, config: Config) -> int:
        """Of the positions, those up to that of the padding are no token's."""
        return super().longest_input(config) - self.size(config, "pad_token_id") - 1

    def parts(self, model: Any) -> ModelParts:
        """The modules of a loaded model."""
        return RobertaParts(model.base_model)

    def guess_wordpieces(self, model: Any, vectors: "Tensor") -> "Tensor":
        """By the head of masked wordpieces."""
        return model.lm_head(vectors)

    def guess_labels(self, model: Any, vectors: "Tensor", real: "Tensor | None" = None) -> "Tensor":  # noqa: ARG002
        """By the classifier, which takes the first token."""
        return model.classifier(vectors)


class XlmRoberta(Roberta):
    """XLM-RoBERTa (Conneau et al. 2020): RoBERTa in a hundred languages, with a tokenizer of sentencepiece."""

    model_type = "xlm-roberta"
    name = "XLM-RoBERTa"
    config_class, encoder_class = "XLMRobertaConfig", "XLMRobertaModel"
    architectures = trained("XLMRoberta")
    vocabulary: Sequence[str] = ("sentencepiece.bpe.model",)
    post_processor = "TemplateProcessing"
    defaults: Mapping[str, int] = DEFAULTS | {"pad_token_id": 1}


class Camembert(XlmRoberta):
    """CamemBERT (Martin et al. 2020): RoBERTa in French, with a tokenizer of sentencepiece."""

    model_type = "camembert"
    name = "CamemBERT"
    config_class, encoder_class = "CamembertConfig", "CamembertModel"
    architectures = trained("Camembert")


class Data2VecText(Roberta):
    """data2vec (Baevski et al. 2022) of text: RoBERTa trained on its own vectors."""

    model_type = "data2vec-text"
    name = "data2vec"
    config_class, encoder_class = "Data2VecTextConfig", "Data2VecTextModel"
    architectures = trained("Data2VecText")
    prefix = "data2vec_text."
    defaults: Mapping[str, int] = DEFAULTS | {"pad_token_id": 1}


@dataclass(frozen=True)
class RobertaParts(BertParts):
    """Modules of a `transformers.RobertaModel`."""

    @property
    def padding(self) -> int:
        """Number of the wordpiece that is no token: positions begin after it."""
        padding: int = self.module.config.pad_token_id
        return padding

    def positions(self, token_ids: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counted from the padding's number on; padding in a text is not counted, and has that number itself."""
        real = token_ids != self.padding
        counted, start = np.cumsum(real), np.arange(len(place)) - place
        in_sentence = counted - counted[start] + real[start]
        positions: NDArray[np.int64] = in_sentence * real + self.padding
        return positions
