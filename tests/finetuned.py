"""Fine-tunings of a tiny BERT on few reviews."""

import csv
import random
from pathlib import Path
from typing import Any

import torch

from ingest.finetuning.run import run
from ingest.finetuning.settings import FinetuningSettings

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


def finetune(model: Path, data: Path, out: Path, **settings: Any) -> Path:
    """Runs the real fine-tuning, with settings that suit a tiny model; returns the folder."""
    torch.set_num_threads(1)  # sums on another number of threads end in other bits
    chosen: dict[str, Any] = {"max_length": 32, "batch": 8, "learning_rate": 3e-3, "epochs": 4, "device": "cpu"}
    run(FinetuningSettings(model=str(model), data=str(data), out=str(out), **(chosen | settings)))
    return out
