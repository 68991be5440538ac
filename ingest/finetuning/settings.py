"""The settings of a fine-tuning. Every flag of `headscape finetune` is a field here."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.run.errors import IngestError
from ingest.run.settings import EMBEDDED, parse_first, parse_flags, setting

#: Hidden size from which a model is trained at the rate of Sun et al. 2019, section 5.1; smaller models get a higher rate.
BASE_SIZE = 768
BASE_RATE, SMALL_RATE = 2e-5, 1e-4
#: Evaluations without a better accuracy after which the training stops.
PATIENCE = 4


@dataclass(frozen=True)
class FinetuningSettings:
    """Settings of one fine-tuning. The defaults need no network and no GPU."""

    model: str = setting(
        EMBEDDED, "hub name or local folder of a BERT or RoBERTa checkpoint; 'embedded' is all-MiniLM-L6-v2"
    )
    data: str = setting(
        EMBEDDED,
        "hub data set, or csv, tsv, parquet, json or jsonl file, all but parquet also as .gz; 'embedded' is the 25,000 labelled IMDB training "
        "reviews",
    )
    text: str = setting("text", "name of the text column of the data")
    label: str = setting("label", "name of the label column of the data")
    data_split: str | None = setting(
        None,
        "split to train on of a data set of the hub, or of a folder (default train, or in a folder the only one)",
    )
    first: str | None = setting(
        None,
        "train on so many reviews of each split, drawn by the seed, of each label the same share; or all (the default)",
    )
    split: str | None = setting(None, "short for --data-split")
    epochs: int = setting(
        1, "passes over the reviews; training stops earlier if the held-out accuracy no longer rises", int
    )
    batch: int = setting(32, "reviews of one step", int)
    learning_rate: float | None = setting(
        None, f"largest step size (default {SMALL_RATE}, {BASE_RATE} for models of {BASE_SIZE} features or more)", float
    )
    max_length: int = setting(
        192, "wordpieces of a review, [CLS] and [SEP] included; longer reviews are cut in the middle", int
    )
    freeze: int = setting(0, "lower layers that stay as they are, the embeddings with them; 0 trains everything", int)
    seed: int = setting(
        0, "which reviews are held out, their order, dropout and the first weights of the classifier", int
    )
    device: str = setting("auto", "auto, cuda, mps or cpu")
    out: str = setting("data/finetuned", "folder of the result; its name is the name of the model")

    def __post_init__(self) -> None:
        parse_first(self.first)
        if self.split is not None and self.data_split not in (None, self.split):
            raise IngestError(f"--split={self.split} and --data-split={self.data_split} differ. Give one of them.")
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise IngestError(f"--{name.replace('_', '-')}={getattr(self, name)} is too few. Give at least 1.")
        if self.learning_rate is not None and not 0 < self.learning_rate < math.inf:
            raise IngestError(
                f"--learning-rate={self.learning_rate} is no step size. Give one above 0, such as {BASE_RATE}."
            )
        if self.max_length < 3:
            raise IngestError(
                f"--max-length={self.max_length} leaves no room between [CLS] and [SEP]. Give at least 3."
            )
        if self.freeze < 0:
            raise IngestError(f"--freeze={self.freeze} is too few. Give a number of layers, 0 to train all of them.")
        if not 0 <= self.seed < 1 << 32:
            raise IngestError(f"--seed={self.seed} is not within 32 bits. Give one from 0 to {(1 << 32) - 1}.")


def parse(arguments: Sequence[str] | None = None) -> FinetuningSettings:
    """Settings from command line flags."""
    description = "Fine-tune a BERT to tell the labels of reviews."
    return parse_flags(FinetuningSettings, arguments, command="headscape finetune", description=description)


def choose_rate(settings: FinetuningSettings, hidden_size: int) -> float:
    """The learning rate of the settings, or the default for a model of this size."""
    if settings.learning_rate is not None:
        return settings.learning_rate
    return BASE_RATE if hidden_size >= BASE_SIZE else SMALL_RATE
