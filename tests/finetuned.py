"""Fine-tunings of a tiny BERT on few reviews."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file

from ingest.finetuning.data import Labelled
from ingest.finetuning.run import run
from ingest.finetuning.settings import PATIENCE, FinetuningSettings
from ingest.run.parallel import one_thread_each

WORDS = {"negative": ["bad", "awful", "hated"], "positive": ["good", "great", "loved"]}
FILLING = ["the", "film", "was", "a", "plot", "scene", "and", "music"]


def write_opinions(path: Path, *, reviews: int = 160, labels: tuple[str, ...] = ("negative", "positive")) -> Path:
    """Different short reviews whose label can be told from some of their words."""
    choose = random.Random(0)
    rows = [("text", "label")]
    for number in range(reviews):
        label = labels[number % len(labels)]
        opinion = choose.choices(WORDS.get(label, [label]), k=3)
        words = [*opinion, *choose.choices(FILLING, k=choose.randint(3, 8))]
        choose.shuffle(words)
        rows.append((" ".join(words), label))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def finetune(model: Path, data: Path, out: Path, *, patience: int = PATIENCE, **settings: Any) -> Path:
    """Run the real fine-tuning, with settings that suit a tiny model; returns the folder."""
    chosen: dict[str, Any] = {"max_length": 32, "batch": 8, "learning_rate": 3e-3, "epochs": 4, "device": "cpu"}
    with one_thread_each(None):  # sums on another number of threads end in other bits
        run(
            FinetuningSettings(model=str(model), data=str(data), out=str(out), **(chosen | settings)), patience=patience
        )
    return out


def metrics_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "metrics.json").read_text()))


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    """Weights of a saved model, by their names in BERT without `bert.`."""
    return {name.removeprefix("bert."): weight for name, weight in load_file(folder / "model.safetensors").items()}


def accuracy_of(folder: Path, labelled: Labelled) -> float:
    """Accuracy of the saved model, review by review, in float32. No review is longer than the model reads."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = [model(**tokenizer(text, return_tensors="pt")).logits for text in labelled.texts]
    right = [row.argmax().item() == label for row, label in zip(logits, labelled.labels, strict=True)]
    return sum(right) / len(right)
